"""Correct forecasts by the outcomes of earlier ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check, _html
from overcast._check import Array
from overcast.adapters import as_belief, tuples
from overcast.beliefs import Belief
from overcast.calibration import reshape, stored
from overcast.calibration.below import Watch
from overcast.calibration.bounds import Range, ranges
from overcast.calibration.track import LearntTrack, Track

# The sum of squares of larger forecasts and outcomes could overflow.
MAX_SIZE = 1e150
# Largest memory in numbers of outcomes.
MAX_MEMORY = 1_000_000_000
# A spread below this share of the corrected one counts as zero: stretching it would amplify rounding errors.
NEGLIGIBLE = 1e-9


class Recalibrated:
    """Learn the bias and spread of forecast errors from revealed contexts, and correct beliefs by them.

    Each dimension has its own correction: its mean is regressed on the forecast's mean, and its spread is scaled to the
    size of past errors. The memory is learnt: experts with many memories run side by side, weighted by their predictive
    likelihoods (`calibration.bank`). The correction grows with the evidence.

    Beliefs keep their class if possible, and the order of their members: an ensemble of up to 200 members becomes
    quantiles of a normal distribution, 50 or more, in the order of the members. A forecast without spread gets the
    spread of the errors: a point becomes normal. Dimensions without errors, such as constants, are not corrected.
    Outliers do little harm while they are fewer than a tenth; with a fixed memory, fewer than a fifth. Each of the
    first two errors is clipped to 30 spreads, unless forecasts have no spread. The mean and spread of a `Sampler` are
    estimated from 10,000 draws.

    Parameters
    ----------
    memory : None to learn it; or the number of latest outcomes to use, from 2 to a thousand million
    bounds : (low, high) of all outcomes, None for no bound, or one such pair per dimension: (0, None) for rain.
        Corrected beliefs are ensembles within the bounds, with their share of members on a bound. A correction warns
        once if it goes below zero where neither forecasts nor outcomes did

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
    (array([21.9]), array([3.]))
    """

    def __init__(self, memory: int | None = None, bounds: Any = None) -> None:
        self.memory = None if memory is None else _check.integer("Recalibrated", "memory", memory, at_least=2)
        if self.memory is not None and self.memory > MAX_MEMORY:
            got = _check.short(self.memory)
            raise ValueError(f"Recalibrated: memory must be {MAX_MEMORY} at most, got {got}; leave it out to learn it")
        self._ranges = ranges(bounds)
        self._tracks: tuple[Track | LearntTrack, ...] = ()
        self._watch = Watch()

    def __call__(self, belief: Any) -> Belief:
        """Return a belief, or anything `as_belief` takes, corrected by past outcomes."""
        belief = as_belief(belief)
        self._check_dim(belief.dim)
        return self.correct(belief, belief.stated_error()) if self.outcomes else belief

    def learn(self, belief: Any, context: ArrayLike | Belief) -> None:
        """Learn the outcome of a forecast.

        Parameters
        ----------
        belief : the forecast as it was, uncorrected
        context : c_t; or a belief if it was measured in part: dimensions that it leaves uncertain teach nothing
        """
        belief = as_belief(belief)
        self._check_dim(belief.dim)
        self.take(self.lesson(belief.stated_error(), context))

    @property
    def bounds(self) -> tuple[tuple[float | None, float | None], ...] | None:
        """The bounds of outcomes, one pair for all dimensions or one each; None if there are none."""
        return tuple(bounds.pair() for bounds in self._ranges) or None

    @property
    def outcomes(self) -> int:
        """The number of outcomes in use."""
        return max((track.size for track in self._tracks), default=0)

    @property
    def memories(self) -> Array:
        """(c,) the number of latest outcomes in use: with experts, the weighted harmonic mean of their memories."""
        banks = ((track, track.bank if isinstance(track, LearntTrack) else None) for track in self._tracks)
        return np.array([track.size if bank is None else bank.memory for track, bank in banks], dtype=float)

    @property
    def bias(self) -> Array:
        """(c,) the correction of the usual forecast's mean; with one bound, of the root of its distance from it."""
        return np.array([track.summary[0] for track in self._tracks])

    @property
    def slope(self) -> Array:
        """(c,) how far the corrected mean moves when the forecast's mean moves by one."""
        return np.array([track.summary[1] for track in self._tracks])

    @property
    def factor(self) -> Array:
        """(c,) multiplies the usual spread: above 1 if over-confident, 1 for constants, infinite if sure but wrong."""
        return np.array([track.summary[2] for track in self._tracks])

    def __repr__(self) -> str:
        settings = [] if self.memory is None else [f"memory={self.memory}"]
        settings += (
            [] if self.bounds is None else [f"bounds={self.bounds[0] if len(self.bounds) == 1 else self.bounds}"]
        )
        corrections = {"bias": self.bias, "slope": self.slope, "factor": self.factor}
        corrections |= {} if self.memory is not None else {"memory": self.memories}
        learnt = ", ".join(f"{name}=[{', '.join(f'{x:.3g}' for x in values)}]" for name, values in corrections.items())
        summary = f"{self.outcomes} outcomes, {learnt}" if self.outcomes else "nothing learnt"
        return f"Recalibrated({'; '.join([*settings, summary])})"

    def _repr_html_(self) -> str:
        """Return the correction of each dimension as a table, for notebooks."""
        parts = zip(self.bias.tolist(), self.slope.tolist(), self.factor.tolist(), strict=True)
        rows = [[f"c{i + 1}", *_html.numbers(*part)] for i, part in enumerate(parts)] if self.outcomes else []
        title = f"Correction of forecasts by {self.outcomes:,} outcomes"
        return _html.table(title, ["", "bias", "slope", "spread times"], rows)

    def correct(self, belief: Belief, stated: Array) -> Belief:
        """Return the corrected belief; `stated` (2, c) is its `stated_error`."""
        move = self.move(belief, stated)
        return belief if move is None else belief.moved(*move)

    def move(self, belief: Belief, stated: Array) -> tuple[Array, Array, Array, Array | None] | None:
        """Return the arguments of `Belief.moved` that correct a belief: shift, scale, blur (c,), points (n, c) or None.

        `stated` (2, c) is its `stated_error`. None before the first outcome.
        """
        c = stated.shape[1]
        self._check_dim(c)
        _check_size("belief", stated)
        if not self.outcomes:
            return None
        each = list(zip(self._tracks, self._ranges_of(c), stated.T.tolist(), strict=True))
        predictions = [track.predicted(*_inward(bounds, m, s)) for track, bounds, (m, s) in each]
        shift, scale, blur = np.zeros(c), np.ones(c), np.zeros(c)
        free = {i: pair for i, pair in enumerate(predictions) if pair is not None and each[i][1].free}
        if self._reshapes(belief, c):
            self._watch.check(belief, free, {})
            margins = [None if pair is None else (*pair, e[1]) for pair, e in zip(predictions, each, strict=True)]
            return shift, scale, blur, reshape.members(belief, margins)
        for i, ((_, _, (m, s)), pair) in enumerate(zip(each, predictions, strict=True)):
            if pair is None:
                continue
            mean, deviation = pair
            if s > NEGLIGIBLE * deviation:
                scale[i] = deviation / s
            else:
                blur[i] = deviation
            shift[i] = mean - scale[i] * m
        self._watch.check(belief, free, {i: -shift[i] / scale[i] for i in free if not blur[i] and scale[i] > 0.0})
        return shift, scale, blur, None

    def lesson(self, stated: Array, context: ArrayLike | Belief) -> tuple[Track | LearntTrack, ...]:
        """Return the tracks with another outcome, for `take`; change nothing."""
        c = stated.shape[1]
        self._check_dim(c)
        if isinstance(context, Belief):
            if context.dim != c:
                raise ValueError(f"Recalibrated: context must have dimension {c}, got {context.dim}")
            known, values = context.variance() == 0.0, context.mean()
        else:
            known, values = np.ones(c, dtype=bool), _check.vector("Recalibrated", "context", context, c)
        _check_size("belief", stated)
        _check_size("context", values[known])
        out = list(self._tracks or (self._new_track(),) * c)
        for i, bounds in enumerate(self._ranges_of(c)):
            m, s, y = float(stated[0, i]), float(stated[1, i]), float(values[i])
            if not known[i]:
                continue
            if not bounds.low <= y <= bounds.high:
                must = f"context must lie within the bounds {bounds.pair()}"
                raise ValueError(f"Recalibrated: {must}, got {y} in dimension {i}")
            self._watch.take(i, m, y)
            row, track = (*_inward(bounds, m, s), y if bounds.free else bounds.inward(y)), out[i]
            if isinstance(track, LearntTrack):
                out[i] = track.after(row, bounds.limits)
            else:
                out[i] = track.after(row, self.memory or 0)
        return tuple(out)

    def take(self, lesson: tuple[Track | LearntTrack, ...]) -> None:
        """Replace the tracks by those that `lesson` returned."""
        self._tracks = lesson

    def joined(self, other: Recalibrated) -> Recalibrated:
        """Merge two correctors."""
        out = Recalibrated(self.memory, self.bounds)
        if not self._tracks or not other._tracks:
            out._tracks = self._tracks or other._tracks
            return out
        joined: list[Track | LearntTrack] = []
        for mine, theirs, bounds in zip(self._tracks, other._tracks, self._ranges_of(len(self._tracks)), strict=True):
            if isinstance(mine, LearntTrack) and isinstance(theirs, LearntTrack):
                joined.append(mine.joined(theirs, bounds.limits))
            elif isinstance(mine, Track) and isinstance(theirs, Track):
                joined.append(mine.joined(theirs, self.memory or 0))
            else:
                raise ValueError(f"Recalibrated: memory must be that of the other, {other.memory}, got {self.memory}")
        out._tracks = tuple(joined)
        return out

    def config(self) -> Any:
        """Return memory and bounds as JSON data, for `of`; a number if there is a memory alone."""
        if self.memory is not None and self.bounds is None:
            return self.memory
        return {"memory": self.memory, "bounds": None if self.bounds is None else [list(pair) for pair in self.bounds]}

    @classmethod
    def of(cls, config: Any) -> Recalibrated:
        """Build a corrector from what `config` returned."""
        if not isinstance(config, dict):
            return cls(config)
        if config.keys() != {"memory", "bounds"}:
            raise ValueError(f"Recalibrated: config must have memory and bounds, got {_check.short(config)}")
        return cls(config["memory"], config["bounds"])

    def state(self) -> dict[str, Array]:
        """Return the tracks as arrays."""
        return stored.to_arrays(self._tracks, self.memory is None)

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the tracks from what `state` returned."""
        tracks = stored.from_arrays(state, self.memory is None)
        for track in tracks:
            _check_size("rows", track.rows)
            _check_size("spread", np.array([track.correction.usual]))
        self._tracks = tracks

    def _new_track(self) -> Track | LearntTrack:
        return LearntTrack() if self.memory is None else Track()

    def _ranges_of(self, c: int) -> tuple[Range, ...]:
        """Return the range of each of c dimensions."""
        return self._ranges if len(self._ranges) > 1 else (self._ranges or (Range(),)) * c

    def _reshapes(self, belief: Belief, c: int) -> bool:
        """Return whether the correction replaces the shape of a belief; with a fixed memory only bounds do."""
        each = self._ranges_of(c)
        return reshape.is_reshaped(belief, each) if self.memory is None else any(not bounds.free for bounds in each)

    def _check_dim(self, dim: int) -> None:
        """Raise ValueError unless this is the dimension of earlier outcomes and of the bounds."""
        if self._tracks and dim != len(self._tracks):
            raise ValueError(f"Recalibrated: belief must have dimension {len(self._tracks)}, got {dim}")
        if len(self._ranges) > 1 and dim != len(self._ranges):
            raise ValueError(f"Recalibrated: belief must have dimension {len(self._ranges)} like bounds, got {dim}")


def recalibrate(
    beliefs: Iterable[Any], outcomes: ArrayLike, memory: int | None = None, bounds: Any = None
) -> list[Belief]:
    """Correct each of t forecasts by the outcomes (t, c) before it, or (t,) for one dimension.

    `memory` and `bounds` are those of `Recalibrated`.

    Examples
    --------
    >>> recalibrate([[20.0], [21.0], [25.0]], [23.0, 24.0, 28.0])[-1].mean()  # three too low twice
    array([26.2])
    """
    tuples.check_cube(beliefs)
    fixed, forecasts, out = Recalibrated(memory, bounds), list(beliefs), []
    happened = _check.floats("recalibrate", "outcomes", outcomes)
    if happened.ndim == 0 or len(happened) != len(forecasts):
        must = f"recalibrate: outcomes must be one for each of the {len(forecasts)} beliefs"
        raise ValueError(f"{must}, got {happened.shape}")
    for belief, context in zip(forecasts, happened, strict=True):
        out.append(fixed(belief))
        fixed.learn(belief, context)
    return out


def _check_size(name: str, values: Array) -> None:
    """Raise ValueError for numbers so large that sums of their squares may overflow."""
    for value in values.ravel().tolist():
        if not abs(value) <= MAX_SIZE:
            must = f"{name} must hold numbers of size {MAX_SIZE:g} at most"
            raise ValueError(f"Recalibrated: {must}, got {value}; leave out values that stand for missing ones")


def _inward(bounds: Range, m: float, s: float) -> tuple[float, float]:
    """Convert a forecast's mean and spread to those of the normal variable behind bounded outcomes."""
    return (m, s) if bounds.free else (bounds.inward(m), bounds.spread(m, s))
