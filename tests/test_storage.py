"""Files of bandits: the same decisions afterwards, no pickle, and one clear line for every broken file."""

from __future__ import annotations

import copy
import datetime
import json
import math
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Linear, Polynomial, Quadratic

C = 3
VECTORS = np.random.default_rng(0).normal(size=(4, C))
MAPS: dict[str, tuple[FeatureMap, Any]] = {
    "quadratic": (Quadratic(), VECTORS),
    "bilinear": (Bilinear(), VECTORS),
    "linear": (Linear(), VECTORS),
    "polynomial": (Polynomial(2), VECTORS),
    "disjoint": (Disjoint(3), ["a", "b", "c"]),
    "disjoint, a NumPy size": (Disjoint(np.int64(3)), ["a", "b", "c"]),  # type: ignore[arg-type]
}
POLICIES: dict[str, oc.UCB] = {
    "number": oc.UCB(1.5),
    "expected": oc.UCB(oc.confidence.Expected(0.1, 0.2, 1.5, reward_range=3.0)),
    "sampled": oc.UCB(oc.confidence.Sampled(0.01)),
    "observed": oc.UCB(oc.confidence.Observed(noise=0.3, norm=np.float64(2.0))),
}


def _belief(rng: np.random.Generator) -> oc.Gaussian:
    return oc.Gaussian(rng.normal(size=C), rng.random(C))


def _trained(
    features: FeatureMap = MAPS["quadratic"][0],
    actions: Any = VECTORS,
    policy: oc.UCB = POLICIES["number"],
    **more: Any,
) -> tuple[oc.Bandit, list[oc.Decision]]:
    """Return a bandit that has learnt from most of its decisions, and the decisions that still wait."""
    rng = np.random.default_rng(1)
    bandit = oc.Bandit(actions, oc.LinearModel(features, 0.7), policy, **more)
    waiting = []
    for t in range(20):
        decision = bandit.decide(_belief(rng))
        if t % 4:
            bandit.learn(decision, float(rng.normal()), context=rng.normal(size=C) if t % 3 else None)
        else:
            waiting.append(decision)
    return bandit, waiting


def _same_from_here_on(one: oc.Bandit, two: oc.Bandit) -> None:
    """Compare the next decisions to the last bit, learning along the way."""
    rng = np.random.default_rng(2)
    for _ in range(15):
        belief, reward = _belief(rng), float(rng.normal())
        first, second = one.decide(belief), two.decide(belief)
        assert first.id.rpartition("-")[2] == second.id.rpartition("-")[2]
        assert (first.index, first.mean, first.width, first.score) == (
            second.index,
            second.mean,
            second.width,
            second.score,
        )
        np.testing.assert_array_equal(first.action, second.action)
        one.learn(first, reward)
        two.learn(second, reward)


def _one_line(error: BaseException, path: Path) -> None:
    message = str(error)
    assert message.startswith("Bandit: ")
    assert str(path) in message
    assert "\n" not in message


@pytest.mark.parametrize(("features", "actions"), MAPS.values(), ids=MAPS.keys())
@pytest.mark.parametrize("samples", [None, 5, "t"])
def test_the_same_decisions_afterwards(features: FeatureMap, actions: Any, samples: Any, tmp_path: Path) -> None:
    bandit, waiting = _trained(features, actions, samples=samples, seed=3)
    path = tmp_path / "bandit"
    bandit.save(path)
    loaded = oc.Bandit.load(path)
    assert (loaded.model, loaded.policy, loaded.samples) == (bandit.model, bandit.policy, bandit.samples)
    assert loaded.actions == bandit.actions
    assert loaded.state.stream.key == bandit.state.stream.key
    assert len(waiting) == 5
    for i, decision in enumerate(waiting[:4]):
        context = np.full(C, float(i)) if i % 2 else None
        bandit.learn(decision, float(i), context=context)
        loaded.learn(decision if i < 2 else decision.id, float(i), context=context)
    _same_from_here_on(bandit, loaded)
    for learner in (bandit, loaded):
        learner.learn(waiting[4].id, 1.0)
        with pytest.raises(ValueError, match="already"):
            learner.learn(waiting[0], 1.0)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_policies_come_back(policy: oc.UCB, tmp_path: Path) -> None:
    bandit, _ = _trained(policy=policy)
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    assert loaded.policy == policy
    _same_from_here_on(bandit, loaded)


