"""The latest of a bandit, from its log."""

from __future__ import annotations

from pathlib import Path

import overcast as oc
from overcast.service.dashboard.window import Seen, Window, latest, window
from overcast.service.store import open_store
from service_support import FARM, GAUSSIAN, Api, served


def looked(api: Api, rows: int = 1000, span: int = 50_000) -> Window:
    return latest(api.engine.store, "farm", api.state.lives["farm"].position, rows, span)


def test_decisions_and_what_became_of_them(api: Api) -> None:
    ids = [api.decide()["id"] for _ in range(4)]
    api.outcome(ids[1], reward=2.5, context=[21.0, 0.5])
    api.outcome(ids[3], reward=1.0, part="a", final=False)
    api.ask("DELETE", f"/v1/bandits/farm/decisions/{ids[2]}")
    found = looked(api)
    assert [one.id for one in found.decisions] == ids
    assert [one.status for one in found.decisions] == ["open", "rewarded", "cancelled", "open"]
    assert [reward for _, reward, _ in found.rewards] == [2.5]
    one = found.decisions[1]
    assert one.action in FARM["actions"]  # type: ignore[operator]
    assert one.belief.to_json() == oc.belief_from_json(GAUSSIAN).to_json()
    assert one.observed_context(one.belief) == [21.0, 0.5]
    assert one.observed_context(oc.PointMass([1.0])) is None


def test_a_context_by_name() -> None:
    named = oc.Gaussian([1.0, 2.0], 1.0).named(["warm", "wet"])

    def seen(context: object) -> Seen:
        return Seen("a", 0.0, 1, None, context=context)  # type: ignore[arg-type]

    assert seen({"wet": 5.0, "warm": 3.0}).observed_context(named) == [3.0, 5.0]
    assert seen({"wet": 5.0}).observed_context(named) is None
    assert seen(oc.PointMass([5.0, 3.0]).named(["wet", "warm"]).to_json()).observed_context(named) == [3.0, 5.0]
    assert seen(oc.PointMass([5.0, 3.0]).to_json()).observed_context(named) == [5.0, 3.0]
    assert seen({"type": "Gaussian", "mean": [1.0, 2.0]}).observed_context(named) is None
    assert seen(None).observed_context(named) is None


def test_it_is_bounded(api: Api) -> None:
    for _ in range(12):
        api.decide()
    assert len(looked(api, rows=5).decisions) == 5
    assert looked(api, rows=5).decisions[-1].id == looked(api).decisions[-1].id
    assert len(looked(api, span=3).decisions) == 3


def test_other_bandits_do_not_push_out_the_last_of_an_idle_one(api: Api) -> None:
    id_ = api.decide()["id"]
    api.post("/v1/bandits", FARM | {"name": "busy"})
    for _ in range(10):
        assert api.post("/v1/bandits/busy/decisions", {"belief": GAUSSIAN}).status == 201
    assert [one.id for one in looked(api, span=3).decisions] == [id_]


def test_it_is_the_same_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM)
        for i in range(5):
            api.outcome(api.decide()["id"], reward=float(i))
        before = looked(api)
    with served(tmp_path) as api:
        assert looked(api) == before


def test_actions_without_names_have_numbers(api: Api) -> None:
    api.post("/v1/bandits", FARM | {"name": "plain", "actions": [[1.0, 0.0], [0.0, 1.0]]})
    api.post("/v1/bandits/plain/decisions", {"belief": GAUSSIAN})
    rows = [row for row in api.engine.store.read() if row.kind == "decide"]
    assert window(rows).decisions[0].action in ("action 0", "action 1")


def test_postgres_gives_the_same(api: Api, postgres: str) -> None:
    id_ = api.decide()["id"]
    api.outcome(id_, reward=1.0)
    rows = list(api.engine.store.read())
    store = open_store(postgres)
    store.begin(lambda: 0, lambda: None)
    store.commit(rows)
    assert latest(store, "farm", len(rows)) == looked(api)
    assert latest(store, "farm", len(rows), 1).rewards == looked(api).rewards
    store.close()


def test_it_stands_until_its_first_row_is_erased(api: Api) -> None:
    api.outcome(api.decide()["id"], reward=1.0)
    found, store = looked(api), api.engine.store
    api.decide()
    assert found.stands(store, "farm")
    assert not found.stands(store, "other")
    api.post("/v1/bandits/farm/erase", {"before": 1.0})
    assert found.stands(store, "farm")
    api.post("/v1/bandits/farm/erase", {"before": 3e9})
    assert not found.stands(store, "farm")
    assert looked(api).first is None
    assert Window().stands(store, "farm")
