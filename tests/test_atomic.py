"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from overcast import _atomic

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and locks are those of POSIX")


def _write(path: Path, content: bytes) -> None:
    def fill(file: IO[bytes]) -> None:
        file.write(content)

    _atomic.replace(path, fill)


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"one", b"two"):
        _write(path, content)
        assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["file"]


def test_a_failure_leaves_the_former_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    _write(path, b"one")

    def fails(file: IO[bytes]) -> None:
        file.write(b"half")
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        _atomic.replace(path, fails)
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["file"]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_stays(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    path.chmod(mode)
    _write(path, b"two")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_a_new_file_has_the_mode_that_others_get(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    _write(tmp_path / "file", b"one")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    target.write_bytes(b"one")
    link.symlink_to(target)
    _write(link, b"two")
    assert link.is_symlink()
    assert target.read_bytes() == b"two"
    assert sorted(os.listdir(tmp_path / "far")) == ["target"]


SCRIPT = """
import signal, os, sys
from overcast import _atomic
def half(file):
    file.write(b"half")
    file.flush()
    print("now", flush=True)
    signal.pause()
_atomic.replace(sys.argv[1], half)
"""


@posix
def test_what_a_killed_process_leaves_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    _write(path, b"one")
    both = [
        subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "now\n"
        both[0].send_signal(signal.SIGKILL)
        both[0].wait()
        assert path.read_bytes() == b"one"
        assert len(os.listdir(tmp_path)) == 3
        _write(path, b"two")
        assert path.read_bytes() == b"two"
        assert len(os.listdir(tmp_path)) == 2  # that of the other process, which lives
    finally:
        both[1].kill()
        for process in both:
            process.communicate()
    _write(path, b"three")
    assert os.listdir(tmp_path) == ["file"]


def test_writers_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    path, contents = tmp_path / "file", [bytes([65 + i]) * 50_000 for i in range(8)]

    def write(content: bytes) -> None:
        for _ in range(30):
            _write(path, content)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            assert path.read_bytes() in contents
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["file"]
