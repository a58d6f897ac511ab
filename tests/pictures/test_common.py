"""What pictures share."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import overcast as oc
from overcast.pictures import common

matplotlib.use("Agg")


def test_axes_that_are_given_are_taken() -> None:
    figure, ax = plt.subplots()
    assert common.axes("X", ax) is ax
    assert common.axes("X", None).figure is not figure
    plt.close("all")


def test_ink_shows_on_the_ground_of_the_axes() -> None:
    with plt.style.context("dark_background"):
        dark = plt.subplots()[1]
    light = plt.subplots()[1]
    assert matplotlib.colors.to_rgb(common.ink(dark)) == (1.0, 1.0, 1.0)  # also after the style has ended
    assert matplotlib.colors.to_rgb(common.ink(light)) == (0.0, 0.0, 0.0)
    plt.close("all")


def _kept() -> oc.Bandit:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), history=5)
    bandit.learn(bandit.decide([1.0]), 1.0)
    return bandit


@pytest.mark.parametrize(
    ("owner", "call"),
    [
        ("Decision", lambda: _kept().decide([1.0]).plot()),
        ("Gaussian", lambda: oc.Gaussian([1.0], 1.0).plot()),
        ("History", lambda: _kept().plot()),
        ("Runs", lambda: oc.Runs.plot(None)),  # type: ignore[arg-type]
    ],
)
def test_without_matplotlib_the_error_names_the_extra(owner: str, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError) as error:
        call()
    assert str(error.value) == f"{owner}: plot needs matplotlib; install it with pip install 'overcast[plot]'"


def test_colours_stand_out_on_white_and_on_black() -> None:
    """The contrast, as WCAG defines it, is at least 2.6 on both; marks differ in form too."""
    for name in (common.MAIN, common.OTHER):
        channels = np.array(matplotlib.colors.to_rgb(name))
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        luminance = float(linear @ [0.2126, 0.7152, 0.0722])
        assert min(1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05) > 2.6
