"""Actions that come and go while a bandit runs."""

from __future__ import annotations

from typing import Any

from overcast import events
from overcast.service import answers as a
from overcast.service import messages as m
from overcast.service.engine import Turn
from overcast.service.errors import Refusal, refusing
from overcast.service.fold import Life
from overcast.service.http import Call, Operation, Reply
from overcast.service.routes.bandits import BANDIT, check_actions, info, labels
from overcast.spaces.actions import listed


async def add_actions(call: Call) -> Reply:
    asked: m.NewActions = call.body
    limits = call.service.settings.limits

    def work(turn: Turn) -> a.BanditInfo:
        life = turn.life(call.bandit)
        known = labels(life)
        if len(known) + len(asked.actions) > limits.actions:
            raise Refusal(422, f"bandit: actions must be {limits.actions} at most, got more", "actions")
        check_actions(asked.actions, limits)
        if life.bandit.actions.names is not None and (old := [one for one in asked.actions if one in known]):
            raise Refusal(409, f"action: name must be a new one, got {old[0]!r} again; PATCH changes it", "actions")
        turn.append(life.name, "add", events.added(asked.actions))
        return info(life)

    return Reply(201, await call.ask(work))


async def change_action(call: Call) -> Reply:
    asked: m.ChangedAction = call.body
    check_actions([] if asked.vector is None else [asked.vector], call.service.settings.limits)

    def work(turn: Turn) -> a.BanditInfo:
        life, name = _found(turn, call)
        if isinstance(name, int):
            raise Refusal(422, "action: must have a name to be changed, got a bandit whose actions have none")
        if asked.name is not None and asked.name != name and asked.name in labels(life):
            raise Refusal(409, f"action: name must be a new one, got {asked.name!r} again", "name")
        with refusing("name"):  # before anything is written
            listed("rename", life.bandit.actions).renamed(name, name if asked.name is None else asked.name)
        if asked.vector is not None:
            turn.append(life.name, "add", events.added({name: asked.vector}))
        if asked.name is not None and asked.name != name:
            turn.append(life.name, "rename", events.renamed(name, asked.name))
        return info(life)

    return Reply(200, await call.ask(work))


async def retire_action(call: Call) -> Reply:
    def work(turn: Turn) -> a.BanditInfo:
        life, name = _found(turn, call)
        turn.append(life.name, "retire", events.retired([name]))
        return info(life)

    return Reply(200, await call.ask(work))


def _found(turn: Turn, call: Call) -> tuple[Life, Any]:
    life, given = turn.life(call.bandit), call.params["action"]
    found: dict[str, Any] = {str(name): name for name in labels(life)}
    if given not in found:
        raise Refusal(404, f"action: must be one of the bandit, got {given[:80]!r}")
    return life, found[given]


ONE = f"{BANDIT}/actions/{{action:path}}"
OPERATIONS = [
    Operation(
        "POST",
        f"{BANDIT}/actions",
        add_actions,
        "Add actions",
        "admin",
        {201: a.BanditInfo},
        m.NewActions,
        (409,),
    ),
    Operation(
        "PATCH",
        ONE,
        change_action,
        "Give an action a new vector or name",
        "admin",
        {200: a.BanditInfo},
        m.ChangedAction,
        (409,),
    ),
    Operation("DELETE", ONE, retire_action, "Retire an action", "admin", {200: a.BanditInfo}),
]
