"""All that a bandit remembers, as a header of JSON data and arrays, and back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import IO, Any, NamedTuple

import numpy as np

from overcast import _check, _records, _storage
from overcast._check import Array
from overcast._linalg import Indices
from overcast._random import Stream
from overcast._storage import Arrays
from overcast._threads import one_thread
from overcast.actions import Actions
from overcast.calibration import Recalibrated
from overcast.history import Journal
from overcast.models.base import LastingLearner, Model
from overcast.policies.base import Policy
from overcast.round import Samples, check_pair, check_samples
from overcast.tickets import KNOWN_TOKENS, Tickets, Waiting
from overcast.usual import Tally

# Arrays of one name, and the first parts of the names of others.
SINGLE = {"actions", "reference"}
PREFIXES = ("learner.", "open.", "recalibrate.", "usual.", "history.")
# Largest dimension of contexts that a file may claim.
MAX_DIM = 100_000
# Most rounds that a file may claim; the number of a round has 64 bits in the draws.
MAX_COUNT = 2**53
#: the entry of the header that differs between copies
MARKS = "tokens"


class Memory(NamedTuple):
    """All that a bandit remembers.

    rewards, observed : numbers of rewards taken in, and of rounds taken in that somebody else decided
    dim : dimension of the contexts; None before the first decision
    learner : None before the first decision
    reference : vectors (j, a) of the actions that the learner started with
    recalibrated : the correction of forecasts; None unless the bandit recalibrates
    tally : what forecasts were like so far
    journal : the latest decisions; None unless a history is kept
    context : names of the contexts' dimensions; None if they have none
    """

    actions: Actions
    model: Model
    policy: Policy
    samples: Samples
    stream: Stream
    tickets: Tickets
    recalibrated: Recalibrated | None
    tally: Tally
    journal: Journal | None
    rewards: int = 0
    observed: int = 0
    dim: int | None = None
    learner: LastingLearner | None = None
    reference: Array | None = None
    context: tuple[str, ...] | None = None

    def with_actions(self, actions: Actions, of: Indices) -> Memory:
        """Return the same with other actions, of which row i was row of[i], or has a new vector if that is -1."""
        a, learner, reference = actions.vectors.shape[1], self.learner, self.reference
        model = self.model if a == self.actions.vectors.shape[1] else self.model.widened(a)
        changed = len(actions) != len(self.actions) or not np.array_equal(of, np.arange(len(of)))
        if changed:
            check_actions_may_change(self.model)
        if learner is not None and changed:
            learner = learner.with_actions(actions.vectors, of)
        if reference is not None:
            reference = padded(reference, a)
        gone = np.ones(len(self.actions), dtype=bool)
        gone[of[of >= 0]] = False
        former = {int(i): self.actions.vectors[i] for i in np.flatnonzero(gone)}
        tickets = self.tickets.with_vectors(former) if former else self.tickets
        return self._replace(actions=actions, model=model, learner=learner, reference=reference, tickets=tickets)


def check_actions_may_change(model: Model) -> None:
    """Raise TypeError if the model cannot do with other actions than those it started with."""
    if model.fixed_actions:
        advice = "start a new bandit, or leave some out of available="
        raise TypeError(f"{type(model).__name__}: actions cannot come and go with this model; {advice}")


def warn_of_silence(model: Model, actions: Actions, among: Indices, stacklevel: int) -> None:
    """Warn if one of these actions has no features in any context: its reward counts as zero for ever."""
    features = getattr(getattr(model, "model", model), "features", None)
    silent = [] if features is None else among[features.silent(actions.vectors[among])]
    if len(silent):
        name = (
            f"action {actions.names[silent[0]]!r}" if actions.names is not None else f"the action of index {silent[0]}"
        )
        more = f", and {len(silent) - 1} more," if len(silent) > 1 else ""
        must = "an entry that is always 1, such as [1.0, amount], or take features with a constant, such as Polynomial"
        warnings.warn(
            f"Bandit: {name}{more} has no features under {features}, so that its reward counts as 0 for ever; give the "
            f"vectors of actions {must}",
            stacklevel=stacklevel + 1,
        )


def started(model: Model, reference: Array, actions: Array, dim: int) -> LastingLearner:
    """Return a fresh learner for actions (k, a), which started with those in `reference` (j, a)."""
    learner = model.start(reference, dim)
    if len(reference) == len(actions) and np.array_equal(reference, actions):
        return learner
    of = np.full(len(actions), -1, dtype=np.intp)
    both = min(len(reference), len(actions))
    same = (reference[:both] == actions[:both]).all(axis=1)
    of[:both][same] = np.flatnonzero(same)
    return learner.with_actions(actions, of)


def padded(vectors: Array, a: int) -> Array:
    """Return vectors (k, a), with zeros for the entries that they lack."""
    return vectors if vectors.shape[1] == a else np.pad(vectors, ((0, 0), (0, a - vectors.shape[1])))


def written(memory: Memory) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of what a bandit remembers."""
    actions, tickets, recalibrated = memory.actions, memory.tickets, memory.recalibrated
    header = {
        "model": _storage.config(memory.model),
        "policy": _storage.config(memory.policy),
        "samples": memory.samples,
        "names": _storage.check_names(actions.names),
        "retired": np.flatnonzero(~actions.active).tolist(),
        MARKS: tickets.tokens[-KNOWN_TOKENS:],
        "open": list(tickets.open),
        "round": tickets.made,
        "rewards": memory.rewards,
        "rewarded": tickets.rewarded,
        "observed": memory.observed,
        "dim": memory.dim,
        "key": memory.stream.key,
        "recalibrate": None if recalibrated is None else recalibrated.config(),
    }
    if memory.context is not None:
        header["context"] = list(memory.context)
    journal, kept = memory.journal, {}
    if journal is not None:
        kept = _under("history.", journal.state())
        header["history"] = {"size": journal.size, "ids": list(journal.entries), "arrays": list(kept)}
    arrays: Arrays = {"actions": actions.vectors}
    if memory.learner is not None:
        assert memory.reference is not None
        arrays["reference"] = memory.reference
        arrays |= _under("open.", _records.pack([*tickets.open.values()]))
        arrays |= _under("learner.", memory.learner.state())
        assert memory.dim is not None
        arrays |= _under("usual.", memory.tally.state(memory.dim))
    arrays |= kept
    if recalibrated is not None:
        arrays |= _under("recalibrate.", recalibrated.state())
    return header, arrays


