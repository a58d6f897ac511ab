"""Two fields and their forecasts of rain: a season of irrigation that has been going on, and goes on.

Every day a forecast says how much rain may come, and a bandit decides how much to irrigate. What the day earned is
known two days later, with the rain that came; of some days it never is. What a day brings follows from its number, so
that a service that is started again goes on where it was.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from overcast._storage import config as encoded
from overcast.calibration import Recalibrated
from overcast.service import messages as m
from overcast.service import spec
from overcast.service.engine import Engine, Turn
from overcast.service.errors import Refusal
from overcast.service.fold import Terms
from overcast.service.routes.decisions import decide_one
from overcast.service.routes.outcomes import take_outcome
from overcast.service.settings import Limits

log = logging.getLogger("overcast.service")

#: days that have passed when the demo starts, and seconds that one takes
PAST, PACE = 200, 2.0
#: days after which what a day earned is known; of one in LOST it never is
DELAY, LOST = 2, 15
MEMBERS = 20
#: share of uniform choices of a field with a shadow, so that both can be compared by what came
EXPLORE = 0.1
AMOUNTS = (0.0, 2.0, 4.0, 6.0)  # mm


@dataclass(frozen=True)
class Field:
    """A field, and how good its forecasts are.

    need : millimetres of water a day
    worth : euros per hectare that the best day earns
    price : of a millimetre of water
    doubt : how much wider the rain that comes is spread than the members of the forecast
    recalibrate : whether the bandit corrects the forecasts
    shadow : the policy that looks on; None for none
    """

    name: str
    need: float
    worth: float
    price: float
    doubt: float
    recalibrate: bool
    shadow: str | None

    def day(self, number: int) -> tuple[list[list[float]], float, float]:
        """Return the members of a day's forecast, the rain that comes, and the noise of what it earns."""
        rng = np.random.default_rng([number, *self.name.encode()])
        centre = 9.0 * rng.beta(1.1, 2.2)
        members = np.abs(centre + 1.2 * rng.normal(size=MEMBERS))
        rain = abs(centre + 1.2 * self.doubt * rng.normal())
        return [[round(float(one), 3)] for one in members], round(float(rain), 3), float(2.0 * rng.normal())

    def earned(self, amount: float, rain: float) -> float:
        """Return the earnings of a day, euros per hectare: less the further the water is from what the field needs."""
        return self.worth * (1.0 - ((amount + rain - self.need) / self.need) ** 2) - self.price * amount


FIELDS = (
    Field("orchard", 6.0, 40.0, 0.8, 1.0, False, "Greedy"),
    Field("vineyard", 4.5, 25.0, 1.5, 2.0, True, None),
)


def begin(turn: Turn, past: int = PAST, pace: float = PACE, days: int | None = None) -> bool:
    """Create the fields that are not there yet, and let days pass on them that lie in the past.

    Return whether all have passed; at most `days` of them do so at once, so that others need not wait.
    """
    now, left = turn.now, len(FIELDS) * past if days is None else days
    try:
        for field in FIELDS:
            if field.name not in turn.state.lives:
                turn.now = now - pace * (past + 1)
                _create(turn, field)
            while left and turn.life(field.name).counts.decisions < past:
                turn.now = now - pace * (past - turn.life(field.name).counts.decisions)
                live(turn, field)
                left -= 1
    finally:
        turn.now = now
    passed = all(turn.life(field.name).counts.decisions >= past for field in FIELDS)
    for field in FIELDS:
        if passed and turn.life(field.name).terms.wait is None:  # before, what lies in the past would expire at once
            turn.append(field.name, "terms", {"event": "terms", "terms": Terms(wait=40.0 * pace)})
    return passed


def _create(turn: Turn, field: Field) -> None:
    actions = {f"{amount:.0f} mm": [amount] for amount in AMOUNTS}
    model = spec.model_of({"type": "Polynomial", "degree": 2}, None, None, None)
    policy = spec.policy_of("UCB") if field.shadow is None else spec.mixed(spec.policy_of("UCB"), EXPLORE, None)
    recalibrate = Recalibrated(bounds=(0, None)) if field.recalibrate else False
    config = spec.configuration(actions, model, policy, recalibrate=recalibrate)
    turn.append(field.name, "create", {"event": "create", "config": config, "terms": Terms()})
    if field.shadow is not None:
        beside = {"policy": encoded(spec.policy_of(field.shadow)), "model": None}
        turn.append(field.name, "shadow", {"event": "shadow", "config": beside})


def live(turn: Turn, field: Field) -> None:
    """Let a day pass on a field: decide by its forecast, and learn what an earlier day earned."""
    day = turn.life(field.name).counts.decisions + 1
    belief: dict[str, Any] = {"type": "Ensemble", "points": field.day(day)[0], "names": ["rain, mm"]}
    decide_one(turn, field.name, m.NewDecision(belief, id=f"day-{day}"), None, Limits())
    before = day - DELAY
    if before < 1 or before % LOST == 0 or f"day-{before}" not in turn.life(field.name).open:
        return
    record = msgspec.json.decode(turn.find(field.name, f"day-{before}")[0].body)["decision"]
    _, rain, noise = field.day(before)
    reward = round(field.earned(AMOUNTS[record["index"]], rain) + noise, 2)
    take_outcome(turn, field.name, f"day-{before}", m.NewOutcome(reward, [rain]))


def _live_all(turn: Turn) -> None:
    for field in FIELDS:
        if not turn.life(field.name).retired:
            live(turn, field)


class Demo(threading.Thread):
    """Lets a day pass on every field at a steady pace, until the service stops."""

    def __init__(self, engine: Engine, pace: float = PACE) -> None:
        super().__init__(name="overcast-demo", daemon=True)
        self._engine, self._pace = engine, pace
        self._over = threading.Event()

    def run(self) -> None:
        try:
            while not self._over.is_set() and not self._engine.do(lambda turn: begin(turn, pace=self._pace, days=10)):
                pass
            while not self._over.wait(self._pace):
                self._engine.do(_live_all)
        except Refusal as refusal:  # the service stops
            log.info("the demo ends: %s", refusal.message)

    def stop(self) -> None:
        """End it, and wait until it has."""
        self._over.set()
        self.join()
