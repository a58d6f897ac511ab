"""The three panels of figure 1 side by side, from the command to its files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import surprise  # type: ignore[import-untyped]
from matplotlib.figure import Figure

from experiment_support import line_of
from overcast.experiments.engine.experiment import CURVES
from overcast.experiments.engine.outcome import Outcome
from overcast.experiments.figures import reproduce as reproduce_module
from overcast.experiments.figures.drawing import draw_all, final_regrets
from overcast.experiments.figures.problems import synthetic

Command = Callable[..., tuple[int, str, str]]

TITLES = ["Synthetic example", "Generated population, not MovieLens", "Generated crop trials"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figure-1")


@pytest.fixture(scope="module")
def drawn() -> list[Figure]:
    """The figures of panels side by side, as the command draws them."""
    return []


@pytest.fixture(scope="module")
def printed(less_data: None, command: Command, out: Path, drawn: list[Figure]) -> str:
    """What the command printed; its files are in `out`."""

    def draw(outcomes: list[Outcome]) -> Figure:
        drawn.append(draw_all(outcomes))
        return drawn[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce_module, "draw_all", draw)
        code, text, error = command(
            "reproduce", "all", "--quick", "--trials", "3", "--steps", "20", "--workers", "1", "--out", out
        )
    assert (code, error) == (0, "")
    return text


@pytest.fixture
def figure(printed: str, drawn: list[Figure]) -> Figure:
    (only,) = drawn
    return only


@pytest.fixture
def page(printed: str, out: Path) -> str:
    return (out / "all" / "report.html").read_text().replace("\u00a0", " ")


@pytest.mark.usefixtures("printed")
def test_every_experiment_has_its_folder_and_all_have_one_together(out: Path) -> None:
    assert {path.name for path in out.iterdir()} == {"synthetic", "movielens", "crops", "all"}
    assert {path.name for path in (out / "all").iterdir()} == {
        "figure.png",
        "figure.pdf",
        "report.html",
        "summary.json",
    }
    for name in ("synthetic", "movielens", "crops"):
        summary = json.loads((out / name / "summary.json").read_text())
        assert (summary["experiment"], summary["trials"], summary["steps"]) == (name, 3, 20)
        assert summary in json.loads((out / "all" / "summary.json").read_text())["experiments"]


def test_tables_come_in_the_order_of_the_panels_and_the_last_line_names_the_figure(printed: str, out: Path) -> None:
    headings = [line for line in printed.splitlines() if ": 3 trials of 20 steps, data " in line]
    assert [heading.partition(":")[0] for heading in headings] == TITLES
    last = printed.splitlines()[-1]
    assert str(out / "all" / "report.html") in last
    assert str(out / "all" / "figure.png") in last


def test_panels_are_titled_and_generated_data_is_called_so(figure: Figure) -> None:
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert [title.splitlines()[0] for title in titles] == [
        f"({letter}) {title}" for letter, title in zip("abc", TITLES, strict=True)
    ]
    assert [title.splitlines()[1] for title in titles] == [
        "3 trials, β = 2 (exact), 2 (observed), 10 (hidden)",
        "3 trials, β = 1",
        "3 trials, β = 1",
    ]


def test_one_legend_names_every_curve_once(figure: Figure) -> None:
    (legend,) = figure.legends
    assert sorted(text.get_text() for text in legend.get_texts()) == sorted(curve.label for curve in CURVES)
    assert all(ax.get_legend() is None for ax in figure.axes)


def test_every_panel_draws_the_seven_curves(figure: Figure) -> None:
    lines = [line.get_label() for ax in figure.axes for line in ax.get_lines()]
    assert sorted(map(str, lines)) == sorted(3 * [curve.label for curve in CURVES])


def test_nothing_in_the_figure_overlaps_or_is_cut(figure: Figure) -> None:
    """Titles, ticks, axes labels and legend, as they lie after the layout is done."""
    figure.draw_without_rendering()
    (legend,) = figure.legends
    boxes = [legend.get_window_extent()]
    boxes += [box for ax in figure.axes if (box := ax.get_tightbbox()) is not None]
    page = figure.bbox
    for i, box in enumerate(boxes):
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
        for other in boxes[:i]:
            assert box.x0 >= other.x1 or other.x0 >= box.x1 or box.y0 >= other.y1 or other.y0 >= box.y1


@pytest.mark.usefixtures("printed")
def test_the_figure_is_a_wide_picture(out: Path) -> None:
    pixels = matplotlib.image.imread(out / "all" / "figure.png")
    height, width = pixels.shape[:2]
    assert width > 2 * height > 800
    assert pixels[..., :3].std() > 0.05
    assert (out / "all" / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_the_report_has_a_section_for_each_panel(page: str, out: Path) -> None:
    headings = re.findall(r"<h[1-6][^>]*>([^<]+)</h[1-6]>", page)
    assert headings[0] == "Figure 1"
    assert [heading for heading in headings if heading in TITLES] == TITLES
    assert page.count("<svg") == 1
    for letter in "abc":
        assert f"What the paper says about figure 1{letter}" in page
    places = []
    for name in ("synthetic", "movielens", "crops"):
        summary = json.loads((out / name / "summary.json").read_text())
        places.append(page.index(summary["data"]))
        for claim in summary["claims"]:
            assert claim["evidence"] in page
        for variant in summary["variants"]:
            assert f"<td>{variant['regret']['mean']:,.1f} ± {variant['regret']['two_se']:,.1f}</td>" in page
    assert places == sorted(places)


def test_the_report_needs_nothing_but_itself(page: str) -> None:
    links = re.findall(r"""(?:src|href)\s*=\s*["']([^"']+)|url\(([^)]+)\)|@import""", page)
    assert all((link or target).startswith("#") for link, target in links)
    assert "<script" not in page


def test_the_report_says_in_the_picture_that_data_is_generated(page: str) -> None:
    """Text is drawn as outlines, each with a comment that says what it reads."""
    picture = page[page.index("<svg") : page.index("</svg>")]
    for letter, title in zip("abc", TITLES, strict=True):
        assert f"<!-- ({letter}) {title} -->" in picture


def test_a_panels_title_tells_every_beta_that_tuning_picked() -> None:
    """The shared legend has no room for them: samples of one setting may differ."""
    betas = {("exact", None): 0.5, ("observed", None): 2.0, ("hidden", 10): 10.0, ("hidden", None): 5.0}
    flat = np.zeros((2, 3))
    lines = tuple(line_of(curve, betas.get((curve.setting, curve.samples), 2.0), flat) for curve in CURVES)
    outcome = Outcome(replace(synthetic(), trials=2, steps=3), lines, 0.0, 0.0)
    title = draw_all([outcome, outcome]).axes[0].get_title()
    told = {word.strip(",()") for word in re.split(r"[\s/–]+", title.partition("β")[2])}
    assert {"0.5", "2", "5", "10"} <= told


@pytest.mark.usefixtures("less_data")
@pytest.mark.parametrize("wrong", ["no crops", "no history"])
def test_what_is_wrong_with_any_data_is_said_before_the_long_work(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """The embedding of the first data set takes a minute; the second must be looked at before."""

    def refuse(*args: object) -> None:
        raise AssertionError("movies are embedded before the trials of crops are read")

    monkeypatch.setattr(surprise.SVD, "fit", refuse)
    if wrong == "no crops":
        folder = tmp_path / "data" / "ml-1m"
        folder.mkdir(parents=True)
        (folder / "users.dat").write_text("1::F::35::3::8001\n2::M::18::7::8002\n")
        (folder / "movies.dat").write_text("1::An Invented Film (2031)::Comedy\n2::Another One (2032)::Action\n")
        (folder / "ratings.dat").write_text("1::1::5\n1::2::3\n2::1::4\n2::2::1\n")
        args, message = ["--data", str(tmp_path / "data")], f"{tmp_path / 'data'}: expected "
    else:
        args, message = ["--belief", "climatology"], "crops: a climatology needs "
    code, text, error = command("reproduce", "all", *args, "--workers", "1", "--out", tmp_path / "out")
    assert (code, text) == (1, "")
    assert error.startswith(f"overcast: {message}")
    assert error.count("\n") == 1


def test_report_needs_nothing_but_itself(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    links = re.findall(r"""(?:src|href)\s*=\s*["']([^"']+)|url\(([^)]+)\)|@import""", page)
    assert all((link or target).startswith("#") for link, target in links)
    assert "<script" not in page


def test_report_shows_curves_table_settings_and_time(outcome: Outcome, folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "<svg" in page
    for label, beta, regret, expected in final_regrets(outcome):
        assert f"<td>{label}</td><td>{beta}</td><td>{regret}</td><td>{expected}</td>" in page
    assert "Synthetic(k=100, dim=5, noise=0.1, variance=1.0)" in page
    assert "LinearModel(features=Quadratic(), ridge=1.0)" in page
    assert "generated from the seed" in page
    assert re.search(r"this run</td><td>\d+\.\d s", page)
    assert len(re.findall(r'class="picked( least)?"', page)) == len(CURVES)
    assert len(re.findall(r'class="(picked )?least"', page)) == len(CURVES)