@pytest.mark.parametrize("samples", [None, 5])
def test_before_the_first_decision(samples: Any, tmp_path: Path) -> None:
    bandit = oc.Bandit(VECTORS, oc.LinearModel(Quadratic(), ridge=1.0), oc.UCB(1), samples=samples, seed=8)
    bandit.save(tmp_path / "bandit")
    _same_from_here_on(bandit, oc.Bandit.load(tmp_path / "bandit"))


def test_saving_again_writes_the_same_and_changes_nothing(tmp_path: Path) -> None:
    bandit, _ = _trained(samples=5)
    bandit.save(tmp_path / "one")
    oc.Bandit.load(tmp_path / "one").save(str(tmp_path / "two"))
    bandit.save(tmp_path / "three")
    assert _arrays(tmp_path / "one") == _arrays(tmp_path / "two") == _arrays(tmp_path / "three")
    assert sorted(os.listdir(tmp_path)) == ["one", "three", "two"]


def test_a_loaded_bandit_can_be_merged(tmp_path: Path) -> None:
    bandit, _ = _trained()
    bandit.save(tmp_path / "bandit")
    whole = oc.Bandit(VECTORS, oc.LinearModel(Quadratic(), 0.7), oc.UCB(1.5))
    whole.merge(oc.Bandit.load(tmp_path / "bandit"))
    belief = _belief(np.random.default_rng(4))
    for got, expected in zip(whole.estimate(belief), bandit.estimate(belief), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "names",
    [["dry", "wet"], [3, 1], [0.5, 2], [np.int64(7), np.str_("x")], ["ünïcode", "two\nlines"]],
    ids=["strings", "integers", "numbers", "NumPy scalars", "odd strings"],
)
def test_names_come_back(names: list[Any], tmp_path: Path) -> None:
    bandit = oc.Bandit(dict(zip(names, np.eye(2), strict=True)), oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    bandit.decide([1.0])
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    assert loaded.actions == bandit.actions
    assert loaded.decide([1.0], available=[names[1]]).action == names[1]


def _arrays(path: Path) -> dict[str, bytes]:
    """Return all arrays but the marks of the instances that the file went through."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name].tobytes() for name in file.files}
    header = json.loads(arrays["header"])
    del header["tokens"]
    return arrays | {"header": json.dumps(header).encode()}


def test_the_file_holds_arrays_and_json_only(tmp_path: Path) -> None:
    bandit, _ = _trained(samples=5)
    bandit.save(tmp_path / "bandit")
    with np.load(tmp_path / "bandit", allow_pickle=False) as file:
        kinds = {name: file[name].dtype.kind for name in file.files}
        header = json.loads(file["header"].tobytes())
    assert set(kinds.values()) <= set("fiu")
    assert header["format"] == "overcast-bandit"
    assert header["version"] == 6
    assert header["key"] == bandit.state.stream.key


def _rewrite(path: Path, **changes: Any) -> None:
    """Change entries of the header; the file stays whole."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes()) | changes
    text = json.dumps(header).encode()
    with path.open("wb") as out:
        np.savez(out, allow_pickle=False, header=np.frombuffer(text, dtype=np.uint8), **arrays)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"version": 7}, "must be a bandit file of version 3 to 6, got version 7; load it with the newer overcast"),
        ({"version": 1}, "must be a bandit file of version 3 to 6, got version 1; load it with the earlier overcast"),
        ({"format": "overcast-kernel"}, "'overcast-kernel'"),
        ({"version": "one"}, "damaged"),
        ({"model": {"type": "models.Oracle"}}, "Oracle"),
        ({"model": {"type": "nowhere.LinearModel"}}, "nowhere"),
        ({"model": {"type": "models.LinearModel"}}, "damaged"),
        ({"policy": {"type": "policies.UCB", "beta": -1.0}}, "beta"),
        ({"round": "x"}, "round"),
        ({"round": -3}, "round"),
        ({"round": 9, "rewarded": 9}, "out of order"),
        ({"rewarded": -1}, "rewarded"),
        ({"rewarded": 10**6}, "never made"),
        ({"names": ["only one"]}, "damaged"),
        ({"names": ["same", "same", "same", "same"]}, "names"),
        ({"dim": 5}, "damaged"),
        ({"dim": 2.0}, "dim must be a whole number"),
        ({"dim": 0}, "dim must be >= 1"),
        ({"dim": True}, "dim must be a whole number"),
        ({"key": "12"}, "32 hexadecimal digits"),
        ({"key": "z" * 32}, "damaged"),
        ({"key": None}, "32 hexadecimal digits"),
        ({"retired": [7]}, "does not exist"),
        ({"retired": [0, 1, 2, 3]}, "all actions are retired"),
        ({"retired": [0.5]}, "retired must be a whole number"),
        ({"retired": 3}, "retired must be a list"),
        ({"observed": -1}, "observed"),
        ({"open": ["x"] * 5}, "one id"),
        ({"open": [1, 2, 3, 4, 5]}, "open must be a string"),
        ({"open": []}, "without ids"),
        ({"tokens": "abc"}, "tokens must be a list"),
        ({"dim": None}, "learnt something"),
        ({"samples": 0}, "samples"),
    ],
)
def test_headers_from_elsewhere(changes: dict[str, Any], word: str, tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _trained()[0].save(path)
    _rewrite(path)
    oc.Bandit.load(path)
    _rewrite(path, **changes)
    with pytest.raises(ValueError, match=word) as caught:
        oc.Bandit.load(path)
    _one_line(caught.value, path)


def _broken(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged") as caught:
        oc.Bandit.load(path)
    _one_line(caught.value, path)


def test_files_that_are_no_bandits(tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _broken(b"", path)
    _broken(b"PK", path)
    _broken(b"hello, world\n" * 100, path)
    _broken(json.dumps({"format": "overcast-bandit"}).encode(), path)
    _broken(b"\x80\x05" + b"garbage", path)
    rng = np.random.default_rng(5)
    for size in (1, 10, 1000, 100_000):
        _broken(rng.bytes(size), path)
        _broken(b"PK\x03\x04" + rng.bytes(size), path)
        _broken(b"\x93NUMPY\x01\x00" + rng.bytes(size), path)
    with path.open("wb") as out:
        np.save(out, np.eye(3))
    _broken(path.read_bytes(), path)
    with path.open("wb") as out:
        np.savez(out, something=np.eye(3))
    _broken(path.read_bytes(), path)
    with path.open("wb") as out:
        np.savez(out, header=np.array([{"a": 1}], dtype=object))
    _broken(path.read_bytes(), path)


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere") as caught:
        oc.Bandit.load(tmp_path / "nowhere")
    assert "\n" not in str(caught.value)
    with pytest.raises(IsADirectoryError) as refused:
        oc.Bandit.load(tmp_path)
    assert str(tmp_path) in str(refused.value)
    bandit, _ = _trained()
    with pytest.raises(FileNotFoundError):
        bandit.save(tmp_path / "no" / "such" / "folder")


def test_truncated_files(tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _trained(samples=5)[0].save(path)
    whole = path.read_bytes()
    for size in {*range(0, len(whole), max(1, len(whole) // 60)), len(whole) - 1, len(whole) - 22}:
        _broken(whole[:size], path)


@pytest.mark.parametrize("mask", [0x01, 0x08, 0x80, 0xFF])
def test_flipped_bits(mask: int, tmp_path: Path) -> None:
    """A flip is refused in one line, or sits in a field that carries nothing (a time stamp) and changes nothing."""
    path = tmp_path / "bandit"
    bandit, _ = _trained(samples=5)
    bandit.save(path)
    whole, arrays = path.read_bytes(), _arrays(path)
    directory = whole.index(b"PK\x01\x02")
    rng = np.random.default_rng(mask)
    positions = {*rng.integers(directory, size=60).tolist(), *range(30), *range(directory + mask % 5, len(whole), 5)}
    refused = 0
    for at in sorted(positions):
        flipped = bytearray(whole)
        flipped[at] ^= mask
        path.write_bytes(flipped)
        try:
            loaded = oc.Bandit.load(path)
        except ValueError as error:
            _one_line(error, path)
            refused += 1
        else:
            loaded.save(tmp_path / "again")
            assert _arrays(tmp_path / "again") == arrays
    assert refused > 0.5 * len(positions)


def test_a_failed_save_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bandit"
    bandit, waiting = _trained()
    bandit.save(path)
    before = path.read_bytes()
    bandit.learn(waiting[0], 1.0)

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left on device")

    for name in ("numpy.savez", "os.fsync", "os.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(name, full)
            with pytest.raises(OSError, match="no space left"):
                bandit.save(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["bandit"]
    bandit.save(path)
    assert path.read_bytes() != before


def _scalar(x: Array, c: Array) -> Array:
    return np.zeros((len(x), len(c), 1))


class _Mine(Bilinear):
    """A map from outside the package, under a name of its own."""


@pytest.mark.parametrize(
    ("bandit", "word"),
    [
        (oc.Bandit({("a", 1): [1.0]}, oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0)), "('a', 1)"),
        (oc.Bandit({None: [1.0]}, oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0)), "None"),
        (oc.Bandit({True: [1.0]}, oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0)), "True"),
        (
            oc.Bandit({datetime.date(2026, 1, 1): [1.0]}, oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0)),
            "datetime.date",
        ),
        (oc.Bandit({"a": [1.0], None: [2.0], (): [3.0]}, oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0)), "None"),
    ],
)
def test_what_cannot_be_stored_leaves_no_file(bandit: oc.Bandit, word: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^Bandit: save ") as caught:
        bandit.save(tmp_path / "bandit")
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []
    (tmp_path / "bandit").write_bytes(b"earlier")
    with pytest.raises(TypeError, match=r"^Bandit: save "):
        bandit.save(tmp_path / "bandit")
    assert (tmp_path / "bandit").read_bytes() == b"earlier"


@pytest.mark.parametrize(
    ("model", "policy", "missing"),
    [
        (oc.LinearModel(Function(_scalar, 1), ridge=1.0), oc.UCB(1.0), "model"),
        (oc.LinearModel(_Mine(), ridge=1.0), oc.UCB(1.0), "model"),
        (oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(math.sqrt), "policy"),
    ],
)
def test_what_is_your_own_is_given_to_load_again(
    model: oc.LinearModel, policy: oc.UCB, missing: str, tmp_path: Path
) -> None:
    path = tmp_path / "bandit"
    bandit = oc.Bandit(VECTORS, model, policy)
    belief = oc.Ensemble([[1.0, 2.0], [0.5, 1.0]])
    for reward in (1.0, -2.0, 0.5):
        bandit.learn(bandit.decide(belief), reward)
    bandit.save(path)
    with pytest.raises(ValueError, match=rf"pass it again as {missing}=$") as caught:
        oc.Bandit.load(path)
    _one_line(caught.value, path)
    given: dict[str, Any] = {"model": model} if missing == "model" else {"policy": policy}
    again = oc.Bandit.load(path, **given)
    np.testing.assert_array_equal(again.estimate(belief).mean, bandit.estimate(belief).mean)
    assert again.decide(belief).index == bandit.decide(belief).index


def test_a_saved_file_follows_the_umask(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    _trained()[0].save(tmp_path / "bandit")
    assert (tmp_path / "bandit").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_another_model_than_the_saved_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _trained()[0].save(path)
    with pytest.raises(
        ValueError, match=r"^Bandit: model must be the one that was saved, LinearModel.*0\.7.*, got .*50"
    ):
        oc.Bandit.load(path, model=oc.LinearModel(MAPS["quadratic"][0], 50.0))


def _loaded_twice(bandit: oc.Bandit, path: Path) -> tuple[oc.Bandit, oc.Bandit]:
    bandit.save(path)
    return oc.Bandit.load(path), oc.Bandit.load(path)


@pytest.mark.parametrize(
    "copies",
    [
        _loaded_twice,
        lambda bandit, _: (bandit, copy.copy(bandit)),
        lambda bandit, _: (bandit, copy.deepcopy(bandit)),
        lambda bandit, _: (bandit, pickle.loads(pickle.dumps(bandit))),
    ],
    ids=["load", "copy", "deepcopy", "pickle"],
)
def test_copies_know_the_earlier_decisions_and_not_each_others(copies: Any, tmp_path: Path) -> None:
    bandit, waiting = _trained()
    one, two = copies(bandit, tmp_path / "bandit")
    belief = _belief(np.random.default_rng(4))
    of_one, of_two = one.decide(belief), two.decide(belief)
    assert of_one.id != of_two.id
    for learner, decision in ((one, of_two), (two, of_one)):
        with pytest.raises(ValueError, match=r"^Bandit: decision must be (open|an open one of this bandit), got"):
            learner.learn(decision, 1.0)
    for learner, own in ((one, of_one), (two, of_two)):
        learner.learn(own, 1.0)
        learner.learn(waiting[0], 1.0)
        with pytest.raises(ValueError, match="already"):
            learner.learn(waiting[0], 1.0)
