from __future__ import annotations

import math
from pathlib import Path

import pytest

from overcast.datasets import files
from support import refused

ENDS = {"unix": "\n", "windows": "\r\n", "old mac": "\r"}
BOM = b"\xef\xbb\xbf"


def written(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(path: Path, *needed: str) -> list[tuple[int, dict[str, str]]]:
    return list(files.table(path, needed))


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("last", ["", "end"], ids=["ended", "not ended"])
def test_lines_are_numbered_with_the_blank_ones_and_come_without_them(tmp_path: Path, end: str, last: str) -> None:
    texts = ["", "first", "  ", "\t", "second::2", "", "  third  ", ""]
    path = written(tmp_path, end.join([*texts, last]))
    expected = [(at, text) for at, text in enumerate([*texts, last], start=1) if text.strip()]
    assert list(files.lines(path, "utf-8")) == expected


def test_a_file_may_mix_its_line_ends(tmp_path: Path) -> None:
    path = written(tmp_path, b"one\r\ntwo\nthree\rfour")
    assert list(files.lines(path, "utf-8")) == [(1, "one"), (2, "two"), (3, "three"), (4, "four")]


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n \r\n\t\n"], ids=["empty", "one", "three"])
def test_a_file_of_blank_lines_has_no_lines(tmp_path: Path, content: bytes) -> None:
    assert list(files.lines(written(tmp_path, content), "utf-8")) == []


def test_every_byte_is_a_character_of_latin_1(tmp_path: Path) -> None:
    """The code points of Latin-1 are the first 256 of Unicode."""
    others = [byte for byte in range(256) if byte not in b"\r\n"]
    ((number, text),) = files.lines(written(tmp_path, b"x" + bytes(others) + b"\n"), "latin-1")
    assert number == 1
    assert [ord(character) for character in text] == [ord("x"), *others]


@pytest.mark.parametrize("before", [0, 1, 3, 20_000], ids=lambda n: f"{n} lines before")
def test_a_byte_that_is_not_utf_8_is_reported_with_its_line(tmp_path: Path, before: int) -> None:
    head = ["site,year", *(f"Ütliberg,{i}" for i in range(20_000))]
    path = written(tmp_path, "\n".join(head[:before]).encode() + b"\n" * (before > 0) + b"Z\xfcrich,1\nBern,2\n")
    with refused(ValueError, f"{path} line {before + 1}", "expected utf-8", "got byte 0xfc"):
        list(files.lines(path, "utf-8-sig"))


@pytest.mark.parametrize("bom", [b"", BOM], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_cells_come_by_column_with_the_number_of_their_line(tmp_path: Path, bom: bytes, end: str) -> None:
    text = end.join(["", "year,site,rain", "2001, Zürich ,1.5", "", "2002,Bern,"])
    found = rows(written(tmp_path, bom + text.encode()), "site", "year")
    assert found == [
        (3, {"year": "2001", "site": "Zürich", "rain": "1.5"}),
        (5, {"year": "2002", "site": "Bern", "rain": ""}),
    ]


def test_commas_and_quotes_stand_between_quotes(tmp_path: Path) -> None:
    path = written(tmp_path, '"site, or place","year"\n"Bern, east","2001"\n"the ""hill""",2002\n"",2003\n')
    assert [row["site, or place"] for _, row in rows(path, "site, or place", "year")] == [
        "Bern, east",
        'the "hill"',
        "",
    ]


def test_a_header_alone_has_no_rows(tmp_path: Path) -> None:
    assert rows(written(tmp_path, "site,year\n\n"), "site", "year") == []


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("", 1, ["site is missing", "found none"]),
        ("\n\n", 1, ["site is missing", "found none"]),
        ("place,year\nBern,2001\n", 1, ["site is missing", "found place, year"]),
        ("\n\nsite,jahr\nBern,2001\n", 3, ["year is missing", "found site, jahr"]),
        ("Site,Year\nBern,2001\n", 1, ["site is missing", "found Site, Year"]),
        ("site;year\nBern;2001\n", 1, ["site is missing", "found site;year"]),
        ("site,year,rain,rain\nBern,2001,1,2\n", 1, ["twice", "found site, year, rain, rain"]),
        ("site,year,site\nBern,2001,Thun\n", 1, ["twice", "found site, year, site"]),
        ("site,year\nBern,2001\n\nThun\n", 4, ["expected 2 cells, got 1"]),
        ("site,year\nBern,2001\nThun,2001,3\n", 3, ["expected 2 cells, got 3"]),
        ('site,year\r\n"Bern,2001"\r\n', 2, ["expected 2 cells, got 1"]),
        ("site,year\nBern,2001,\n", 2, ["expected 2 cells, got 3"]),
    ],
    ids=[
        "empty file",
        "blank file",
        "other column",
        "other column after blank lines",
        "capitals",
        "semicolons",
        "factor twice",
        "needed column twice",
        "too few cells",
        "too many cells",
        "quoted comma",
        "comma at the end",
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path: Path, content: str, line: int, words: list[str]) -> None:
    path = written(tmp_path, content)
    columns = ["expected columns site, year"] if "cells" not in words[0] else []
    with refused(ValueError, f"{path} line {line}", *columns, *words):
        rows(path, "site", "year")


def test_a_cell_longer_than_the_reader_of_csv_takes_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "site,year\nBern,2001\n" + "x" * 200_000 + ",2002\n")
    with refused(ValueError, f"{path} line 3", "131072"):
        rows(path, "site", "year")


