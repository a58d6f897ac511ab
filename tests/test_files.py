from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from overcast._files import replacing, write_figure, write_text


def test_text_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for text in ("first ± 1\n", "second\n"):
        write_text(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [False, True])
def test_a_failure_half_way_leaves_what_was_there(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "a.txt"
    if there:
        path.write_text("old")

    def stopped() -> None:
        with replacing(path) as file:
            file.write(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert [(found, found.read_text()) for found in tmp_path.iterdir()] == ([(path, "old")] if there else [])


def test_a_full_disk_leaves_what_was_there_and_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.txt'$"):
        write_text(path, "new")
    assert [(found, found.read_text()) for found in tmp_path.iterdir()] == [(path, "old")]


def test_a_folder_that_is_not_there_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere/a\.txt'$"):
        write_text(tmp_path / "nowhere" / "a.txt", "new")


def test_readers_find_a_whole_file_while_two_write(tmp_path: Path) -> None:
    """The two write lists of different lengths; without care a reader soon finds a part of one."""
    path = tmp_path / "a.json"
    texts = [json.dumps(list(range(n))) for n in (2_000, 20_000)]
    write_text(path, texts[0])

    def write(text: str) -> None:
        for _ in range(40):
            write_text(path, text)

    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(write, text) for text in texts]
        while not all(future.done() for future in writing):
            assert path.read_text() in texts
        for future in writing:
            future.result()


posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and locks are those of POSIX")


@posix
def test_mode_and_symlink_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


@posix
def test_a_new_file_has_the_mode_that_others_get(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


@posix
def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_text(path, "new")
    assert path.is_fifo()
    assert os.read(reader, 100) == b"new"
    os.close(reader)


def test_other_files_with_a_similar_name_stay(tmp_path: Path) -> None:
    (tmp_path / "a.txt.my-notes.partial").write_text("mine")
    (tmp_path / "a.txt.0123abcd.partial").write_text("left behind")
    write_text(tmp_path / "a.txt", "new")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "a.txt.my-notes.partial"]


SCRIPT = """
import signal, sys
from overcast._files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("now", flush=True)
    signal.pause()
"""


@posix
def test_what_a_killed_process_leaves_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "one")
    both = [
        subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "now\n"
        both[0].send_signal(signal.SIGKILL)
        both[0].wait()
        assert path.read_text() == "one"
        assert len(os.listdir(tmp_path)) == 3
        write_text(path, "two")
        assert path.read_text() == "two"
        assert len(os.listdir(tmp_path)) == 2  # that of the other process, which lives
    finally:
        both[1].kill()
        for process in both:
            process.communicate()
    write_text(path, "three")
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")])
def test_the_ending_tells_the_format_of_a_figure(tmp_path: Path, name: str, begins: bytes) -> None:
    write_figure(Figure(), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_figure_without_an_ending_is_a_png(tmp_path: Path) -> None:
    write_figure(Figure(), tmp_path / "a")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_format_that_does_not_exist_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="docx"):
        write_figure(Figure(), tmp_path / "a.docx")
    assert not list(tmp_path.iterdir())