def read(path: str, file: IO[bytes], model: Model | None, policy: Policy | None) -> Memory:
    """Return what the bandit in a file remembers; `path` names it in errors."""
    header, arrays = _storage.read(path, file, lambda name: name in SINGLE or name.startswith(PREFIXES))
    with _storage.damage(path):
        if header["version"] == 3:
            _upgrade(header, arrays)
        if header["version"] < 5 and isinstance(header["dim"], int):
            arrays |= _under("usual.", Tally().state(min(header["dim"], MAX_DIM)))  # nobody counted forecasts
    model = _storage.given_or_stored(path, "model", model, header["model"])
    policy = _storage.given_or_stored(path, "policy", policy, header["policy"])
    with _storage.damage(path):
        check_pair("file", model, policy)
        dim = None if header["dim"] is None else _check.integer("file", "dim", header["dim"], at_least=1)
        memory = Memory(
            actions=_actions(header, arrays["actions"]),
            model=model,
            policy=policy,
            samples=check_samples("file", header["samples"]),
            stream=Stream.of(header["key"]),
            tickets=_tickets(header),
            recalibrated=_correction(header, arrays, dim),
            tally=Tally(),
            journal=_journal(header, _within("history.", arrays), len(arrays["actions"]), dim),
            rewards=_count(header, "rewards"),
            observed=_count(header, "observed"),
            dim=dim,
            context=_names(header, dim),
        )
        if dim is None:
            if header["open"] or any(not name.startswith("recalibrate.") for name in arrays.keys() - {"actions"}):
                raise ValueError("a bandit that has decided nothing has learnt something")
            return memory
        vectors = memory.actions.vectors
        _check_size(model, vectors.shape[1], dim, arrays)
        reference = _check.array("file", "reference", arrays["reference"], ("k", vectors.shape[1]))
        with one_thread():
            learner = started(model, reference, vectors, dim)
            learner.restore(_within("learner.", arrays))
        tally = Tally.of(_within("usual.", arrays), dim)
        memory = memory._replace(learner=learner, reference=reference, tally=tally)
        memory.tickets.open = _open(memory, _list(header, "open"), _within("open.", arrays))
        return memory


def _check_size(model: Model, a: int, dim: int, arrays: Arrays) -> None:
    """Raise ValueError if a learner for contexts of this dimension would need more room than the file's arrays do."""
    if dim > MAX_DIM:
        raise ValueError(f"dim must be {MAX_DIM} at most, got {dim}")
    features = getattr(getattr(model, "model", model), "features", None)
    inverse = arrays.get("learner.inverse")
    if features is not None and inverse is not None:
        d = features.size(a, dim)
        if inverse.size != d * (dim if model.labels else d):
            raise ValueError("the arrays do not fit the features")


def _actions(header: dict[str, Any], vectors: Array) -> Actions:
    vectors = _check.array("file", "actions", vectors, ("k", "a"))
    names, retired = header["names"], _list(header, "retired")
    if names is not None:
        names = [_check.name("file", name) for name in _list(header, "names")]
        if len(set(names)) != len(vectors) or len(names) != len(vectors):
            raise ValueError("the names do not fit the actions")
    active = np.ones(len(vectors), dtype=bool)
    for index in retired:
        if not 0 <= _check.integer("file", "retired", index) < len(vectors):
            raise ValueError("an action is retired that does not exist")
        active[index] = False
    if not active.any():
        raise ValueError("all actions are retired")
    return Actions.of(names, vectors, active)


