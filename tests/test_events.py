"""The life of a bandit, written down and replayed to the byte."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import overcast as oc
from life_support import CONFIGS, Life, closed_log, lives
from memory_support import differences, distance, memory_of, unchanged
from overcast import events
from overcast._check import Array
from support import refused

FIXTURES = Path(__file__).parent / "fixtures"


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
    script = SCRIPT.format(tests=str(Path(__file__).parent), name=name, log=str(log))
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


@pytest.mark.parametrize(
    "belief",
    [
        MEMBERS,
        MEMBERS.to_dataset("variable"),
        pd.DataFrame([[1.0, 2.0]]),
        scipy.stats.multivariate_normal([1, 2]),
        [1, 2],
    ],
    ids=lambda belief: type(belief).__name__,
)
@pytest.mark.parametrize("reward", [0.5, True, Fraction(1, 3), np.float32(0.1), [1.0, np.True_], np.array([1, 2])])
def test_whatever_is_a_belief_or_a_reward_can_be_observed_and_written_down(belief: Any, reward: Any) -> None:
    life = Life("ridge", 0, named=True)
    many = np.ndim(reward) > 0
    given = (["a"] * 2, [belief, belief], reward) if many else ("a", belief, reward)
    life.bandit.observe(*given)
    assert differences(_replayed(life.config, events.observed(*given)), life.bandit) == []


@pytest.mark.parametrize("names", [["new"], ("new",), {"new"}, {"new": 1}.keys(), np.array(["new"])], ids=repr)
def test_names_alone_can_be_added_and_written_down(names: Any) -> None:
    made = ["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB()
    bandit = oc.Bandit(*made)
    bandit.add_actions(names)
    assert differences(_replayed(events.config(*made), events.added(names)), bandit) == []


def test_what_is_code_has_no_event() -> None:
    with refused(TypeError, "events", "policy must not hold a function"):
        events.policy(oc.UCB(lambda t: 1.0))
    bandit = Life("sampled", 0).bandit
    with refused(TypeError, "Sampler", "no JSON form"):
        events.decided(bandit.decide(oc.Sampler(lambda n, rng: rng.normal(size=(n, 2)), 2)))


def _beta(t: int) -> float:
    return 1.0 + 1.0 / t


def test_a_policy_of_your_own_is_passed_again() -> None:
    made = {"a": [1.0], "b": [2.0]}, oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(_beta)
    config = events.config(*made)
    with pytest.raises(ValueError, match=r"pass it again as policy=$"):
        oc.replay(config, [])
    assert oc.replay(config, [], policy=made[2]).policy == made[2]


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
    made = {"a": [1.0, 0.0], "b": [0.0, 1.0]}, oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(1.0)
    again = oc.replay(json.loads(json.dumps(events.config(*made, recalibrate=fixed))), [])
    assert differences(again, oc.Bandit(*made, recalibrate=fixed)) == []


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


def _life(name: str = "ridge", steps: int = 8) -> list[Any]:
    """Return the log of a short life, which is closed."""
    life = Life(name, 3, named=True)
    life.live(steps)
    return [life.config, *life.events, events.chained(events.closed(), after=life.events[-1])]


def _outcome(lines: list[bytes]) -> tuple[str, Any]:
    """Return what a replay of lines of JSON comes to: refused, warned of, or silent with what the bandit remembers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given, *log = [json.loads(line) for line in lines]
        except ValueError:
            return "unreadable", None
        try:
            bandit = oc.replay(given, log)
        except (ValueError, TypeError) as error:
            return "refused" if "\n" not in str(error) else "refused on several lines", str(error)
    return ("warned", str(caught[0].message)) if caught else ("silent", memory_of(bandit))


def _lines_of(log: list[Any]) -> list[bytes]:
    return [json.dumps(entry).encode() for entry in log]


