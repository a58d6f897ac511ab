"""How forecasts did, in numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast.service.coverage import LEVELS, coverage
from overcast.service.dashboard.window import window
from overcast.service.store import Row
from service_support import Api


def _rows(pairs: list[tuple[oc.Belief, Any]]) -> list[Row]:
    record = {"index": 0, "action": "a", "mean": 0.0, "width": 1.0, "probability": 1.0, "round": 1}
    out = []
    for i, (belief, context) in enumerate(pairs):
        decide = json.dumps({"decision": record | {"belief": belief.to_json()}})
        learn = json.dumps({"reward": 1.0, "context": context})
        out += [
            Row(2 * i + 1, 0.0, "farm", "decide", f"d{i}", "0", decide),
            Row(2 * i + 2, 0.0, "farm", "learn", f"d{i}", "0", learn),
        ]
    return out


def test_coverage_is_that_of_the_library() -> None:
    rng = np.random.default_rng(0)
    beliefs = [oc.Gaussian(rng.normal(size=2), [1.0, 4.0]).named(["warm", "wet"]) for _ in range(200)]
    outcomes = [rng.normal(belief.mean(), [2.0, 2.0]) for belief in beliefs]  # over-confident about the first
    found = coverage(window(_rows([(b, y.tolist()) for b, y in zip(beliefs, outcomes, strict=True)])))
    expected = oc.calibration.check(beliefs, np.array(outcomes))
    assert [one.name for one in found] == ["warm", "wet"]
    for i, one in enumerate(found):
        assert one.outcomes == 200
        assert one.shares == pytest.approx([expected.coverage(level)[i] for level in LEVELS])
    assert found[0].shares[1] < 0.6 < 0.7 < found[1].shares[1]
    assert 0.4 < found[1].place < 0.6


def test_what_cannot_be_judged_is_left_out() -> None:
    good = oc.Gaussian([0.0], 1.0)
    rows = _rows([(good, [0.0]), (good, None), (good, good.to_json()), (oc.Gaussian([0.0, 1.0], 1.0), [1.0, 2.0])])
    (found,) = coverage(window(rows))
    assert (found.name, found.outcomes, found.place) == ("c1", 1, 0.5)
    assert coverage(window([])) == []


def test_ensembles_have_jumps() -> None:
    (found,) = coverage(window(_rows([(oc.Ensemble([[1.0], [2.0], [3.0]]), [2.0])])))
    assert found.shares == (1.0, 1.0, 1.0)


def test_metrics_tell(api: Api) -> None:
    assert "overcast_forecast_coverage{" not in api.get("/metrics").body
    for i in range(4):
        api.outcome(api.decide()["id"], reward=1.0, context=[20.0, 1.0] if i else [40.0, 1.0])
    text = api.get("/metrics").body
    assert 'overcast_forecast_outcomes{bandit="farm",dimension="c1"} 4.0' in text
    assert 'overcast_forecast_coverage{bandit="farm",dimension="c1",level="0.8"} 0.75' in text
    assert 'overcast_forecast_coverage{bandit="farm",dimension="c2",level="0.9"} 1.0' in text
    assert 'overcast_forecast_place{bandit="farm",dimension="c2"} 0.5' in text
    api.outcome(api.decide()["id"], reward=1.0, context=[20.0, 1.0])
    assert 'level="0.8"} 0.8\n' in api.get("/metrics").body
