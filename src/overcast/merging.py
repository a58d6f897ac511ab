"""What two bandits have learnt apart, added up."""

from __future__ import annotations

import copy

import numpy as np

from overcast import _check
from overcast._memory import Memory, started


def merged(mine: Memory, theirs: Memory) -> Memory:
    """Return what a bandit remembers once it has learnt what another one of the same model has; both stay as they are.

    Actions are matched by name, or by index if they have none. Those that only the other has are added.
    """
    actions, of = mine.actions.joined(theirs.actions, mine.model.labels and theirs.model.labels)
    known = np.where(np.arange(len(actions)) < len(mine.actions), np.arange(len(actions)), -1)
    out, other = mine.with_actions(actions, known), theirs.with_actions(actions, of)
    if other.model != out.model:
        raise ValueError(f"Bandit: merge needs the same model, got {theirs.model} for {mine.model}")
    given = [None if one.recalibrated is None else one.recalibrated.config() for one in (mine, theirs)]
    if given[0] != given[1]:
        raise ValueError(
            "Bandit: merge needs two bandits that recalibrate alike, or two that do not: beliefs would differ; "
            f"got {given[1]} for {given[0]}"
        )
    if other.learner is None:
        return out
    assert other.dim is not None
    assert other.reference is not None
    if mine.dim is not None and other.dim != mine.dim:
        raise ValueError(f"Bandit: merge needs contexts of dimension {mine.dim}, got {other.dim}")
    if None not in (mine.context, theirs.context) and mine.context != theirs.context:
        got = f"{_check.short(theirs.context)} for {_check.short(mine.context)}"
        raise ValueError(f"Bandit: merge needs contexts with the same names in the same order, got {got}")
    if out.learner is None:
        learner, reference = started(out.model, other.reference, actions.vectors, other.dim), other.reference
    else:
        learner = copy.deepcopy(out.learner)  # a merge that fails changes nothing
        reference = other.reference if out.reference is None else out.reference
    learner.merge(other.learner)
    recalibrated = mine.recalibrated
    if recalibrated is not None and theirs.recalibrated is not None:
        recalibrated = recalibrated.joined(theirs.recalibrated)
    out = out._replace(tally=mine.tally.joined(theirs.tally))
    rewards = mine.rewards + theirs.rewards
    out = out._replace(context=mine.context or theirs.context, rewards=rewards, dim=other.dim)
    return out._replace(learner=learner, reference=reference, recalibrated=recalibrated)
