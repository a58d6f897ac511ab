"""What the page of a bandit shows."""

from __future__ import annotations

import numpy as np

import overcast as oc
from overcast.service.dashboard import views
from overcast.service.dashboard.charts import Option
from overcast.service.dashboard.window import Window, latest
from service_support import Api


def played(api: Api, rounds: int, context: bool) -> Window:
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        came = [20.0 + 2.0 * float(rng.normal()), 1.0 + 0.3 * float(rng.normal())]
        api.outcome(api.decide()["id"], reward=1.0, **({"context": came} if context else {}))
    api.decide()
    return latest(api.engine.store, "farm", api.state.lives["farm"].position)


def test_all_charts(api: Api) -> None:
    found = views.picture(played(api, 60, context=True), [Option("a", 1.0, 0.5)], 1)
    assert (found.dimensions, found.dim, found.mean) == (["c1", "c2"], 1, 1.0)
    for chart in (found.rewards, found.shares, found.estimates, found.widths, found.fans):
        assert chart is not None
    assert found.judged is not None
    assert (found.judged.count, found.revealed) == (60, 60)
    assert "your forecasts look right" in found.judged.sentence
    assert [one.status for one in found.latest[:2]] == ["open", "rewarded"]


def test_nothing_yet(api: Api) -> None:
    found = views.picture(Window(), [], 5)
    assert (found.rewards, found.fans, found.judged, found.mean, found.dimensions) == (None, None, None, None, [])


def test_few_known_contexts_are_not_judged_by(api: Api) -> None:
    found = views.picture(played(api, 5, context=True), [], 9)
    assert (found.judged, found.revealed, found.dim) == (None, 5, 1)
    assert views.picture(played(api, 3, context=False), [], 0).revealed == 5


def test_the_dimensions_of_a_decision() -> None:
    belief = oc.Gaussian([1.0, 2.0], [1.0, 4.0]).named(["warm", "wet"])
    warm, wet = views.dimensions_of(belief, [0.5, 3.0])
    assert (warm.name, warm.came, wet.came, wet.mean) == ("warm", 0.5, 3.0, 2.0)
    assert wet.low < 2.0 < wet.high
    assert views.dimensions_of(belief, None)[0].came is None
    assert len(views.dimensions_of(oc.PointMass(np.zeros(50)), None)) == 30


def test_labels() -> None:
    assert (views.label("x"), views.label(3)) == ("x", "action 3")
