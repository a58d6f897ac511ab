from __future__ import annotations

import errno
import json
import os
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


@pytest.mark.skipif(os.name != "posix", reason="needs modes and symlinks")
def test_mode_and_symlink_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


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
