"""The life of a bandit, replayed to the byte."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import overcast as oc
from life_support import CONFIGS, Life, closed_log, lives
from memory_support import differences, distance, memory_of, unchanged
from overcast import events
from overcast._check import Array
from support import refused

FIXTURES = Path(__file__).parents[1] / "fixtures"


def _replayed(config: Any, *happened: Any, **options: Any) -> oc.Bandit:
    given, *log = json.loads(json.dumps(closed_log(config, *happened), allow_nan=False))
    return oc.replay(given, log, **options)


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_life_is_replayed_to_the_byte(name: str, data: st.DataObject) -> None:
    """Whatever was asked, saved, loaded or copied in between, and whatever failed."""
    life = Life(name, data.draw(st.integers(0, 3)))
    for step in data.draw(lives(name)):
        life.take(step)
    events_ = json.loads(json.dumps(life.events, allow_nan=False))
    again = oc.replay(json.loads(json.dumps(life.config, allow_nan=False)), events_, end=len(events_))
    assert differences(life.bandit, again) == []
    for bandit in (life.bandit, again):
        bandit.learn(bandit.decide(oc.Gaussian([0.4, -0.2], 0.3)), 1.5)
    mine, theirs = memory_of(life.bandit), memory_of(again)
    # Ids of new decisions hold a mark of the instance, and the history the time of day.
    assert {name for name in mine if mine[name] != theirs[name]} <= {"open", "history", "history.time"}


def test_events_on_top_of_a_file_lead_to_the_same(tmp_path: Path) -> None:
    life = Life("learnt", 0)
    life.live(40)
    life.bandit.save(tmp_path / "half-way")
    known = len(life.events)
    life.live(40)
    loaded = oc.Bandit.load(tmp_path / "half-way")
    for event in events.checked(life.events[known:], after=life.events[known - 1], end=len(life.events)):
        events.apply(loaded, event)
    assert differences(loaded, life.bandit) == []


SCRIPT = """
import json, sys
sys.path.insert(0, {tests!r})
from life_support import Life
life = Life({name!r}, 0, named=True)
with open({log!r}, "w") as log:
    print(json.dumps(life.config), file=log, flush=True)
    while True:
        known = len(life.events)
        life.live(1)
        for event in life.events[known:]:
            print(json.dumps(event), file=log, flush=True)
"""


def _lines(path: Path) -> list[Any]:
    """Return the whole lines of a log; the process may have died within the last one."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal on this system")
