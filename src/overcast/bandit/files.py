"""The state of a bandit as a header of JSON data and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np

from overcast import _check, _records, _storage
from overcast._check import Array
from overcast._random import Stream
from overcast._storage import Arrays
from overcast._threads import one_thread
from overcast._units import Units, Vectors
from overcast.bandit.config import BanditConfig, encoded_options, read_correction
from overcast.bandit.pending import KNOWN_TOKENS, OpenDecision, Pending
from overcast.bandit.state import State, started
from overcast.decisions.climatology import Climatology
from overcast.decisions.history import Journal
from overcast.models.base import LastingLearner, Model
from overcast.spaces.actions import Actions

# Arrays of one name, and the first parts of the names of others.
SINGLE = {"actions", "reference"}
PREFIXES = ("learner.", "open.", "recalibrate.", "usual.", "history.")
# Largest dimension of contexts that a file may claim.
MAX_DIM = 100_000
# Most rounds that a file may claim; the number of a round has 64 bits in the draws.
MAX_COUNT = 2**53
# Options that a file holds as arrays, or with more than was given to the bandit.
ARRAYS = ("actions", "recalibrate", "history")
#: the entry of the header that differs between copies
MARKS = "tokens"


def written(state: State) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of the state of a bandit."""
    actions, pending, recalibrated = state.actions, state.pending, state.recalibrated
    header = {
        **state.config().to_json(without=ARRAYS),
        "names": _storage.check_names(actions.names),
        "retired": np.flatnonzero(~actions.active).tolist(),
        MARKS: pending.tokens[-KNOWN_TOKENS:],
        "open": list(pending.open),
        "round": pending.made,
        "rewards": state.rewards,
        "rewarded": pending.rewarded,
        "observed": state.observed,
        "dim": state.dim,
        "recalibrate": None if recalibrated is None else recalibrated.config(),
    }
    journal, kept = state.journal, {}
    if journal is not None:
        kept = _under("history.", journal.state())
        header["history"] = {"size": journal.size, "ids": list(journal.entries), "arrays": list(kept)}
    arrays: Arrays = {"actions": _written(actions.candidates)}
    if not isinstance(actions, Actions):
        header["actions"] = _storage.config(actions)
    if isinstance(actions.candidates, Units) or isinstance(state.reference, Units):
        header["labels"] = actions.dim
    if state.learner is not None:
        assert state.reference is not None
        arrays["reference"] = _written(state.reference)
        arrays |= _under("open.", _records.pack([*pending.open.values()]))
        arrays |= _under("learner.", state.learner.state())
        assert state.dim is not None
        arrays |= _under("usual.", state.climatology.state(state.dim))
    arrays |= kept
    if recalibrated is not None:
        arrays |= _under("recalibrate.", recalibrated.state())
    return header, arrays


def read(path: str, file: IO[bytes], given: Mapping[str, Any]) -> State:
    """Return the state of the bandit in a file.

    path : names the file in errors
    given : options that hold a function or a class of the user, by name
    """
    header, arrays = _storage.read(path, file, lambda name: name in SINGLE or name.startswith(PREFIXES))
    with _storage.damage(path):
        if header["version"] == 3:
            _upgrade(header, arrays)
        if header["version"] < 6:
            _name_profiles(arrays)
        if header["version"] < 5 and isinstance(header["dim"], int):
            arrays |= _under("usual.", Climatology().state(min(header["dim"], MAX_DIM)))  # nobody counted forecasts
    stored = encoded_options(path, header, given)
    with _storage.damage(path):
        dim = None if header["dim"] is None else _check.integer("file", "dim", header["dim"], at_least=1)
        state = State(
            BanditConfig.from_json(
                header,
                **{"actions": _actions(header, arrays["actions"])} | stored,
                recalibrate=read_correction(header["recalibrate"], _within("recalibrate.", arrays)),
                history=(header.get("history") or {}).get("size"),
            )
        )
        _check_dim(state, dim)
        state.journal = _read_journal(header, _within("history.", arrays), len(arrays["actions"]), dim)
        state.pending, state.dim = _read_marks_and_counts(header), dim
        state.rewards, state.observed = _count(header, "rewards"), _count(header, "observed")
        if dim is None:
            if header["open"] or any(not name.startswith("recalibrate.") for name in arrays.keys() - {"actions"}):
                raise ValueError("a bandit that has decided nothing has learnt something")
            return state
        actions, model = state.actions, state.model
        if not np.array_equal(_written(actions.candidates), arrays["actions"]):
            raise ValueError("the actions are not those that it was saved with")
        _check_size(model, actions.dim, dim, arrays)
        state.reference = _vectors(header, "reference", arrays["reference"], actions.dim)
        with one_thread():
            learner = started(model, state.reference, actions, dim)
            learner.restore(_within("learner.", arrays))
            state.use(learner, learner.at(actions.candidates))
        state.climatology = Climatology.of(_within("usual.", arrays), dim)
        state.pending.open = _read_open_decisions(state, learner, _list(header, "open"), _within("open.", arrays))
        return state


