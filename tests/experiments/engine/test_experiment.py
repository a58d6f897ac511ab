"""The seven curves, and the work they are divided into."""

from __future__ import annotations

from overcast.experiments.engine.experiment import CURVES, Experiment


def test_figure_has_the_seven_curves_of_the_paper() -> None:
    assert [(curve.setting, curve.samples) for curve in CURVES] == [
        ("exact", None),
        ("observed", 10),
        ("observed", 100),
        ("observed", None),
        ("hidden", 10),
        ("hidden", 100),
        ("hidden", None),
    ]


def test_parts_cover_every_trial_of_every_curve_and_beta_once(small: Experiment) -> None:
    parts = list(small.parts())
    assert len({part.key for part in parts}) == len(parts)
    seen: dict[tuple[str, float | None], list[int]] = {}
    for part in parts:
        seen.setdefault((part.curve.key, part.beta), []).extend(range(part.first, part.first + part.trials))
    assert len(seen) == len(CURVES) * 2
    assert all(trials == list(range(small.trials)) for trials in seen.values())


def test_betas_that_are_nearly_equal_have_parts_of_their_own(small: Experiment) -> None:
    keys = [part.key for part in small.tuned_over((1.0, 1.0000001)).parts()]
    assert len(set(keys)) == len(keys)
