"""Bandits: create, list, inspect, change, retire; and what one expects under a belief."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import UNSET, structs

from overcast import events
from overcast._storage import config as encoded
from overcast._units import Units
from overcast.bandit.arguments import checked_reward
from overcast.calibration import Recalibrated
from overcast.policies import Mixed, Policy
from overcast.service import answers as a
from overcast.service import messages as m
from overcast.service import spec
from overcast.service.engine import Turn
from overcast.service.errors import Refusal, refusing
from overcast.service.fold import Life, Terms
from overcast.service.http import Call, Operation, Reply
from overcast.service.routes.beliefs import given_belief
from overcast.service.settings import Limits


async def create_bandit(call: Call) -> Reply:
    asked: m.NewBandit = call.body
    if call.key is not None and not call.key.sees(asked.name):
        raise Refusal(403, f"key: may not use this name, got {asked.name!r}", "name")
    limits = call.service.settings.limits
    check_actions(asked.actions, limits)
    if len(asked.context or ()) > limits.dimensions:
        raise Refusal(422, f"bandit: context must have {limits.dimensions} names at most, got more", "context")
    check_terms(asked.wait, asked.default)
    with refusing("policy"):
        policy = _explored(spec.policy_of(asked.policy), asked.explore or None, 0.0, asked.samples)
    with refusing():
        model = spec.model_of(asked.features, asked.kernel, asked.model, asked.ridge)
        options = {name: getattr(asked, name) for name in spec.PLAIN}
        options["objective"] = spec.objective_of(asked.objective)
        config = spec.configuration(asked.actions, model, policy, **options)
    body = {"event": "create", "config": config, "terms": Terms(asked.wait, asked.default, asked.explain)}

    def work(turn: Turn) -> a.BanditInfo:
        if asked.name in turn.state.lives:
            raise Refusal(409, f"bandit: name must be a new one, got {asked.name!r} again", "name")
        turn.append(asked.name, "create", body)
        return info(turn.life(asked.name))

    return Reply(201, await call.ask(work))


async def list_bandits(call: Call) -> Reply:
    key = call.key

    def work(turn: Turn) -> a.BanditList:
        lives = turn.state.lives.values()
        return a.BanditList([a.BanditShort(**_short(life)) for life in lives if key is None or key.sees(life.name)])

    return Reply(200, await call.ask(work, writes=False))


async def get_bandit(call: Call) -> Reply:
    return Reply(200, await call.ask(lambda turn: info(turn.life(call.bandit)), writes=False))


async def change_bandit(call: Call) -> Reply:
    asked: m.ChangedBandit = call.body
    share = None if asked.explore is UNSET else asked.explore
    with refusing("policy"):
        given_policy = None if asked.policy is UNSET else spec.policy_of(asked.policy)

    def work(turn: Turn) -> a.BanditInfo:
        life = turn.life(call.bandit)
        policy = None
        if given_policy is not None or share is not None:
            chosen = life.bandit.policy if given_policy is None else given_policy
            policy = _explored(chosen, share, spec.share_of(life.bandit.policy), life.bandit.samples)
        given = {name: getattr(asked, name) for name in ("wait", "default", "explain")}
        terms = structs.replace(life.terms, **{name: value for name, value in given.items() if value is not UNSET})
        check_terms(terms.wait, terms.default, (one.total for one in life.open.values()))
        if policy is not None and policy != life.bandit.policy:
            turn.append(life.name, "policy", events.policy(policy))
        if terms != life.terms:
            turn.append(life.name, "terms", {"event": "terms", "terms": terms})
        return info(life)

    return Reply(200, await call.ask(work))


async def retire_bandit(call: Call) -> Reply:
    def work(turn: Turn) -> a.BanditInfo:
        life = turn.life(call.bandit)
        if not life.retired:
            turn.append(life.name, "end", {"event": "end"})
        return info(life)

    return Reply(200, await call.ask(work))


async def estimate(call: Call) -> Reply:
    asked: m.Query = call.body
    belief = given_belief(asked.belief, call.service.settings.limits)[0]

    def work(turn: Turn) -> a.Estimated:
        life = turn.life(call.bandit)
        estimated = life.bandit.estimate(belief)
        if not (np.isfinite(estimated.mean).all() and np.isfinite(estimated.width).all()):
            raise Refusal(422, "estimate: must be finite, got numbers beyond all bounds; check the belief", "belief")
        rows = zip(labels(life), estimated.mean.tolist(), estimated.width.tolist(), strict=True)
        return a.Estimated([a.EstimatedAction(*row) for row in rows], turn.state.position)

    return Reply(200, await call.ask(work, writes=False))


def _explored(policy: Policy, share: float | None, before: float, samples: Any) -> Policy:
    """Return a policy with the share of uniform choices that was asked for, else its own, else the one from before."""
    with refusing("explore"):
        return spec.mixed(policy, (spec.share_of(policy) or before) if share is None else share, samples)


def check_actions(actions: Any, limits: Limits) -> None:
    """Raise a refusal if there are too many actions, or vectors are too long."""
    if len(actions) > limits.actions:
        raise Refusal(422, f"bandit: actions must be {limits.actions} at most, got {len(actions)}", "actions")
    vectors = actions.values() if isinstance(actions, dict) else actions
    longest = max((len(one) for one in vectors if isinstance(one, list)), default=0)
    if longest > limits.dimensions:
        raise Refusal(422, f"bandit: vectors must have {limits.dimensions} entries at most, got {longest}", "actions")


def check_terms(wait: float | None, default: float | None, totals: Iterable[float] = ()) -> None:
    """Raise a refusal unless a default reward goes with a limit to wait, and can be learnt.

    totals : rewards so far of open decisions, to which it would be added
    """
    if default is not None and wait is None:
        raise Refusal(422, "bandit: default must go with wait, got it alone", "default")
    if default is not None:
        with refusing("default"):
            for total in (0.0, *totals):
                checked_reward(total + default)


def labels(life: Life) -> list[Any]:
    """Return the names of all actions, or their indices if they have none."""
    names = life.bandit.actions.names
    return list(range(len(life.bandit.actions))) if names is None else list(names)


def info(life: Life) -> a.BanditInfo:
    """Describe a bandit in full."""
    bandit, terms = life.bandit, life.terms
    policy = bandit.policy
    actions, learnt = bandit.actions, bandit.learnt
    alone = isinstance(actions.candidates, Units)
    vectors = [None] * len(actions) if alone else actions.vectors.tolist()
    rows = zip(labels(life), vectors, actions.active.tolist(), strict=True)
    return a.BanditInfo(
        **_short(life),
        action_list=[a.Action(*row) for row in rows],
        model=encoded(bandit.model),
        policy=encoded(policy.policy if isinstance(policy, Mixed) else policy),
        samples=bandit.samples,
        objective=encoded(bandit.state.objective),
        recalibrate=bandit.recalibrated is not None,
        context=None if bandit.context is None else list(bandit.context),
        correction=_correction(bandit.recalibrated),
        wait=terms.wait,
        default=terms.default,
        explain=terms.explain,
        explore=spec.share_of(policy),
        learnt=a.LearntSoFar(learnt.rounds, learnt.open, learnt.noise, learnt.ridge),
    )


def _correction(corrector: Recalibrated | None) -> a.Correction | None:
    if corrector is None:
        return None
    arrays = (corrector.bias, corrector.slope, corrector.factor)
    numbers = [one.tolist() if corrector.outcomes else [] for one in arrays]
    factors = [one if math.isfinite(one) else None for one in numbers[2]]
    return a.Correction(corrector.outcomes, numbers[0], numbers[1], factors)


def _short(life: Life) -> dict[str, Any]:
    return {
        "name": life.name,
        "created": life.created,
        "retired": life.retired,
        "actions": int(life.bandit.actions.active.sum()),
        "decisions": life.counts.decisions,
        "outcomes": life.counts.outcomes,
        "pending": len(life.open),
        "cancelled": life.counts.cancelled,
        "expired": life.counts.expired,
        "position": life.position,
    }


BANDITS, BANDIT = "/v1/bandits", "/v1/bandits/{name}"
OPERATIONS = [
    Operation(
        "POST", BANDITS, create_bandit, "Create a bandit", "admin", {201: a.BanditInfo}, m.NewBandit, (409,), True
    ),
    Operation("GET", BANDITS, list_bandits, "List the bandits that the key may see", "read", {200: a.BanditList}),
    Operation("GET", BANDIT, get_bandit, "Inspect a bandit", "read", {200: a.BanditInfo}),
    Operation("PATCH", BANDIT, change_bandit, "Change policy or limits", "admin", {200: a.BanditInfo}, m.ChangedBandit),
    Operation("DELETE", BANDIT, retire_bandit, "Retire a bandit: it decides no more", "admin", {200: a.BanditInfo}),
    Operation(
        "POST",
        f"{BANDIT}/estimate",
        estimate,
        "Mean and width of all actions",
        "read",
        {200: a.Estimated},
        m.Query,
    ),
]
