"""The picture of a decision."""

from __future__ import annotations

from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import overcast as oc

matplotlib.use("Agg")


def _decided(policy: Any, k: int = 3, **options: Any) -> oc.Decision:
    rng = np.random.default_rng(0)
    names = {f"action number {i}": rng.normal(size=2) for i in range(k)}
    bandit = oc.Bandit(names, oc.LinearModel(oc.features.Bilinear()), policy, **options)
    for _ in range(20):
        bandit.learn(bandit.decide(oc.Gaussian(rng.normal(size=2), 0.3)), float(rng.normal()))
    return bandit.decide(oc.Gaussian([0.5, 0.5], 0.3), available=list(names)[:-1])


def _texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def _whiskers(ax: Any) -> list[float]:
    """Return half the length of each whisker."""
    return [float(np.ptp(path.vertices[:, 0])) / 2.0 for path in ax.collections[0].get_paths()]


def test_means_whiskers_and_scores_are_those_of_the_decision() -> None:
    decision = _decided(oc.UCB(2.0), 4)
    ax: Any = decision.plot()
    options = decision.top(9)
    assert _texts(ax) == [option.action for option in options]
    assert len(options) == 3  # one is not available
    np.testing.assert_allclose(_whiskers(ax), [2.0 * option.width for option in options])
    _, *others, chosen, scores = [line.get_xdata() for line in ax.lines]
    np.testing.assert_allclose(chosen, [decision.mean])
    np.testing.assert_allclose(others[-1], [option.mean for option in options[1:]])
    np.testing.assert_allclose(scores, [option.score for option in options])
    assert ax.get_title(loc="left") == f"◆ {decision.action} is chosen"
    plt.close("all")


@pytest.mark.parametrize(
    ("policy", "times", "label"),
    [
        (oc.Thompson(0.5), 0.5, "mean ± 0.5 widths, score │"),
        (oc.Greedy(), 1.0, "mean ± width, score │"),
        (oc.IDS(3.0), 3.0, "mean ± 3 widths"),
        (oc.EpsilonGreedy(0.5), 1.0, "mean ± width"),
    ],
    ids=repr,
)
def test_whiskers_of_other_policies_are_multiples_of_the_width(policy: Any, times: float, label: str) -> None:
    decision = _decided(policy)
    ax: Any = decision.plot()
    np.testing.assert_allclose(_whiskers(ax), [times * option.width for option in decision.top(9)])
    assert ax.get_xlabel() == f"expected reward: {label}"
    assert ("with probability" in ax.get_title(loc="left")) == isinstance(policy, oc.EpsilonGreedy)
    plt.close("all")


def test_of_many_actions_the_best_are_drawn_and_the_rest_counted() -> None:
    decision = _decided(oc.UCB(), 3706)
    ax = decision.plot(plt.subplots()[1])
    assert _texts(ax) == [option.action for option in decision.top(15)]
    assert "3,690 actions with lower scores are left out" in ax.get_xlabel()
    plt.close("all")


def test_a_record_knows_too_little() -> None:
    record = oc.Decision.from_json(_decided(oc.UCB()).to_json())
    with pytest.raises(ValueError, match="plot needs the scores of all actions, got a record"):
        record.plot()


def test_long_names_leave_the_title_to_how_it_was_chosen() -> None:
    short, long = (
        oc.Bandit([f"{name} {i}" for i in range(2)], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()).decide([1.0])
        for name in ("a", "a rather long name of an action")
    )
    titles = [decision.plot(plt.subplots()[1]).get_title(loc="left") for decision in (short, long)]
    assert titles == ["◆ a 0 is chosen", "◆ chosen"]
    plt.close("all")
