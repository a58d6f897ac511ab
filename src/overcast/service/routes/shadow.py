"""Shadows: a second policy or model beside the one that acts."""

from __future__ import annotations

from overcast._storage import config as encoded
from overcast.service import answers as a
from overcast.service import messages as m
from overcast.service import spec
from overcast.service.engine import Turn
from overcast.service.errors import Refusal, refusing
from overcast.service.fold import Life
from overcast.service.http import Call, Operation, Reply
from overcast.service.routes.bandits import BANDIT


async def start_shadow(call: Call) -> Reply:
    asked: m.NewShadow = call.body
    model = policy = None
    with refusing():
        if asked.policy is not None:
            policy = encoded(spec.policy_of(asked.policy))
        if any(one is not None for one in (asked.features, asked.kernel, asked.model, asked.ridge)):
            model = encoded(spec.model_of(asked.features, asked.kernel, asked.model, asked.ridge))
    if model is None and policy is None:
        raise Refusal(422, "shadow: must have a policy or a model, got neither", "policy")
    config = {"policy": policy, "model": model}

    def work(turn: Turn) -> a.ShadowInfo:
        life = turn.life(call.bandit)
        if life.shadow is None or life.shadow.config != config or life.shadow.failed is not None:
            turn.append(life.name, "shadow", {"event": "shadow", "config": config})
        return shadow_info(life)

    return Reply(200, await call.ask(work))


async def get_shadow(call: Call) -> Reply:
    return Reply(200, await call.ask(lambda turn: shadow_info(turn.life(call.bandit)), writes=False))


async def end_shadow(call: Call) -> Reply:
    def work(turn: Turn) -> a.Empty:
        life = turn.life(call.bandit)
        if life.shadow is not None:
            turn.append(life.name, "unshadow", {"event": "unshadow"})
        return a.Empty()

    return Reply(200, await call.ask(work))


def shadow_info(life: Life) -> a.ShadowInfo:
    """Describe the shadow of a bandit; raise a refusal if it has none."""
    shadow = life.shadow
    if shadow is None:
        raise Refusal(404, f"shadow: must have been put before, got none for {life.name!r}")
    compared = shadow.compared
    return a.ShadowInfo(
        shadow.config["model"],
        shadow.config["policy"],
        shadow.time,
        shadow.position,
        compared.decisions,
        compared.agreed,
        compared.expected / compared.decisions if compared.decisions else None,
        compared.outcomes,
        compared.difference,
        compared.two_se,
        shadow.failed,
    )


SHADOW = f"{BANDIT}/shadow"
OPERATIONS = [
    Operation(
        "PUT",
        SHADOW,
        start_shadow,
        "Let a second policy or model see everything",
        "admin",
        {200: a.ShadowInfo},
        m.NewShadow,
    ),
    Operation("GET", SHADOW, get_shadow, "The shadow beside the bandit", "read", {200: a.ShadowInfo}),
    Operation("DELETE", SHADOW, end_shadow, "End the shadow", "admin", {200: a.Empty}),
]