def _names(header: dict[str, Any], dim: int | None) -> tuple[str, ...] | None:
    """Return the names of the contexts' dimensions; files of bandits that know none do not mention them."""
    if header.get("context") is None:
        return None
    return _check.distinct_names("file", "context", _list(header, "context"), dim)


def _tickets(header: dict[str, Any]) -> Tickets:
    out = Tickets()
    # Copies loaded from one file go separate ways: each marks its own decisions, and knows the earlier ones.
    out.tokens = [*(_check.text("file", MARKS, token) for token in _list(header, MARKS)), *out.tokens]
    out.made, out.rewarded = _count(header, "round"), _count(header, "rewarded")
    if out.rewarded > out.made:
        raise ValueError("a decision that was never made has its reward")
    return out


def _open(memory: Memory, ids: Sequence[Any], arrays: Arrays) -> dict[str, Waiting]:
    """Return the open decisions in a file, after checking that they fit."""
    learner, made = memory.learner, memory.tickets.made
    assert learner is not None
    names = [_check.text("file", "open", ticket) for ticket in ids]
    if len(set(names)) < len(names):
        raise ValueError("two open decisions have one id")
    if not names and arrays:
        raise ValueError("there are open decisions without ids")
    found = _records.unpack(Waiting, arrays, len(names), {"evidence": learner.evidence_type})
    rounds = [0, *(one.round for one in found)]
    if any(a >= b for a, b in pairwise(rounds)) or rounds[-1] > made:
        raise ValueError("the open decisions are out of order")
    for action, _, evidence, stated, vector in found:
        if not 0 <= action < len(memory.actions):
            raise ValueError("an open decision is about an action that does not exist")
        want = None if memory.recalibrated is None else (2, memory.dim)
        if (None if stated is None else stated.shape) != want:
            raise ValueError("the corrections do not fit the open decisions")
        if vector is not None and (vector.ndim != 1 or len(vector) > memory.actions.vectors.shape[1]):
            raise ValueError("an open decision is about an action of another length")
        learner.check(evidence)
    return dict(zip(names, found, strict=True))


def _correction(header: dict[str, Any], arrays: Arrays, dim: int | None) -> Recalibrated | None:
    if header["recalibrate"] is None:
        if _within("recalibrate.", arrays):
            raise ValueError("it holds corrections, but does not recalibrate")
        return None
    out = Recalibrated.of(header["recalibrate"])
    out.restore(_within("recalibrate.", arrays))
    if len(out.bias) not in (0, dim or len(out.bias)):
        raise ValueError("the corrections do not fit the contexts")
    return out


def _journal(header: dict[str, Any], arrays: Arrays, k: int, dim: int | None) -> Journal | None:
    """Return the history in a file; files of bandits that keep none do not mention it."""
    kept = header.get("history") or {"arrays": []}
    if {f"history.{name}" for name in arrays} != set(_list(kept, "arrays")):
        raise ValueError("the arrays of the history are not those that it says")
    return Journal.of(kept["size"], _list(kept, "ids"), arrays, k, dim) if "size" in kept else None


def _upgrade(header: dict[str, Any], arrays: Arrays) -> None:
    """Bring the content of a file of version 3 into the present form, in place."""
    state = header.pop("rng")["state"]
    # The former generator had no key. This one follows from where it stood.
    header["key"] = Stream(np.random.SeedSequence([int(state["state"]), int(state["inc"])])).key
    header["retired"], header["observed"] = [], 0
    if header["dim"] is None:
        return
    arrays["reference"] = arrays["actions"]
    if "learner.seen_rounds" in arrays:
        arrays["learner.unseen"] = np.empty((0, 2, *arrays["learner.mean"].shape))  # moments that were not added up yet
        for name in ("ones", "weight", "reward"):  # these follow from other sums
            del arrays[f"learner.base_{name}"]
    if "learner.scales" in arrays:
        arrays["learner.scales"] = np.append(arrays["learner.scales"], 0.0)  # all rounds were learnt one by one
    if "learner.reward" in arrays:  # rounds of a kernel model named the action by its index
        for name in ("learner.action", "open.evidence.action"):
            if name in arrays:
                arrays[name] = arrays["actions"][_indices(arrays[name], len(arrays["actions"]))]


def _indices(values: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
    if values.dtype.kind not in "iu" or (values.size and not 0 <= values.min() <= values.max() < k):
        raise ValueError("a round is about an action that does not exist")
    return values


def _count(header: dict[str, Any], name: str) -> int:
    out = _check.integer("file", name, header[name], at_least=0)
    if out > MAX_COUNT:
        raise ValueError(f"{name} must be {MAX_COUNT} at most, got {_check.short(out)}")
    return out


def _list(header: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(header[name], list):
        raise ValueError(f"{name} must be a list, got {_check.short(header[name])}")
    return list(header[name])


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def _within(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays under a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
