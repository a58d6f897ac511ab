"""What every fit promises: explicit solves, lock-step as single fits, merging, restoring, refusals without a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.linalg import block_diag

from linear_support import GIVEN, weighted
from overcast._check import Array
from overcast._linalg import folded
from overcast.features import Row
from overcast.models.linear.fit import Fit
from overcast.models.linear.ridge import Ridge
from overcast.models.linear.weighted import Settings
from support import linear_map, refused

D, BLOCKS, R = 3, 4, 3
SHAPES: dict[str, tuple[int, ...]] = {"one block": (D,), "blocks": (BLOCKS, D)}

Make = Callable[[tuple[int, ...], tuple[int, ...]], Fit]


def _weighted(settings: Settings, aware: bool) -> Make:
    return lambda shape, leading: weighted(shape, settings, aware, leading)


FITS: dict[str, Make] = {
    "ridge": lambda shape, leading: Ridge(shape, 0.7, leading),
    **{f"variance, {name}": _weighted(settings, True) for name, settings in GIVEN.items()},
    **{f"equal, {name}": _weighted(settings, False) for name, settings in GIVEN.items()},
}
#: fits whose ridge and variances are known, so that one solve gives them
KNOWN: dict[str, Make] = {"ridge": FITS["ridge"], "weighted": _weighted(Settings(ridge=0.7, noise=1.0), False)}

each_fit = pytest.mark.parametrize("make", FITS.values(), ids=FITS.keys())
each_known = pytest.mark.parametrize("make", KNOWN.values(), ids=KNOWN.keys())
each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


class Round(NamedTuple):
    """One round of R trials: psi (R, d), cov (R, d (d + 1) / 2), block (R,) and rewards (R,)."""

    psi: Array
    cov: Array
    block: Any
    rewards: Array

    def row(self, fit: Fit, trial: int | None = None) -> Row:
        """Return the row of all trials, or that of one, as the fit takes it."""
        at: Any = slice(None) if trial is None else trial
        cov = self.cov[at] if fit.aware else None
        return Row(self.psi[at], cov, np.asarray(self.block[at]) if len(fit.shape) > 1 else None)


def _rounds(n: int, seed: int = 0) -> list[Round]:
    rng, out = np.random.default_rng(seed), []
    theta = rng.normal(size=(BLOCKS, D))
    for t in range(n):
        psi, A, block = rng.normal(size=(R, D)), rng.normal(size=(R, D, 2)), rng.integers(BLOCKS, size=R)
        cov = 0.1 * (t % 3 > 0) * (A @ A.swapaxes(-1, -2))
        rewards = np.vecdot(psi, theta[block]) + 0.3 * rng.normal(size=R)
        if t < 4:
            rewards[1] = 0.0  # one trial finds its scale later than the others
        out.append(Round(psi, folded(cov), block, rewards))
    return out


def _teach(together: Fit, alone: list[Fit], rounds: list[Round]) -> None:
    for now in rounds:
        together.add(now.row(together), now.rewards)
        for trial, fit in enumerate(alone):
            fit.add(now.row(fit, trial), float(now.rewards[trial]))


def _same(together: Fit, alone: list[Fit]) -> None:
    for name in ("theta", "inverse", "log_det", "ridge", "noise2", "scaled", "residual_share", "prior"):
        got, expected = getattr(together, name), [getattr(fit, name) for fit in alone]
        if expected[0] is None:
            assert got is None
            continue
        got = np.broadcast_to(got, np.shape(expected))  # one number for all trials if it was given
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9, err_msg=name)
    z = np.random.default_rng(1).normal(size=together.theta.shape)
    for ask in ("draw", "perturb"):
        each = [getattr(fit, ask)(own) for fit, own in zip(alone, z, strict=True)]
        # The root that `perturb` takes is ill-conditioned in directions that rows hardly have.
        np.testing.assert_allclose(getattr(together, ask)(z), each, rtol=0, atol=1e-9 if ask == "draw" else 1e-6)
    theta = z.reshape(R, -1)
    distances = [fit.distance(own) for fit, own in zip(alone, theta, strict=True)]
    np.testing.assert_allclose(together.distance(theta), distances, rtol=1e-7)


@each_fit
@each_shape
def test_trials_in_lock_step_are_fits_of_their_own(make: Make, shape: tuple[int, ...]) -> None:
    """Also after merging, and after restoring both."""
    together, alone = make(shape, (R,)), [make(shape, ()) for _ in range(R)]
    _same(together, alone)
    for now in _rounds(30):
        _teach(together, alone, [now])
        _same(together, alone)
    others, others_alone = make(shape, (R,)), [make(shape, ()) for _ in range(R)]
    _teach(others, others_alone, _rounds(20, seed=1))
    together.merge(others)
    for fit, other in zip(alone, others_alone, strict=True):
        fit.merge(other)
    _same(together, alone)
    again, again_alone = make(shape, (R,)), [make(shape, ()) for _ in range(R)]
    again.restore(together.state())
    for fit, other in zip(again_alone, alone, strict=True):
        fit.restore(other.state())
    _teach(again, again_alone, _rounds(15, seed=2))
    _same(again, again_alone)


@each_fit
@each_shape
def test_the_state_says_it_all(make: Make, shape: tuple[int, ...]) -> None:
    """Merging with, and restoring from, a fit leaves that fit as it was."""
    rounds = _rounds(25)
    first, second, third = (make(shape, (R,)) for _ in range(3))
    _teach(first, [], rounds[:15])
    _teach(second, [], rounds[15:])
    before = second.state()
    third.restore(second.state())
    first.merge(second)
    _teach(third, [], rounds[:3])
    for name, value in second.state().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


@each_fit
@each_shape
@pytest.mark.parametrize("leading", [(), (R,)], ids=["single", "lock-step"])
@pytest.mark.parametrize("n", [0, 1, 12])
def test_a_row_that_overflows_changes_nothing(
    make: Make, shape: tuple[int, ...], leading: tuple[int, ...], n: int
) -> None:
    """In lock-step, one trial whose row overflows is enough."""
    fit, trial = make(shape, leading), None if leading else 0
    rounds = _rounds(n + 5)
    for now in rounds[:n]:
        fit.add(now.row(fit, trial), now.rewards if leading else now.rewards[0])
    before = fit.state()
    for size in (1e200, np.nan):
        odd = rounds[n].row(fit, trial)
        psi = odd.psi.copy()
        psi[..., 0] = np.where(np.arange(R) == 1, size, psi[..., 0]) if leading else size
        with refused(
            ValueError, "LinearModel", "features must stay within the range of floating-point numbers, got larger"
        ):
            fit.add(odd._replace(psi=psi), rounds[n].rewards if leading else rounds[n].rewards[0])
        for name, value in fit.state().items():
            np.testing.assert_array_equal(value, before[name], err_msg=name)
    for now in rounds[n:]:
        fit.add(now.row(fit, trial), now.rewards if leading else now.rewards[0])
    assert np.isfinite(fit.theta).all()


@each_known
@each_shape
@pytest.mark.parametrize("leading", [(), (R,)], ids=["single", "lock-step"])
def test_an_explicit_solve(make: Make, shape: tuple[int, ...], leading: tuple[int, ...]) -> None:
    """theta-hat = V^-1 sum_s psi_s y_s with V = lambda I + sum_s psi_s psi_s^T, over the features of all blocks."""
    fit, d, rounds = make(shape, leading), int(np.prod(shape)), _rounds(40)
    for now in rounds:
        fit.add(now.row(fit, None if leading else 0), now.rewards if leading else now.rewards[0])
    for trial in range(R if leading else 1):
        V, target = 0.7 * np.eye(d), np.zeros(d)
        for now in rounds:
            psi = np.zeros((d // D, D))
            psi[now.block[trial] if len(shape) > 1 else 0] = now.psi[trial]
            V += np.outer(psi, psi)
            target += psi.ravel() * now.rewards[trial]
        at = (trial,) if leading else ()
        theta = np.linalg.solve(V, target)
        np.testing.assert_allclose(fit.theta[at].ravel(), theta, rtol=0, atol=1e-9)
        inverse = fit.inverse[at].reshape(-1, D, D)
        np.testing.assert_allclose(block_diag(*inverse), np.linalg.inv(V), rtol=0, atol=1e-9)
        log_det = float(np.linalg.slogdet(V / 0.7)[1])
        assert float(np.asarray(fit.log_det)[at]) == pytest.approx(log_det, abs=1e-9)
        error = np.arange(d) - theta
        distance = fit.distance(np.arange(float(d)))
        assert float(np.asarray(distance)[at]) == pytest.approx(float(np.sqrt(error @ V @ error)), rel=1e-9)


@each_known
def test_draws_and_perturbations_have_their_covariances(make: Make) -> None:
    """V^-1, and V^-1 (V - lambda I) V^-1."""
    fit = make((D,), ())
    for now in _rounds(9):
        fit.add(now.row(fit, 0), now.rewards[0])
    design = np.linalg.inv(fit.inverse)
    for name, covariance in (
        ("draw", fit.inverse),
        ("perturb", fit.inverse @ (design - 0.7 * np.eye(D)) @ fit.inverse),
    ):
        M = linear_map(lambda rng, name=name: getattr(fit, name)(rng.standard_normal(D)), D)
        np.testing.assert_allclose(M.T @ M, covariance, rtol=0, atol=1e-10)
    half = fit.half()
    np.testing.assert_allclose(half @ half.T, fit.inverse, rtol=0, atol=1e-12)
    np.testing.assert_allclose(fit.prior, np.eye(D) / 0.7)
    np.testing.assert_allclose(fit.second_moment, np.outer(fit.theta, fit.theta) + fit.inverse)


@each_known
def test_rewards_move_nothing_in_directions_that_were_not_seen(make: Make) -> None:
    fit = make((D,), ())
    for reward in range(5):
        fit.add(Row(np.array([3.0, 4.0, 0.0])), float(reward))
    moved = linear_map(lambda rng: fit.perturb(rng.standard_normal(D)), D)
    np.testing.assert_allclose(moved @ np.array([[-4.0, 0.0], [3.0, 0.0], [0.0, 1.0]]), 0.0, atol=1e-12)
