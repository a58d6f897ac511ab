"""The start of the service: what snapshots are used for, and when they are not."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import overcast
from overcast.service.start import read_state
from overcast.service.store import Snapshots, SqliteStore
from service_support import FARM, Api, check_replay, remembered, served


def test_the_state_is_kept_and_snapshots_may_be_deleted(tmp_path: Path) -> None:
    with served(tmp_path, snapshot_every=5) as api:
        api.post("/v1/bandits", FARM)
        for _ in range(4):
            api.outcome(api.decide()["id"], reward=1.0)
        kept = api.engine.store.snapshots()
        assert kept is not None
        assert kept.position >= 5
        state = remembered(api.state)
    store = SqliteStore(tmp_path / "log.db")
    found, position, _ = read_state(store)
    assert (remembered(found), position) == (state, found.position)
    store._db.execute("DELETE FROM snapshots")
    found, position, _ = read_state(store)
    assert (remembered(found), position) == (state, 0)
    store.close()


MODELS: dict[str, dict[str, Any]] = {
    "ridge": {"features": "Bilinear", "ridge": 1.0},
    "untuned": {"features": "Bilinear"},
    "kernel": {"kernel": {"type": "RBF"}, "ridge": 1.0},
    "sampled": {"features": "Bilinear", "ridge": 1.0, "samples": 5, "policy": {"type": "Thompson"}},
    "recalibrated": {"features": "Bilinear", "ridge": 1.0, "recalibrate": True},
}


def test_a_state_from_snapshots_goes_on_as_the_fold_does_to_the_byte(tmp_path: Path) -> None:
    def live(api: Api, name: str, start: int) -> None:
        for i in range(start, start + 12):
            belief = {"type": "Gaussian", "mean": [20.0 + i % 5, 1.0], "cov": [4.0, 0.1]}
            made = api.post(f"/v1/bandits/{name}/decisions", {"belief": belief})
            assert made.status == 201, made.body
            if i % 4:
                body = {"reward": 0.1 * i, "context": [20.5 + i % 3, 1.1] if i % 2 else None}
                assert api.post(f"/v1/bandits/{name}/decisions/{made.body['id']}/outcome", body).status == 200

    given, key = {name: FARM[name] for name in ("actions", "policy")}, ""
    for start in (0, 12, 24):  # each start but the first begins with snapshots
        with served(tmp_path) as api:
            api.key = key = api.key or key
            for name, model in MODELS.items():
                if start == 0:
                    made = api.post("/v1/bandits", given | {"name": name} | model)
                    assert made.status == 201, made.body
                live(api, name, start)
            check_replay(api.engine.store, api.state)


def test_an_upgrade_folds_anew_and_says_how_far_estimates_moved(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with served(tmp_path, snapshot_every=1) as api:
        key = api.key
        api.post("/v1/bandits", FARM)
        first = api.decide()
        api.outcome(first["id"], reward=1.0)
        until = api.state.position
    store = SqliteStore(tmp_path / "log.db")
    kept = store.snapshots()
    assert kept is not None
    assert kept.position == until
    store.keep(kept._replace(version="0.0.1"))
    store.close()
    with caplog.at_level(logging.WARNING, "overcast.service"), served(tmp_path, snapshot_every=10**6) as api:
        api.key = key
        assert api.engine.moved == {"farm": 0.0}
        assert "version 0.0.1 kept the snapshots" in caplog.text
        assert 'overcast_upgrade_moved{bandit="farm"} 0.0' in api.get("/metrics").body
        api.outcome(api.decide()["id"], reward=5.0)
        state = remembered(api.state)
    # A version that had learnt something else from the same log.
    store = SqliteStore(tmp_path / "log.db")
    other = read_state(store).state
    life = other.lives["farm"]
    life.bandit.observe("early", [20.0, 1.0], 100.0)
    store.keep(Snapshots(other.position, "0.0.1", other.contents()))
    caplog.clear()
    with caplog.at_level(logging.WARNING, "overcast.service"):
        found = read_state(store)
    assert found.moved["farm"] > 1.0
    assert f"{found.moved['farm']:.3g} of their widths" in caplog.text
    assert remembered(found.state) == state
    store.close()


@pytest.mark.parametrize("what", ["version", "damage"])
def test_snapshots_of_another_version_and_damaged_ones_are_not_used(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM)
        api.outcome(api.decide()["id"], reward=1.0)
        state = remembered(api.state)
    store = SqliteStore(tmp_path / "log.db")
    kept = store.snapshots()
    assert kept is not None
    other = {"version": kept._replace(version="0.0.0"), "damage": kept._replace(contents={"": b"[]", "farm": b"{}"})}
    store.keep(other[what])
    with caplog.at_level(logging.CRITICAL, "overcast.service"):
        found, position, _ = read_state(store)
    assert (remembered(found), position) == (state, 0)
    store.close()


def test_snapshots_that_lack_a_bandit_are_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(tmp_path, snapshot_every=10**6) as api:
        api.post("/v1/bandits", FARM)
        api.decide()
        contents, position = api.state.contents(), api.state.position
        api.decide()
        state = remembered(api.state)
    store = SqliteStore(tmp_path / "log.db")
    store.keep(Snapshots(position, overcast.__version__, {"": contents[""]}))
    with caplog.at_level(logging.WARNING, "overcast.service"):
        found, since, _ = read_state(store)
    assert (remembered(found), since) == (state, 0)
    assert "does not go on from the snapshots" in caplog.text
    store.close()
