"""The season that the demo tells."""

from __future__ import annotations

import numpy as np

from overcast.experiments.figures import story


def test_the_season_is_paid_by_what_came() -> None:
    season = story.play(days=30)
    assert season.members.shape == (30, story.MEMBERS)
    assert all(rain in row for rain, row in zip(season.rain, season.members, strict=True))
    for i, amount in enumerate(story.AMOUNTS):
        water = amount + season.rain
        by_hand = 40.0 - 40.0 * ((water - 6.0) / 6.0) ** 2 - 0.8 * amount
        np.testing.assert_allclose(season.earned[:, i], by_hand)
    totals = season.earned.sum(axis=0)
    own = season.earned[np.arange(30), season.chosen].sum()
    np.testing.assert_allclose(season.saved[-1], own - totals.max(), rtol=1e-9)


def test_it_saves_more_than_any_fixed_amount() -> None:
    """On each of five seeds that were not chosen for it; the first fifty days are for learning."""
    for seed in range(101, 106):
        saved = story.play(seed=seed).saved
        assert saved[-1] - saved[50] > 200.0


def test_the_story_says_what_the_picture_shows() -> None:
    season = story.play()
    text = "\n".join(story.tell(season))
    assert max(map(len, text.splitlines())) <= 95
    assert f"After 200 days it is {season.saved[-1]:,.0f} € per hectare ahead" in text
    assert f"{season.rain[-1]:4.1f} mm came" in text
    top, middle, bottom = story.draw(season).axes
    heights = [patch.get_height() for patch in middle.patches]  # type: ignore[attr-defined]
    assert heights == list(story.AMOUNTS[season.chosen[-story.SHOWN :]])
    np.testing.assert_array_equal(bottom.lines[0].get_ydata(), season.saved)
    np.testing.assert_array_equal(top.lines[0].get_ydata(), season.rain[-story.SHOWN :])
    for band in top.collections:
        box = band.get_paths()[0].get_extents()
        assert (box.x0, box.x1) == (160.5, 200.5)  # whole days, and all of them in sight
        assert top.get_xlim()[0] < box.x0
        assert box.x1 < top.get_xlim()[1]