@pytest.mark.parametrize("name", ["learnt", "kernel", "sampled"])
def test_a_process_that_is_killed_half_way_can_be_replayed(name: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = SCRIPT.format(tests=str(Path(__file__).parents[1]), name=name, log=str(log))
    process = subprocess.Popen([sys.executable, "-c", script], env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    try:
        while not log.exists() or log.read_bytes().count(b"\n") < 60:
            assert process.poll() is None, "the script failed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    config, *happened = _lines(log)
    assert len(happened) >= 59
    replayed, unbroken = oc.replay(config, happened, end="open"), Life(name, 0, named=True)
    while len(unbroken.events) < len(happened):
        unbroken.live(1)
    for event in unbroken.events[len(happened) :]:  # of the step within which the process died
        events.apply(replayed, event)
    assert differences(replayed, unbroken.bandit) == []


THREADS = """
import json, sys
import overcast as oc
config, *events = json.load(open({log!r}))
oc.replay(config, events, end="open").save({out!r})
"""


@pytest.mark.parametrize("name", ["learnt", "ridge", "kernel", "many features"])
def test_another_number_of_threads_leads_to_the_same_up_to_rounding(name: str, tmp_path: Path) -> None:
    life = Life(name, 1)
    life.live(60)
    (tmp_path / "log").write_text(json.dumps([life.config, *life.events]), encoding="utf-8")
    found = []
    for threads in ("1", "2"):
        out = tmp_path / f"with {threads}"
        script = THREADS.format(log=str(tmp_path / "log"), out=str(out))
        subprocess.run([sys.executable, "-c", script], env=os.environ | {"OPENBLAS_NUM_THREADS": threads}, check=True)
        found.append(oc.Bandit.load(out))
    assert distance(*found) <= 1e-9
    assert distance(found[0], life.bandit) <= 1e-9


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("events*/*.json")), ids=lambda path: path.stem)
def test_events_that_an_earlier_release_wrote_can_be_replayed(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bandit = oc.replay(content["config"], content["events"], end=len(content["events"]))
    expected = ["replay: events have no checksums"] if path.parent.name == "events1" else []
    assert [str(one.message)[:32] for one in caught] == expected
    assert [one.filename for one in caught] == [__file__] * len(expected)
    found = bandit.estimate(oc.PointMass([0.5, -1.0]))
    np.testing.assert_allclose(found.mean, content["mean"], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.width, content["width"], rtol=1e-8, atol=1e-9)
    assert bandit.learnt.rounds == content["rounds"]


def test_it_does_not_matter_who_decided() -> None:
    """Decisions of a bandit that has learnt other things count for this one by what their records hold."""
    life, other = Life("ridge", 0), Life("ridge", 5)
    other.live(20)
    decision = other.bandit.decide(oc.Gaussian([0.3, 0.1], 0.2), id="elsewhere")
    record = json.loads(json.dumps(events.decided(decision)))
    for bandit in (life.bandit, oc.replay(life.config, [])):
        events.apply(bandit, record)
        events.apply(bandit, events.learnt("elsewhere", 2.0))
        assert bandit.learnt.rounds == 1
    by_hand = oc.replay(life.config, [])
    by_hand.observe(decision.action, decision.belief, 2.0)
    np.testing.assert_allclose(life.bandit.estimate([1.0, 1.0]).mean, by_hand.estimate([1.0, 1.0]).mean, rtol=1e-12)


@pytest.mark.parametrize(
    "event",
    [None, 3, {}, {"event": "dance"}, {"event": 7}, {"event": "learn"}, {"event": "decide", "decision": {}}],
    ids=repr,
)
def test_what_is_no_event_is_refused(event: Any) -> None:
    bandit = Life("ridge", 0).bandit
    with unchanged(bandit), pytest.raises((ValueError, TypeError), match=r"^(replay|Decision): [^\n]+$"):
        events.apply(bandit, event)


MEMBERS = xr.DataArray([[1.0, 2.0, 4.0], [0.5, 0.0, 0.1]], dims=("variable", "member"))


def _beta(t: int) -> float:
    return 1.0 + 1.0 / t


def test_a_policy_of_your_own_is_passed_again() -> None:
    options = {"a": [1.0], "b": [2.0]}, oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(_beta)
    config = events.config(*options)
    with pytest.raises(ValueError, match=r"pass it again as policy=$"):
        oc.replay(config, [])
    assert oc.replay(config, [], policy=options[2]).policy == options[2]


def _product(x: Array, c: Array) -> Array:
    return np.asarray(np.einsum("ka,nc->knac", x, c).reshape(len(x), len(c), -1))


def test_a_merge_with_a_bandit_whose_model_and_policy_are_your_own_is_replayed() -> None:
    actions, model = {"a": [1.0], "b": [2.0]}, oc.LinearModel(oc.features.Function(_product, 2), ridge=1.0)
    bandit, other = oc.Bandit(actions, model, oc.UCB(1.0)), oc.Bandit(actions, model, oc.UCB(_beta))
    other.observe("b", [1.0, 2.0], 3.0)
    event = events.merged(other)
    bandit.merge(other)
    again = _replayed(events.config(actions, model, oc.UCB(1.0)), event, model=model)
    assert differences(again, bandit) == []


def test_a_configuration_with_corrections_that_were_learnt() -> None:
    fixed = oc.Recalibrated(memory=20)
    for i in range(30):
        fixed.learn(oc.Gaussian([float(i), 1.0], 0.5), [i + 2.0, 1.5])
    options = {"a": [1.0, 0.0], "b": [0.0, 1.0]}, oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(1.0)
    again = oc.replay(json.loads(json.dumps(events.config(*options, recalibrate=fixed))), [])
    assert differences(again, oc.Bandit(*options, recalibrate=fixed)) == []


def _deep(depth: int) -> Any:
    out: Any = 1.0
    for _ in range(depth):
        out = [out]
    return out


@pytest.mark.parametrize(
    "event",
    [
        *({"event": "policy", "policy": data} for data in ({"type": "policies.Nobody"}, {"type": 5}, _deep(900))),
        *({"event": "fit", "model": data} for data in ({"type": "models.Nobody"}, {"type": "os.system"}, _deep(900))),
        *({"event": "merge", "bandit": data} for data in (None, 3, "no base 64", "\ud800")),
        *({"event": "add", "names": ["c"], "vectors": data} for data in (3, [[1.0], [2.0]], {"d": 1})),
        {"event": "learn", "id": _deep(3000), "reward": 1.0, "context": None},
    ],
    ids=lambda event: f"{event['event']} {str(list(event.values())[-1])[:20]}",
)
def test_events_with_faults_change_nothing(event: Any) -> None:
    bandit = oc.Bandit({"a": [1.0], "b": [2.0]}, oc.KernelModel(), oc.UCB())
    bandit.observe("a", [1.0], 1.0)
    with unchanged(bandit), pytest.raises((ValueError, TypeError), match=r"^(replay|Bandit): [^\n]+$"):
        events.apply(bandit, event)


def test_a_fit_of_another_kind_of_model_is_refused() -> None:
    bandit = oc.Bandit({"a": [1.0], "b": [2.0]}, oc.KernelModel(), oc.UCB())
    bandit.observe("a", [1.0], 1.0)
    with unchanged(bandit), refused(TypeError, "Bandit", "relearn takes a KernelModel"):
        bandit.relearn(oc.LinearModel(oc.features.Bilinear()))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("version", value) for value in (99, 0, "4")),
        *(("names", value) for value in (3, ["a"], "ab", [["a"], ["b"]])),
        *(("vectors", value) for value in (3, [[1.0]])),
        *(("key", value) for value in (3, "x", "g" * 32)),
        *(("corrections", value) for value in (3, {"rows": [[1.0]]})),
    ],
)
def test_configurations_with_faults(name: str, value: Any) -> None:
    given = events.config({"a": [1.0], "b": [2.0]}, oc.LinearModel(oc.features.Bilinear()), oc.UCB())
    with pytest.raises((ValueError, TypeError), match=r"^(replay|Bandit)[^\n]+$"):
        oc.replay(given | {name: value}, [])
    with refused(ValueError, "replay", "events.config"):
        oc.replay({key: known for key, known in given.items() if key != name}, [])


@pytest.mark.parametrize("given", [None, [], {}, "config"], ids=repr)
def test_what_is_no_configuration_is_refused(given: Any) -> None:
    with refused(ValueError, "replay", "events.config"):
        oc.replay(given, [])
