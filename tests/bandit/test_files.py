"""What a bandit remembers, in files that are checked to the last byte and that cannot hurt."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from life_support import CONFIGS, Life
from memory_support import differences, memory_of, unchanged
from overcast.bandit import files
from overcast.features import Bilinear, Quadratic


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_file_holds_all_to_the_last_bit(name: str, seed: int, tmp_path: Path) -> None:
    """Also of what is learnt afterwards."""
    life = Life(name, seed)
    life.live(40)
    life.bandit.save(tmp_path / "bandit")
    again = oc.Bandit.load(tmp_path / "bandit")
    assert differences(again, life.bandit) == []
    known = len(life.events)
    life.live(20)
    for event in life.events[known:]:
        oc.events.apply(again, event)
    assert differences(again, life.bandit) == []


def _saved(path: Path, bandit: oc.Bandit | None = None) -> oc.Bandit:
    if bandit is None:
        bandit = oc.Bandit({"a": [1.0, 0.0], "b": [0.0, 1.0]}, oc.LinearModel(Bilinear()), oc.UCB())
        for t in range(6):
            decision = bandit.decide(oc.Gaussian([float(t), 1.0], 0.3))
            if t % 2:
                bandit.learn(decision, 1.0)
    bandit.save(path)
    return bandit


def _refused(path: Path, *words: str) -> None:
    with pytest.raises(ValueError, match=r"^Bandit: [^\n]+$") as caught:
        oc.Bandit.load(path)
    assert "damaged" in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_every_bit_of_a_large_file_is_checked(tmp_path: Path) -> None:
    """The shape of an array may be wrong in a way that fits a shorter one: 3706 actions as 1706."""
    path = tmp_path / "bandit"
    _saved(path, oc.Bandit(np.random.default_rng(0).normal(size=(3706, 6)), oc.LinearModel(Bilinear()), oc.UCB()))
    whole = path.read_bytes()
    at = whole.index(b"(3706, 6)") + 1
    flipped = bytearray(whole)
    flipped[at] ^= ord("3") ^ ord("1")
    path.write_bytes(flipped)
    _refused(path, "CRC")
    rng = np.random.default_rng(1)
    start = whole.index(b"actions.npy")
    for at in rng.integers(start + 100, start + 8 * 3706 * 6, size=40):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        _refused(path)


def test_arrays_that_no_bandit_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _saved(path)
    members = _members(path)
    for name in ("junk.npy", "learner.junk.npy", "open.junk.npy", "recalibrate.rows.npy", "header2.npy", "../up.npy"):
        _write(path, members | {name: _npy(np.zeros(3))})
        _refused(path)
    _write(path, members)
    oc.Bandit.load(path)


def test_a_small_file_cannot_ask_for_much_memory(tmp_path: Path) -> None:
    """1.2 GB of zeros in 1.2 MB, a header that promises a terabyte, and one member under many names."""
    path = tmp_path / "bandit"
    _saved(path)
    members = _members(path)
    zeros = _npy(np.zeros(150_000_000 // 10))
    bombs = []
    for name in ("learner.psi.npy", "junk.npy", "actions.npy"):
        _write(path, members | {name: zeros}, zipfile.ZIP_DEFLATED)
        bombs.append(path.read_bytes())
    promise = bytearray(_npy(np.zeros((2, 2))))
    promise = promise.replace(b"(2, 2)", b"(2, 9)")
    for shape in (b"(99999999999, 9)", b"(-1, 2)"):
        header = _npy(np.zeros((2, 2)))
        length = int.from_bytes(header[8:10], "little")
        text = header[10 : 10 + length].replace(b"(2, 2)", shape)
        content = header[:8] + len(text).to_bytes(2, "little") + text + header[10 + length :]
        _write(path, members | {"actions.npy": content})
        bombs.append(path.read_bytes())
    _write(path, members | {"actions.npy": bytes(promise)})
    bombs.append(path.read_bytes())
    for bomb in bombs:
        assert len(bomb) < 2_000_000
        path.write_bytes(bomb)
        tracemalloc.start()
        try:
            _refused(path)
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, 10**400) for name in ("round", "rewards", "observed", "samples")),
        ("learner.noise2", 0.0),
        ("learner.ridge", -1.0),
        ("recalibrate.rows", 1e200),
        ("recalibrate.corrections", 1e200),
        ("recalibrate.lengths", -1),
    ],
)
def test_numbers_that_no_bandit_has_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    """Also if all checksums are right."""
    path = tmp_path / "bandit"
    bandit = oc.Bandit(np.eye(2), oc.LinearModel(Bilinear()), oc.UCB(), recalibrate=True)
    for t in range(6):
        bandit.learn(bandit.decide(oc.Gaussian([float(t), 1.0], 0.3)), 1.0 + t % 3, context=[t + 1.0, 1.0])
    bandit.save(path)
    members = _members(path)
    if f"{name}.npy" in members:
        array = np.load(io.BytesIO(members[f"{name}.npy"]))
        members[f"{name}.npy"] = _npy(np.full_like(array, value))
    else:
        header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes())
        text = json.dumps(header | {name: value})
        members["header.npy"] = _npy(np.frombuffer(text.encode(), dtype=np.uint8))
    _write(path, members)
    _refused(path)


def test_one_member_under_many_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _saved(path)
    members = _members(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr("learner.big.npy", _npy(np.zeros(50_000)))
        big = archive.getinfo("learner.big.npy")
        for i in range(100):  # further entries of the directory that point to the same bytes
            twin = zipfile.ZipInfo(f"learner.big{i}.npy")
            for name in ("header_offset", "file_size", "compress_size", "CRC", "compress_type"):
                setattr(twin, name, getattr(big, name))
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
    _refused(path, "longer than the file")


@pytest.mark.parametrize("dim", [10**4, 10**5, 10**9, 10**400])
@pytest.mark.parametrize("name", ["ridge", "learnt", "polynomial", "disjoint", "kernel", "profile"])
def test_a_dimension_that_would_take_much_memory_is_refused(name: str, dim: int, tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    life = Life(name, 0)
    life.live(10)
    _saved(path, life.bandit)
    members = _members(path)
    header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes()) | {"dim": dim}
    text = json.dumps(header).encode()
    _write(path, members | {"header.npy": _npy(np.frombuffer(text, dtype=np.uint8))})
    tracemalloc.start()
    try:
        _refused(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "array", "word"),
    [
        ("open.action.npy", np.array([-1, 0, 0]), "does not exist"),
        ("open.action.npy", np.array([0, 0, 9]), "does not exist"),
        ("open.round.npy", np.array([1, 1, 3]), "out of order"),
        ("open.round.npy", np.array([-4, 1, 3]), "out of order"),
        ("actions.npy", np.array([[1.0, np.nan], [0.0, 1.0]]), "not finite"),
        ("actions.npy", np.array([["1", "2"], ["3", "4"]]), "plain numbers"),
        ("actions.npy", np.zeros((2, 2), dtype=complex), "plain numbers"),
        ("actions.npy", np.zeros((0, 2)), "shape"),
        ("reference.npy", np.zeros((2, 3)), "reference"),
        ("learner.theta.npy", np.zeros(99), "theta"),
        ("learner.unseen.npy", np.zeros((1, 3, 2)), "unseen"),
    ],
)
def test_hostile_arrays(name: str, array: Any, word: str, tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _saved(path)
    _write(path, _members(path) | {name: _npy(array)})
    _refused(path, word)


def test_a_header_that_is_nested_without_end(tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _saved(path)
    members = _members(path)
    header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes())
    text = json.dumps(header).replace('"samples": null', f'"samples": {"[" * 5000}{"]" * 5000}')
    _write(path, members | {"header.npy": _npy(np.frombuffer(text.encode(), dtype=np.uint8))})
    _refused(path)
    deep: Any = 1.0
    for _ in range(400):
        deep = {"type": "models.MeanContext", "model": deep}
    text = json.dumps(header | {"model": deep})
    _write(path, members | {"header.npy": _npy(np.frombuffer(text.encode(), dtype=np.uint8))})
    _refused(path)


def test_what_would_not_load_is_not_saved(tmp_path: Path) -> None:
    """Evidence that is not finite is refused when it arises, and by `save` in any case."""
    path = tmp_path / "bandit"
    bandit = oc.Bandit([[1.0], [2.0]], oc.LinearModel(Quadratic()), oc.UCB())
    _saved(path, bandit)
    before = path.read_bytes()
    with np.errstate(all="ignore"), unchanged(bandit), pytest.raises(ValueError, match="scale the contexts"):
        bandit.decide(oc.Gaussian([1.0], 1e308))
    decision = bandit.decide([1.0])
    waiting = bandit.state.pending.open[decision.id]
    bandit.state.pending.open[decision.id] = waiting._replace(
        evidence=waiting.evidence._replace(psi=np.full(3, np.inf))
    )
    with pytest.raises(ValueError, match=r"^Bandit: save needs finite numbers, got others in open\.evidence\.psi; "):
        bandit.save(path)
    assert path.read_bytes() == before
    bandit.forget(decision)
    bandit.save(path)
    assert differences(oc.Bandit.load(path), bandit) == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are those of POSIX")
def test_saving_keeps_the_mode_and_the_link(tmp_path: Path) -> None:
    target, link = tmp_path / "bandit", tmp_path / "link"
    _saved(target)
    target.chmod(0o640)
    link.symlink_to(target)
    _saved(link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["bandit", "link"]
    oc.Bandit.load(link)


def test_a_bandit_as_bytes() -> None:
    life = Life("learnt", 3)
    life.live(20)
    assert differences(oc.Bandit.from_bytes(life.bandit.to_bytes()), life.bandit) == []
    with pytest.raises(ValueError, match=r"^Bandit: the content must be a file that save\(\) wrote; it is damaged: "):
        oc.Bandit.from_bytes(b"nothing")


def test_marks_are_all_that_differs_between_copies(tmp_path: Path) -> None:
    bandit = _saved(tmp_path / "bandit")
    again = oc.Bandit.load(tmp_path / "bandit")
    assert memory_of(again) == memory_of(bandit)
    (mine, _), (theirs, _) = (files.written(one.state) for one in (bandit, again))
    assert {name for name in mine if mine[name] != theirs[name]} == {files.MARKS}
