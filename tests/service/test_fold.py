"""The state is a fold over the log, and the library's replay of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import memory_of
from overcast.service.fold import State, detail, details, folded
from overcast.service.store import Row
from service_support import FARM, Api, check_replay, remembered, served
from support import refused

PRODUCT = {
    "type": "Product",
    "action_kernel": {"type": "RBF", "lengthscale": 0.8},
    "context_kernel": {"type": "RBF", "lengthscale": 1.5},
}
CONFIGS: dict[str, dict[str, Any]] = {
    "ridge": {},
    "learnt": {"ridge": None, "policy": "UCB"},
    "random": {"policy": {"type": "Thompson"}, "samples": 3},
    "repeated": {"policy": {"type": "Repeated", "policy": "Thompson", "n": 5}, "samples": "t"},
    "recalibrating": {"ridge": None, "recalibrate": True},
    "kernel": {"features": None, "kernel": PRODUCT, "policy": {"type": "UCB", "beta": 1.0}},
    "unnamed": {"actions": [[1.0, 0.0], [0.0, 1.0]]},
    "exp4": {
        "features": None,
        "ridge": None,
        "model": {"type": "Exp4", "features": "Bilinear", "experts": 5},
        "policy": "Proportional",
    },
}


def live(api: Api, steps: int, seed: int = 0) -> None:
    """Let all kinds of things happen to the farm, late, in parts and out of order."""
    rng = np.random.default_rng(seed)
    known = list(api.state.lives["farm"].open)
    for step in range(steps):
        mean = rng.normal(size=2).tolist()
        beliefs: list[Any] = [
            {"type": "Gaussian", "mean": mean, "cov": [0.3, 0.2]},
            {"type": "Ensemble", "points": rng.normal(size=(3, 2)).tolist(), "weights": [0.2, 0.3, 0.5]},
            mean,
            rng.normal(size=(4, 2)).tolist(),
        ]
        known.append(api.decide(belief=beliefs[int(rng.integers(4))])["id"])
        if rng.random() < 0.7:
            id_ = known.pop(int(rng.integers(len(known))))
            contexts: list[Any] = [None, mean, {"type": "Gaussian", "mean": mean, "cov": [0.1, 0.0]}]
            if rng.random() < 0.3:
                assert api.outcome(id_, reward=float(rng.normal()), final=False, part="p").status == 200
            context = contexts[int(rng.integers(3))]
            assert api.outcome(id_, reward=float(rng.normal()), context=context).status == 200
        if step % 7 == 3:
            assert api.ask("DELETE", f"/v1/bandits/farm/decisions/{known.pop()}").status == 200


@pytest.mark.parametrize("name", CONFIGS)
def test_the_state_is_the_replay_of_the_log_to_the_byte(name: str, tmp_path: Path) -> None:
    with served(tmp_path) as api:
        made = api.post("/v1/bandits", FARM | CONFIGS[name])
        assert made.status == 201, made.body
        live(api, 15)
        api.post("/v1/bandits/farm/estimate", {"belief": [0.5, 0.5]})  # a question changes nothing
        check_replay(api.engine.store, api.state)


@pytest.mark.parametrize("name", ["ridge", "learnt", "recalibrating", "kernel"])
def test_snapshots_change_nothing(name: str, tmp_path: Path) -> None:
    with served(tmp_path) as api:
        assert api.post("/v1/bandits", FARM | CONFIGS[name]).status == 201
        live(api, 8)
        halfway = State.of(api.state.position, api.state.contents())
        assert remembered(halfway) == remembered(api.state)
        live(api, 8, seed=1)
        rows = [row for row in api.engine.store.read() if row.position > halfway.position]
        assert remembered(folded(rows, halfway)) == remembered(api.state)


def test_other_changes_are_folded_too(api: Api) -> None:
    live(api, 4)
    farm = "/v1/bandits/farm"
    assert api.post(f"{farm}/actions", {"actions": {"soon": [0.3, 0.1]}}).status == 201
    assert api.ask("PATCH", f"{farm}/actions/late", {"vector": [0.2, 0.9]}).status == 200
    assert api.ask("DELETE", f"{farm}/actions/never").status == 200
    assert api.ask("PATCH", farm, {"policy": "Greedy", "wait": 60.0, "default": 0.5}).status == 200
    live(api, 4, seed=2)
    assert api.ask("DELETE", farm).status == 200
    check_replay(api.engine.store, api.state)
    assert api.state.lives["farm"].retired
    assert api.state.lives["farm"].bandit.policy == oc.Greedy()


def test_a_row_from_the_future_is_refused_and_changes_nothing(api: Api) -> None:
    state = api.state
    before = remembered(state), state.position
    for bandit in ("", "farm"):
        row = Row(state.position + 1, 0.0, bandit, "dance", None, "9.0", "{}")
        with refused(ValueError, "log", "must be one that this version knows"):
            state.apply(row)
    assert (remembered(state), state.position) == before


def test_details_are_those_of_the_decision() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB(1.0))
    decision = bandit.decide([2.0], available=["b"])
    mean, width, score = details(detail(decision))
    found = bandit.estimate([2.0])
    np.testing.assert_allclose(mean, found.mean, rtol=1e-6)
    np.testing.assert_allclose(width, found.width, rtol=1e-6)
    assert score[0] == -np.inf
    np.testing.assert_allclose(score[1], decision.score, rtol=1e-6)


def test_a_life_survives_bytes(api: Api) -> None:
    live(api, 5)
    again = State.of(api.state.position, api.state.contents())
    assert memory_of(again.lives["farm"].bandit) == memory_of(api.state.lives["farm"].bandit)
    assert again.keys == api.state.keys


def test_huge_numbers_do_not_warn_wherever_rows_are_folded(api: Api) -> None:
    api.post("/v1/bandits", FARM)
    for i in range(3):
        api.decide(id=f"huge{i}")
        answer = api.post(f"/v1/bandits/farm/decisions/huge{i}/outcome", {"reward": 1e150 * (-1) ** i})
        assert answer.status == 200
    added = api.post("/v1/bandits/farm/actions", {"actions": {"huge": [1e200, 1e200]}})
    assert added.status in (200, 201)
    state = State()
    for row in api.engine.store.read():
        state.apply(row)
    assert remembered(state) == remembered(api.state)