@pytest.mark.parametrize("text", ["0", "-1.5", "+2", ".5", "7.", "1e3", "-2.5E-3", "121.2"])
def test_numbers_are_read(text: str) -> None:
    sign = -1.0 if text.startswith("-") else 1.0
    digits, _, power = text.lower().lstrip("+-").partition("e")
    before, _, after = digits.partition(".")
    value = sign * int(before + after) * 10.0 ** (int(power or 0) - len(after))
    assert files.real(Path("t.csv"), 1, "rain", text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["", "NA", "1,5", "1.5 mm", "--1", "nan", "NaN", "inf", "-inf", "Infinity", "1e999"])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with refused(ValueError, "t.csv line 7", f"rain must be a number, got {text!r}"):
        files.real(Path("t.csv"), 7, "rain", text)


@pytest.mark.parametrize("text", ["0", "2005", "-44", "+7", "007"])
def test_whole_numbers_are_read(text: str) -> None:
    value = 0
    for digit in text.lstrip("+-"):
        value = 10 * value + "0123456789".index(digit)
    assert files.whole(Path("t.csv"), 1, "year", text) == math.copysign(value, -1 if text[0] == "-" else 1)


@pytest.mark.parametrize("text", ["", "2005.0", "1e3", "MMV", "20 05", "nan", "inf", "0x10"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with refused(ValueError, "t.csv line 7", f"year must be a whole number, got {text!r}"):
        files.whole(Path("t.csv"), 7, "year", text)


def test_a_number_with_a_line_end_is_refused_on_one_line() -> None:
    with refused(ValueError, "t.csv line 2", r"got 'a\nb'"):
        files.real(Path("t.csv"), 2, "rain", "a\nb")


def test_files_are_found_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "c.csv"):
        written(tmp_path, "", name)
    assert files.find(tmp_path, ("b.csv", "a.csv"), "b.csv and a.csv") == [tmp_path / "b.csv", tmp_path / "a.csv"]


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    written(tmp_path, "", "a.csv")
    with refused(FileNotFoundError, str(tmp_path), "expected a.csv and b.csv", "b.csv is missing"):
        files.find(tmp_path, ("a.csv", "b.csv"), "a.csv and b.csv")


def test_a_folder_in_the_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with refused(FileNotFoundError, str(tmp_path), "expected a.csv", "a.csv is missing"):
        files.find(tmp_path, ("a.csv",), "a.csv")


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "nowhere"
    with refused(FileNotFoundError, str(folder), "expected a folder with a.csv", "found nothing"):
        files.find(folder, ("a.csv",), "a.csv")


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "", "a.csv")
    with refused(FileNotFoundError, str(path), "expected a folder with a.csv", "found a file"):
        files.find(path, ("a.csv",), "a.csv")


def test_comments_may_stand_before_the_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "# station 11120, Innsbruck\n\n  # units: degrees\nobs;m1\n1,5;2,0\n#3;4\n")
    assert files.delimiter(path) == ";"
    assert list(files.table(path, ["obs"], ";")) == [(5, {"obs": "1.5", "m1": "2.0"}), (6, {"obs": "#3", "m1": "4"})]
    assert list(files.table(written(tmp_path, "# nothing else\n"), [])) == []