def _check_size(model: Model, a: int, dim: int, arrays: Arrays) -> None:
    """Raise ValueError if a learner for contexts of this dimension would need more room than the file's arrays do."""
    if dim > MAX_DIM:
        raise ValueError(f"dim must be {MAX_DIM} at most, got {dim}")
    inverse, d = arrays.get("learner.inverse"), model.size(a, dim)
    if d is not None and inverse is not None and inverse.size != d * (dim if model.labels else d):
        raise ValueError("the arrays do not fit the features")


def _written(vectors: Vectors) -> Array:
    """Return vectors (k, a) as an array; of unit vectors the place of their one, (k,)."""
    return vectors.place.astype(np.float64) if isinstance(vectors, Units) else vectors


def _vectors(header: dict[str, Any], name: str, array: Array, a: int | str = "a") -> Vectors:
    """Return the vectors that `_written` came from."""
    if header.get("labels") is None or array.ndim == 2:
        return _check.array("file", name, array, ("k", a))
    size = _check.integer("file", "labels", header["labels"], at_least=1)
    places = _check.array("file", name, array, ("k",))
    if not ((places >= 0) & (places < size) & (places == np.floor(places))).all():
        raise ValueError(f"{name} must hold places below {size}")
    return Units(places.astype(np.intp), size)


def _actions(header: dict[str, Any], array: Array) -> Actions:
    vectors = _vectors(header, "actions", array)
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


def _read_marks_and_counts(header: dict[str, Any]) -> Pending:
    out = Pending()
    # Copies loaded from one file go separate ways: each marks its own decisions, and knows the earlier ones.
    out.tokens = [*(_check.text("file", MARKS, token) for token in _list(header, MARKS)), *out.tokens]
    out.made, out.rewarded = _count(header, "round"), _count(header, "rewarded")
    if out.rewarded > out.made:
        raise ValueError("a decision that was never made has its reward")
    return out


def _read_open_decisions(
    state: State, learner: LastingLearner, ids: Sequence[Any], arrays: Arrays
) -> dict[str, OpenDecision]:
    """Return the open decisions in a file, after checking that they fit."""
    made = state.pending.made
    names = [_check.text("file", "open", ticket) for ticket in ids]
    if len(set(names)) < len(names):
        raise ValueError("two open decisions have one id")
    if not names and arrays:
        raise ValueError("there are open decisions without ids")
    found = _records.unpack(OpenDecision, arrays, len(names), {"evidence": learner.evidence_type})
    rounds = [0, *(one.round for one in found)]
    if any(a >= b for a, b in pairwise(rounds)) or rounds[-1] > made:
        raise ValueError("the open decisions are out of order")
    for action, _, evidence, stated, vector in found:
        known = vector is not None if action is None else 0 <= action < len(state.actions)
        if not known or (action is None and isinstance(state.actions, Actions)):
            raise ValueError("an open decision is about an action that does not exist")
        want = None if state.recalibrated is None else (2, state.dim)
        if (None if stated is None else stated.shape) != want:
            raise ValueError("the corrections do not fit the open decisions")
        if vector is not None and (vector.ndim != 1 or len(vector) > state.actions.dim):
            raise ValueError("an open decision is about an action of another length")
        learner.check(evidence)
    return dict(zip(names, found, strict=True))


def _check_dim(state: State, dim: int | None) -> None:
    """Raise ValueError unless names and corrections are about as many dimensions as the contexts have."""
    if dim and state.context is not None and len(state.context) != dim:
        raise ValueError("the names do not fit the contexts")
    if dim and state.recalibrated is not None and len(state.recalibrated.bias) not in (0, dim):
        raise ValueError("the corrections do not fit the contexts")


def _read_journal(header: dict[str, Any], arrays: Arrays, k: int, dim: int | None) -> Journal | None:
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


def _name_profiles(arrays: Arrays) -> None:
    """Name the actions of rounds under `FixedProfile` by their vectors; before version 6 it was by their index."""
    if "learner.counts" not in arrays:
        return
    actions, taken = arrays["actions"], arrays["learner.counts"] > 0
    if len(taken) != len(actions):
        raise ValueError("the profiles do not fit the actions")
    arrays["learner.action"] = actions[taken]
    for name in ("learner.counts", "learner.sums"):
        arrays[name] = arrays[name][taken]
    if "open.evidence.action" in arrays:
        arrays["open.evidence.action"] = actions[_indices(arrays["open.evidence.action"], len(actions))]


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