def _flips(lines: list[bytes], stride: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines with one bit flipped, for every `stride`-th byte, another bit each time."""
    at = 0
    for i, line in enumerate(lines):
        for j in range(len(line)):
            at += 1
            if at % stride == 0:
                damaged = bytearray(line)
                damaged[j] ^= 1 << (at // stride % 8)
                yield i, [*lines[:i], bytes(damaged), *lines[i + 1 :]]


@pytest.mark.parametrize(("name", "stride"), [("ridge", 3), ("kernel", 7), ("history", 11)])
def test_no_flipped_bit_is_replayed_in_silence_into_another_state(name: str, stride: int) -> None:
    lines = _lines_of(_life(name))
    kind, expected = _outcome(lines)
    assert kind == "silent"
    tried = 0
    for i, damaged in _flips(lines, stride):
        kind, content = _outcome(damaged)
        tried += kind != "unreadable"
        assert kind != "silent" or content == expected, (i, damaged[i])
    assert tried > 100  # many stay valid JSON


def test_an_event_that_is_lost_repeated_or_moved_is_named() -> None:
    lines = _lines_of(_life())
    n = len(lines)
    for i in range(1, n):
        for j in range(1, n):
            moved = [*lines[:i], *lines[i + 1 :]]
            moved.insert(j, lines[i])
            if moved != lines:
                assert _outcome(moved)[0] == "refused", (i, j)
            twice = [*lines[:j], lines[i], *lines[j:]]
            assert _outcome(twice)[0] == "refused", (i, j)
            swapped = list(lines)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            assert i == j or _outcome(swapped)[0] == "refused", (i, j)
    for i in range(1, n - 1):
        kind, text = _outcome([*lines[:i], *lines[i + 1 :]])
        before = f"event {i - 1}" if i > 1 else "the configuration"
        expected = f"event {i} must come after {before}, got number {i + 1}; events were lost, repeated or moved"
        assert (kind, text) == ("refused", f"replay: {expected}")


def test_events_of_another_log_are_refused() -> None:
    one, other = _life(), _life("learnt")
    assert "event 1 " in _outcome(_lines_of([one[0], *other[1:]]))[1]
    text = _outcome(_lines_of([*one[:3], *other[3:]]))[1]
    assert "event 3 " in text
    assert "must have the checksum" in text


def test_a_log_whose_end_is_cut_off_is_noticed() -> None:
    lines = _lines_of(_life())
    for i in range(2, len(lines)):
        kind, text = _outcome(lines[:i])
        assert (kind, f"end={i - 1}" in text) == ("warned", True)
        given, *log = map(json.loads, lines[:i])
        assert oc.replay(given, log, end=i - 1).actions == oc.replay(given, log, end="open").actions
        with refused(ValueError, "replay", f"the last event must be number {i}, got {i - 1}"):
            oc.replay(given, log, end=i)
    for i, line in enumerate(lines):
        for j in range(0, len(line), 9):
            assert _outcome([*lines[:i], line[:j]])[0] != "silent"
    with refused(ValueError, "replay", "must be number 3, got 0"):
        oc.replay(json.loads(lines[0]), [], end=3)


@pytest.mark.parametrize("end", ["shut", -1, 1.5, True, None])
def test_an_end_that_means_nothing_is_refused(end: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^replay: end must be"):
        oc.replay(_life()[0], [], end=end)


def test_nothing_follows_the_end_of_a_log() -> None:
    log = _life()
    with refused(ValueError, "events", "after must not be the end of the log"):
        events.chained(events.forgotten("x"), after=log[-1])
    number, checksum = log[-1]["number"] + 1, log[-1]["checksum"]
    with refused(ValueError, "replay", "(close) must be the last one"):
        oc.replay(log[0], [*log[1:], {"event": "forget", "id": "x", "number": number, "checksum": checksum}])
    bandit = oc.replay(log[0], log[1:])
    with unchanged(bandit):
        events.apply(bandit, events.closed())


@pytest.mark.parametrize("after", [None, {}, {"event": "forget", "id": "x"}, 3], ids=repr)
def test_an_event_follows_one_that_is_chained(after: Any) -> None:
    with refused(ValueError, "events", "after must be a configuration or an event that chained returned"):
        events.chained(events.closed(), after=after)


def test_events_with_and_without_numbers_do_not_mix() -> None:
    log = _life()
    bare = [{name: value for name, value in event.items() if name not in events.LINK} for event in log]
    with refused(ValueError, "replay", "event 3 must have the number and checksum"):
        oc.replay(log[0], [*log[1:3], *bare[3:]])
    with pytest.warns(UserWarning, match="no checksums"), refused(ValueError, "replay", "event 3 must have no number"):
        oc.replay(log[0], [*bare[1:3], *log[3:]])


def test_an_event_that_is_chained_again_follows_its_new_place() -> None:
    log = _life()
    assert events.chained(log[2], after=log[1]) == log[2]
    assert events.chained(log[2], after=log[0])["number"] == 1
