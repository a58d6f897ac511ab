"""Correct forecasts by the outcomes of earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check, _html
from overcast._check import Array
from overcast.adapters import as_belief
from overcast.beliefs import Belief
from overcast.calibration.fit import Correction, fit

#: how many of the latest outcomes a correction goes by
MEMORY = 500
# Larger forecasts and outcomes would overflow when their squares are added up.
MAX_SIZE = 1e150
# A correction is renewed once the outcomes since the last one are this share of those it goes by.
STALE = 0.02
# A spread below this share of the corrected one counts as none: stretching it would blow up rounding errors.
NEGLIGIBLE = 1e-9


class Track(NamedTuple):
    """The record of one dimension: rows of mean, spread and outcome (n, 3), how many are new, and the correction."""

    rows: Array = _check.read_only(np.empty((0, 3)))
    new: int = 0
    correction: Correction = Correction()

    def after(self, row: Sequence[float], memory: int) -> Track:
        """Return the record with another row."""
        rows = np.concatenate([self.rows[max(0, len(self.rows) + 1 - memory) :], [row]])
        if self.new + 1 < STALE * len(rows):
            return Track(rows, self.new + 1, self.correction)
        return Track(rows, 0, fit(*rows.T))

    def joined(self, other: Track, memory: int) -> Track:
        """Return the record of both, the latest rows of each."""
        ages = np.concatenate([np.arange(len(self.rows), 0, -1), np.arange(len(other.rows), 0, -1)])
        rows = np.concatenate([self.rows, other.rows])[np.argsort(-ages, kind="stable")][-memory:]
        return Track(rows, 0, fit(*rows.T)) if len(rows) else self


class Recalibrated:
    """Learn the bias and spread of forecasts' errors from contexts as they are revealed, and correct beliefs by them.

    Each dimension has its own correction (`calibration.fit`): its mean is regressed on the forecast's mean, and its
    spread is stretched or shrunk to the size of the errors so far. The correction grows with the evidence. Beliefs stay
    of their kind if possible and keep their correlations; a forecast without spread gets one from the errors, so that a
    point becomes normal. Dimensions that never err, such as constants, stay as they are. Wild outcomes do little harm
    while they are fewer than a fifth. Each of the first two errors counts as 30 spreads at most; if forecasts have no
    spread, it counts in full. A `Sampler` is drawn from 10,000 times to estimate its mean and spread.

    Parameters
    ----------
    memory : how many of the latest outcomes to go by; fewer follow a change in the forecasts sooner

    Examples
    --------
    >>> from overcast import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> fixed = Recalibrated()
    >>> for day in range(300):
    ...     forecast = Gaussian([rng.uniform(10, 30)], 1.0)
    ...     fixed.learn(forecast, context=rng.normal(forecast.mean() + 2.0, 3.0))  # two too low, and far too sure
    >>> better = fixed(Gaussian([20.0], 1.0))
    >>> better.mean().round(1), np.sqrt(better.variance()).round(1)
    (array([22.]), array([2.9]))
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self.memory = _check.integer("Recalibrated", "memory", memory, at_least=2)
        self._tracks: tuple[Track, ...] = ()

    def __call__(self, belief: Any) -> Belief:
        """Return the belief, or anything `as_belief` takes, corrected by the outcomes so far."""
        belief = as_belief(belief)
        self._fitting(belief.dim)
        return self.correct(belief, belief.stated_error()) if self.outcomes else belief

    def learn(self, belief: Any, context: ArrayLike | Belief) -> None:
        """Learn the outcome of a forecast.

        Parameters
        ----------
        belief : the forecast as it was, uncorrected
        context : c_t; or a belief if it was measured in part: dimensions that it leaves uncertain teach nothing
        """
        belief = as_belief(belief)
        self._fitting(belief.dim)
        self.take(self.lesson(belief.stated_error(), context))

    @property
    def outcomes(self) -> int:
        """How many outcomes the corrections go by."""
        return max((len(track.rows) for track in self._tracks), default=0)

    @property
    def bias(self) -> Array:
        """(c,) the correction of the usual forecast's mean."""
        return np.array([track.correction.bias for track in self._tracks])

    @property
    def slope(self) -> Array:
        """(c,) how far the corrected mean moves when the forecast's mean moves by one."""
        return np.array([1.0 + track.correction.slope for track in self._tracks])

    @property
    def factor(self) -> Array:
        """(c,) multiplies the usual spread: above 1 if over-confident, 1 for constants, infinite if sure but wrong."""
        return np.array([_factor(track) for track in self._tracks])

    def __repr__(self) -> str:
        if not self.outcomes:
            return f"Recalibrated(memory={self.memory}; nothing learnt)"
        known = {"bias": self.bias, "slope": self.slope, "factor": self.factor}
        learnt = ", ".join(f"{name}=[{', '.join(f'{x:.3g}' for x in values)}]" for name, values in known.items())
        return f"Recalibrated(memory={self.memory}; {self.outcomes} outcomes, {learnt})"

    def _repr_html_(self) -> str:
        """Return the correction of each dimension as a table, for notebooks."""
        parts = zip(self.bias.tolist(), self.slope.tolist(), self.factor.tolist(), strict=True)
        rows = [[f"c{i + 1}", *_html.numbers(*part)] for i, part in enumerate(parts)] if self.outcomes else []
        title = f"Correction of forecasts by {self.outcomes:,} outcomes"
        return _html.table(title, ["", "bias", "slope", "spread times"], rows)

    def correct(self, belief: Belief, stated: Array) -> Belief:
        """Return the belief corrected; `stated` (2, c) is its `stated_error`."""
        move = self.move(stated)
        return belief if move is None else belief.moved(*move)

    def move(self, stated: Array) -> tuple[Array, Array, Array] | None:
        """Return shift, scale and blur (c,) that correct a belief (`Belief.moved`), given its `stated_error` (2, c).

        None if it stays as it is.
        """
        c = stated.shape[1]
        self._fitting(c)
        _check_size("belief", stated)
        if not self.outcomes:
            return None
        shift, scale, blur = np.zeros(c), np.ones(c), np.zeros(c)
        for i, (track, m, s) in enumerate(zip(self._tracks, *stated, strict=True)):
            correction = track.correction
            if correction == Correction():
                continue
            mean, deviation = correction.mean(m), correction.deviation(s)
            if s > NEGLIGIBLE * deviation:
                scale[i] = deviation / s
            else:
                blur[i] = deviation
            shift[i] = mean - scale[i] * m
        return shift, scale, blur

    def lesson(self, stated: Array, context: ArrayLike | Belief) -> tuple[Track, ...]:
        """Return the records with another outcome, for `take` to adopt."""
        c = stated.shape[1]
        if isinstance(context, Belief):
            if context.dim != c:
                raise ValueError(f"Recalibrated: context must have dimension {c}, got {context.dim}")
            known, values = context.variance() == 0.0, context.mean()
        else:
            known, values = np.ones(c, dtype=bool), _check.vector("Recalibrated", "context", context, c)
        _check_size("belief", stated)
        _check_size("context", values[known])
        rows = np.column_stack([*stated, values]).tolist()
        each = zip(self._tracks or (Track(),) * c, rows, known, strict=True)
        return tuple(track.after(row, self.memory) if told else track for track, row, told in each)

    def take(self, lesson: tuple[Track, ...]) -> None:
        """Adopt the records that `lesson` returned."""
        self._tracks = lesson

    def joined(self, other: Recalibrated) -> Recalibrated:
        """Return a corrector that has learnt from the latest outcomes of both."""
        out = Recalibrated(self.memory)
        if self._tracks and other._tracks:
            both = zip(self._tracks, other._tracks, strict=True)
            out._tracks = tuple(mine.joined(theirs, self.memory) for mine, theirs in both)
        else:
            out._tracks = self._tracks or other._tracks
        return out

    def state(self) -> dict[str, Array]:
        """Return the records as arrays."""
        return {
            "rows": np.concatenate([track.rows for track in self._tracks]) if self._tracks else np.empty((0, 3)),
            "lengths": np.array([len(track.rows) for track in self._tracks], dtype=np.int64),
            "new": np.array([track.new for track in self._tracks], dtype=np.int64),
            "corrections": np.array([track.correction for track in self._tracks]).reshape(-1, len(Correction())),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the records that `state` returned."""
        lengths = state["lengths"].tolist()
        if sum(lengths) != len(state["rows"]):
            raise ValueError("the outcomes do not fit their numbers")
        pieces = np.split(state["rows"].reshape(-1, 3), np.cumsum(lengths)[:-1]) if lengths else []
        corrections = [Correction(*row) for row in state["corrections"].reshape(-1, len(Correction())).tolist()]
        self._tracks = tuple(Track(*parts) for parts in zip(pieces, state["new"].tolist(), corrections, strict=True))

    def _fitting(self, dim: int) -> None:
        if self._tracks and dim != len(self._tracks):
            raise ValueError(f"Recalibrated: belief must have dimension {len(self._tracks)}, got {dim}")


def recalibrate(beliefs: Iterable[Any], outcomes: ArrayLike, memory: int = MEMORY) -> list[Belief]:
    """Return t forecasts, each corrected by the outcomes (t, c) of those before it, or (t,) for one dimension.

    Examples
    --------
    >>> recalibrate([[20.0], [21.0], [25.0]], [23.0, 24.0, 28.0])[-1].mean()  # three too low twice
    array([26.2])
    """
    fixed, forecasts, out = Recalibrated(memory), list(beliefs), []
    happened = _check.floats("recalibrate", "outcomes", outcomes)
    if happened.ndim == 0 or len(happened) != len(forecasts):
        must = f"recalibrate: outcomes must be one for each of the {len(forecasts)} beliefs"
        raise ValueError(f"{must}, got {happened.shape}")
    for belief, context in zip(forecasts, happened, strict=True):
        out.append(fixed(belief))
        fixed.learn(belief, context)
    return out


def _check_size(name: str, values: Array) -> None:
    """Raise ValueError unless sums of squares of these numbers stay within the range of floating-point numbers."""
    for value in values.ravel().tolist():
        if not abs(value) <= MAX_SIZE:
            must = f"{name} must hold numbers of size {MAX_SIZE:g} at most"
            raise ValueError(f"Recalibrated: {must}, got {value}; leave out values that stand for missing ones")


def _factor(track: Track) -> float:
    correction = track.correction
    if correction == Correction():
        return 1.0
    spreads = track.rows[:, 1]
    usual = float(np.sqrt(np.mean((spreads / (spreads.max() or 1.0)) ** 2))) * float(spreads.max())
    return correction.deviation(usual) / usual if usual > 0.0 else np.inf
