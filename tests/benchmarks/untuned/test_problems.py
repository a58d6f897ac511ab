from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import overcast as oc
from overcast.environments.base import Rounds
from untuned.problems import PARTS, SEEDS, Problem, Shown, Waves, family, problems

ALL = [problem for part in PARTS for problem in problems(part)]


def rounds(problem: Problem, steps: int = 3, trials: int = 2) -> list[Rounds]:
    """Return the first rounds of some trials."""
    world = problem.start_all([np.random.default_rng(seed) for seed in range(trials)])
    return [world.step(np.zeros((trials, t), dtype=np.intp)) for t in range(steps)]


@pytest.mark.parametrize("problem", ALL, ids=lambda problem: problem.name)
def test_every_view_shows_the_same_problem(problem: Problem) -> None:
    shown: tuple[Shown, ...] = ("own", "standard", "strict")
    views = [rounds(replace(problem, shown=how)) for how in shown]
    own, standard = (problem.context_units[i] for i in range(2))
    for raw, plain, strict in zip(*views, strict=True):
        np.testing.assert_array_equal(plain.expected, raw.expected)
        np.testing.assert_array_equal(plain.epsilon, raw.epsilon)
        gap = raw.expected - strict.expected
        np.testing.assert_allclose(gap, problem.scale * problem.offset, rtol=1e-9, atol=1e-9 * problem.scale)
        native = (raw.context - np.asarray(own.zero)) / own.unit
        np.testing.assert_allclose(standard.of(native), plain.context, atol=1e-9)
        variances = raw.belief.variance() / np.square(own.unit), plain.belief.variance() / np.square(standard.unit)
        np.testing.assert_allclose(*variances, rtol=1e-6, atol=1e-9)


def test_a_seed_always_gives_the_same_problems() -> None:
    assert family(5) == family(5)
    assert family(5) != family(6)


@pytest.mark.parametrize("part", SEEDS)
def test_a_part_covers_what_problems_differ_in(part: str) -> None:
    found = problems(part)
    assert len(found) >= 24
    assert len({problem.name for problem in found}) == len(found)
    assert {problem.noise_kind for problem in found} == {"normal", "t", "bernoulli"}
    assert {problem.belief for problem in found} == {"normal", "ensemble", "point"}
    assert {problem.delay for problem in found} == {0, 10, 50, 200}
    assert {problem.offset for problem in found} == {0.0, 0.5, 3.0, 1000.0}
    assert max(problem.k for problem in found) == 1000
    assert max(problem.d for problem in found) == 60
    assert any(problem.mixed for problem in found)
    assert any(not problem.calibrated for problem in found)
    assert len({type(problem.shape) for problem in found}) == 6


@pytest.mark.parametrize("problem", [p for p in ALL if p.noise_kind == "bernoulli"], ids=lambda problem: problem.name)
def test_chances_stay_between_zero_and_one(problem: Problem) -> None:
    for now in rounds(problem, steps=300):
        assert now.rewards.min() > 0.0
        assert now.rewards.max() < 1.0
        taken = now.reward(np.zeros(2, dtype=np.intp))
        np.testing.assert_allclose(taken, taken.round(), atol=1e-12)


def test_expected_rewards_of_waves_are_averages() -> None:
    problem = next(p for p in ALL if isinstance(p.shape, Waves))
    world = problem.start_all([np.random.default_rng(0)])
    function = world._rewards  # type: ignore[attr-defined]
    mean, deviation = np.array([[0.3]]), 0.8
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    values = np.stack([function(mean + deviation * node) for node in nodes])
    average = np.tensordot(weights / weights.sum(), values, axes=1)
    np.testing.assert_allclose(function(mean, np.array([[deviation**2]])), average, atol=1e-9)


def test_models_follow_the_unit_of_coordinates() -> None:
    """Fourier features in raw and in standard units give the same inner products."""
    problem = next(p for p in ALL if isinstance(p.shape, Waves) and p.shape.learner == "fourier")
    grams = []
    for seen in (replace(problem, shown="own"), replace(problem, shown="standard")):
        model = seen.model(ridge=1.0)
        assert isinstance(model, oc.LinearModel)
        world = seen.start_all([np.random.default_rng(0)])
        psi = model.features(world.actions[0], world.step(np.zeros((1, 0), dtype=np.intp)).context)[:, 0]
        grams.append(psi @ psi.T)
    np.testing.assert_allclose(grams[0], grams[1], atol=1e-6)
