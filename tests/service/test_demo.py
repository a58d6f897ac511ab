"""The demo: a season that has been going on, goes on, and can be taken up again."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from overcast.service.dashboard.window import latest
from overcast.service.demo import AMOUNTS, DELAY, FIELDS, LOST, Demo, begin, live
from service_support import Api, check_replay, served


def test_a_season_lies_in_the_past(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        now = time.time()
        assert not api.engine.do(lambda turn: begin(turn, past=60, pace=2.0, days=100))
        assert api.engine.do(lambda turn: begin(turn, past=60, pace=2.0, days=100))
        life = api.state.lives["orchard"]
        assert life.counts.decisions == 60
        found = latest(api.engine.store, "orchard", life.position)
        assert now - 125.0 < found.decisions[0].time < found.decisions[-1].time < now
        assert [one.status for one in found.decisions[:14]] == ["rewarded"] * 14
        assert {one.status for one in found.decisions} == {"rewarded", "open"}
        assert life.counts.outcomes == sum(day % LOST != 0 for day in range(1, 60 - DELAY + 1))
        assert life.terms.wait == 80.0
        assert all(one.observed_context(one.belief) is not None for one in found.decisions if one.status == "rewarded")
        api.engine.do(lambda turn: begin(turn, past=60, pace=2.0))  # what is there stays
        assert api.state.lives["orchard"].counts.decisions == 60
        check_replay(api.engine.store, api.state)
        beside = api.get("/v1/bandits/orchard/shadow").body
        assert beside["decisions"] == 60
        assert beside["difference"] is not None


def test_it_pays_to_go_by_the_forecast() -> None:
    field = FIELDS[0]
    rain = np.array([field.day(i)[1] for i in range(1, 200)])
    best = max(np.mean([field.earned(amount, one) for one in rain]) for amount in AMOUNTS)
    known = np.mean([max(field.earned(amount, one) for amount in AMOUNTS) for one in rain])
    assert known > best + 1.0
    assert field.day(7) == field.day(7)


def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    def day(api: Api) -> int:
        api.engine.do(lambda turn: live(turn, FIELDS[1]))
        return api.state.lives["vineyard"].counts.decisions

    with served(tmp_path) as api:
        api.engine.do(lambda turn: begin(turn, past=20, pace=2.0))
        assert day(api) == 21
    with served(tmp_path) as api:
        assert [day(api) for _ in range(DELAY + 1)] == [22, 23, 24]
        life = api.state.lives["vineyard"]
        statuses = {one.id: one.status for one in latest(api.engine.store, "vineyard", life.position).decisions}
        assert statuses["day-21"] == "rewarded"


def test_it_is_live_until_it_is_stopped(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        demo = Demo(api.engine, pace=0.01)
        demo.start()
        deadline = time.monotonic() + 30.0
        while time.monotonic() < deadline:
            lives = api.state.lives
            if len(lives) == 2 and all(life.counts.decisions > 203 for life in lives.values()):
                break
            time.sleep(0.02)
        demo.stop()
        assert not demo.is_alive()
        before = api.state.position
        assert before > 750
        api.ask("DELETE", "/v1/bandits/orchard")
        again = Demo(api.engine, pace=0.01)
        again.start()
        time.sleep(0.2)
        again.stop()
        assert api.state.lives["orchard"].retired
