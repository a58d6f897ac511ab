"""Forecasts corrected by what happened after earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs import Belief, as_belief
from overcast.calibration.fit import Correction, fit
from overcast.calibration.move import move
from overcast.calibration.spread import centre_and_spread

#: outcomes a correction goes by, the latest ones
MEMORY = 500
# A correction is made anew once the outcomes since the last one are this share of those it goes by.
STALE = 0.02
# A spread this much smaller than the corrected one is none: stretching it would blow up rounding errors.
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
    """Learns the bias and the spread that forecasts lack from contexts as they are revealed, and corrects beliefs.

    Each dimension has a correction of its own (`calibration.fit`): its mean is regressed on the forecast's, its spread
    stretched or shrunk to the size of the errors so far. Outcomes count in the order in which they come, and nothing is
    known of later ones. It starts with no correction, and moves away from it as evidence grows. Beliefs stay of their
    kind where that is possible (a normal belief stays normal, an ensemble an ensemble) and keep their correlations. A
    forecast without any spread gets one from the errors: a point becomes normal. Dimensions that never err, such as
    constants, are left alone. Wild outcomes do little harm while they are fewer than a fifth; the errors of the first
    two outcomes count at most as 30 spreads, and in full where forecasts have none. A `Sampler` is drawn from 10,000
    times to know its mean and spread.

    Parameters
    ----------
    memory : the number of latest outcomes to go by; fewer follow a change in the forecasts sooner

    Examples
    --------
    >>> from overcast import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> fixed = Recalibrated()
    >>> for day in range(300):
    ...     forecast = Gaussian([rng.uniform(10, 30)], 1.0)
    ...     fixed.learn(forecast, context=rng.normal(forecast.mean() + 2.0, 3.0))  # two too low, and too sure by far
    >>> better = fixed(Gaussian([20.0], 1.0))
    >>> better.mean().round(1), np.sqrt(better.variance()).round(1)
    (array([22.]), array([2.9]))
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self.memory = _check.integer("Recalibrated", "memory", memory, at_least=2)
        self._tracks: tuple[Track, ...] = ()

    def __call__(self, belief: Any) -> Belief:
        """Return the belief, corrected by what was learnt so far; anything `as_belief` takes will do."""
        belief = as_belief(belief)
        self._fitting(belief.dim)
        return self.correct(belief, centre_and_spread(belief)) if self.outcomes else belief

    def learn(self, belief: Any, context: ArrayLike | Belief) -> None:
        """Take in what came of a forecast.

        Parameters
        ----------
        belief : the forecast as it was, uncorrected
        context : c_t; or a belief where it was measured in part: dimensions that it leaves uncertain teach nothing
        """
        belief = as_belief(belief)
        self._fitting(belief.dim)
        self.take(self.lesson(centre_and_spread(belief), context))

    @property
    def outcomes(self) -> int:
        """How many outcomes the corrections go by."""
        return max((len(track.rows) for track in self._tracks), default=0)

    @property
    def bias(self) -> Array:
        """(c,) what is added to the mean of the usual forecast."""
        return np.array([track.correction.bias for track in self._tracks])

    @property
    def slope(self) -> Array:
        """(c,) what the mean moves by when the forecast's mean moves by one."""
        return np.array([1.0 + track.correction.slope for track in self._tracks])

    @property
    def factor(self) -> Array:
        """(c,) what the usual spread is multiplied by: above one where forecasts are over-confident; 1 for constants.

        Infinite where forecasts claim to know the context but do not.
        """
        return np.array([_factor(track) for track in self._tracks])

    def __repr__(self) -> str:
        if not self.outcomes:
            return f"Recalibrated(memory={self.memory}; nothing learnt)"
        learnt = ", ".join(
            f"{name}=[{', '.join(f'{value:.3g}' for value in values)}]"
            for name, values in (("bias", self.bias), ("slope", self.slope), ("factor", self.factor))
        )
        return f"Recalibrated(memory={self.memory}; {self.outcomes} outcomes, {learnt})"

    def correct(self, belief: Belief, note: Array) -> Belief:
        """Return the belief, of which `note` is centre and spread (2, c), corrected."""
        self._fitting(belief.dim)
        if not self.outcomes:
            return belief
        shift, scale, noise = np.zeros(belief.dim), np.ones(belief.dim), np.zeros(belief.dim)
        for i, (track, m, s) in enumerate(zip(self._tracks, *note, strict=True)):
            correction = track.correction
            if correction == Correction():
                continue
            mean, deviation = correction.mean(m), correction.deviation(s)
            if s > NEGLIGIBLE * deviation:
                scale[i] = deviation / s
            else:
                noise[i] = deviation
            shift[i] = mean - scale[i] * m
        return move(belief, shift, scale, noise)

    def lesson(self, note: Array, context: ArrayLike | Belief) -> tuple[Track, ...]:
        """Return what the records become with another outcome; `take` makes it so."""
        c = note.shape[1]
        if isinstance(context, Belief):
            if context.dim != c:
                raise ValueError(f"Recalibrated: context must have dimension {c}, got {context.dim}")
            known, values = context.variance() == 0.0, context.mean()
        else:
            values = _check.vector("Recalibrated", "context", context, c)
            known = np.ones(c, dtype=bool)
        tracks = self._tracks or (Track(),) * c
        rows = np.column_stack([*note, values]).tolist()
        return tuple(
            track.after(row, self.memory) if told else track
            for track, row, told in zip(tracks, rows, known, strict=True)
        )

    def take(self, lesson: tuple[Track, ...]) -> None:
        """Go on with the records that `lesson` returned."""
        self._tracks = lesson

    def joined(self, other: Recalibrated) -> Recalibrated:
        """Return one that has learnt what both have, the latest outcomes of each."""
        out = Recalibrated(self.memory)
        if self._tracks and other._tracks:
            both = zip(self._tracks, other._tracks, strict=True)
            out._tracks = tuple(mine.joined(theirs, self.memory) for mine, theirs in both)
        else:
            out._tracks = self._tracks or other._tracks
        return out

    def state(self) -> dict[str, Array]:
        """Return what was learnt, as arrays."""
        return {
            "rows": np.concatenate([track.rows for track in self._tracks]) if self._tracks else np.empty((0, 3)),
            "lengths": np.array([len(track.rows) for track in self._tracks], dtype=np.int64),
            "new": np.array([track.new for track in self._tracks], dtype=np.int64),
            "corrections": np.array([track.correction for track in self._tracks]).reshape(-1, len(Correction())),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
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
    """Return t forecasts, each corrected by what came of those before it; outcomes (t, c), or (t,) for one dimension.

    Examples
    --------
    >>> recalibrate([[20.0], [21.0], [25.0]], [23.0, 24.0, 28.0])[-1].mean()  # three too low twice
    array([26.2])
    """
    fixed, forecasts, out = Recalibrated(memory), list(beliefs), []
    happened = _check.floats("recalibrate", "outcomes", outcomes)
    if happened.ndim == 0 or len(happened) != len(forecasts):
        raise ValueError(
            f"recalibrate: outcomes must be one for each of the {len(forecasts)} beliefs, got {happened.shape}"
        )
    for belief, context in zip(forecasts, happened, strict=True):
        out.append(fixed(belief))
        fixed.learn(belief, context)
    return out


def _factor(track: Track) -> float:
    correction = track.correction
    if correction == Correction():
        return 1.0
    spreads = track.rows[:, 1]
    usual = float(np.sqrt(np.mean((spreads / (spreads.max() or 1.0)) ** 2))) * float(spreads.max())
    return correction.deviation(usual) / usual if usual > 0.0 else np.inf
