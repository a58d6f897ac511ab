"""A seeded family of small problems in many units, on which a default that needs no tuning is judged.

A problem lives in *native* coordinates, in which its rewards are drawn. A learner sees it in one of three ways
(`Shown`): one problem serves the default in raw units and opponents on standardised features, with the same luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

import overcast as oc
from overcast._check import Array
from overcast.beliefs.stacked import BeliefStack, Catalogue, GaussianStack, PointStack
from overcast.environments.base import Rngs, Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Bilinear, Disjoint, FeatureMap, Fourier, Linear, Polynomial, Quadratic
from overcast.features.design import Design
from overcast.kernels import RBF, Product
from overcast.models import Model
from overcast.simulation import Setting

#: "own": raw coordinates and rewards; "standard": standardised coordinates; "strict": rewards without their offset too
Shown = Literal["own", "standard", "strict"]
#: rounds after which regret is compared
HORIZONS = 30, 100, 300, 1000
#: the seeds of the two parts of the family
SEEDS = {"choose": 1, "held-out": 2711}
PARTS = "choose", "held-out", "known"
# Members of an ensemble.
MEMBERS = 5
# Standard deviations at which the contexts of bounded problems end.
EDGE = 2.0
# Chances of Bernoulli rewards stay this close to one half.
REACH = 0.45


@dataclass(frozen=True)
class Units:
    """How coordinates are shown: times `unit`, plus `zero`; one number for all, or one for each."""

    unit: tuple[float, ...] | float = 1.0
    zero: tuple[float, ...] | float = 0.0

    def of(self, values: Array) -> Array:
        """Return values (..., n) as they are shown."""
        return np.asarray(values * np.asarray(self.unit) + np.asarray(self.zero))

    def lengths(self, length: float, n: int) -> tuple[float, ...]:
        """Return a native length in the unit of each of n coordinates."""
        return tuple(float(length * u) for u in np.broadcast_to(self.unit, n))


@dataclass(frozen=True)
class Waves:
    """Curved rewards: a sum of cosines of x and c, with frequencies from the spectral density of an RBF kernel.

    length : length scale of the kernel, which the learner is given
    learner : "fourier" learns with Fourier features of the kernel, "kernel" with the kernel itself
    """

    length: float
    learner: Literal["fourier", "kernel"]
    count: int = 12
    n: int = 30


@dataclass(frozen=True)
class Problem(VectorEnvironment):
    """Rewards of one shape, and a learner that sees actions, forecasts and rewards in units of its own.

    shape : the map in which rewards are linear in native coordinates, or waves
    k, a : number and dimension of the actions
    actions : "normal" draws k vectors for each trial, "grid" spreads k numbers from low to high, "own" takes k unit
        vectors
    centre, between, within : for each coordinate of the context its mean, the standard deviation of forecasts around
        it, and that of contexts around their forecast
    action_units, context_units : of raw and of standardised coordinates, from the native ones
    theta : the parameters; None draws them for each trial, so that the rewards of actions have standard deviation one
    decay : the i-th parameter is drawn with standard deviation i^-decay, in random order
    offset, scale : rewards are (f + offset + noise) * scale
    noise, noise_kind : standard deviation and distribution; "bernoulli" makes rewards 0 or 1 with chance f + offset
    belief : shape of the forecasts: normal, an ensemble of five, or the context itself
    mixed : on every other day, forecasts are ten times sharper
    stated : the variance that forecasts state, as a multiple of the true one
    cautious : forecasts state the variance of vague days on sharp days too
    delay : rounds until a reward arrives
    steps : rounds of a run
    shown : what the learner sees
    """

    name: str
    shape: FeatureMap | Waves
    k: int
    a: int = 1
    actions: Literal["normal", "grid", "own"] = "normal"
    low: float = -1.7
    high: float = 1.7
    centre: tuple[float, ...] = (0.0,)
    between: tuple[float, ...] = (math.sqrt(0.5),)
    within: tuple[float, ...] = (math.sqrt(0.5),)
    action_units: tuple[Units, Units] = (Units(), Units())
    context_units: tuple[Units, Units] = (Units(), Units())
    theta: tuple[float, ...] | None = None
    decay: float = 0.0
    offset: float = 0.0
    scale: float = 1.0
    noise: float = 0.5
    noise_kind: Literal["normal", "t", "bernoulli"] = "normal"
    belief: Literal["normal", "ensemble", "point"] = "normal"
    mixed: bool = False
    stated: float = 1.0
    cautious: bool = False
    delay: int = 0
    steps: int = 1000
    shown: Shown = "own"

    @property
    def standard(self) -> bool:
        """Whether coordinates are shown standardised."""
        return self.shown != "own"

    @property
    def shown_offset(self) -> float:
        """The offset of the rewards that are shown."""
        return 0.0 if self.shown == "strict" else self.offset

    @property
    def certain(self) -> bool:
        """Whether the context is always known, so that the hidden and the observed setting are the same."""
        return self.belief == "point" or not any(self.within)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that differ."""
        return ("hidden",) if self.certain else ("hidden", "observed")

    @property
    def horizons(self) -> tuple[int, ...]:
        """The horizons to judge: 30, 100 and the last."""
        return tuple(t for t in HORIZONS if t in (30, 100, self.steps) and t <= self.steps)

    @property
    def calibrated(self) -> bool:  # type: ignore[override]
        return self.stated == 1.0 and not self.cautious

    @property
    def well_specified(self) -> bool:
        """Whether all that the model assumes is true: linear rewards, normal noise, true forecasts, no delay."""
        linear = isinstance(self.shape, FeatureMap)
        return linear and self.noise_kind == "normal" and self.calibrated and not self.delay

    @property
    def d(self) -> int:
        """The number of features; 0 for a kernel."""
        if isinstance(self.shape, Waves):
            return self.shape.n if self.shape.learner == "fourier" else 0
        return self.shape.size(self.k if self.actions == "own" else self.a, len(self.centre))

    def seen(self, shown: Shown) -> Problem:
        """Return the same problem as another learner sees it; the plainest of those that are the same."""
        if shown == "strict" and not self.offset:
            shown = "standard"
        units = self.action_units[0] == self.action_units[1] and self.context_units[0] == self.context_units[1]
        if shown == "standard" and (units or isinstance(self.shape, Waves)) and self.scale == 1.0:
            shown = "own"
        return replace(self, shown=shown)

    def model(self, ridge: float | None = None) -> Model:
        """Return the model that fits the problem: without any number, or with a ridge."""
        if isinstance(self.shape, FeatureMap):
            return oc.LinearModel(self.shape, ridge=ridge)
        length, units = self.shape.length, (self.action_units[self.standard], self.context_units[self.standard])
        scales = units[0].lengths(length, self.a), units[1].lengths(length, len(self.centre))
        kernel = Product(*(RBF(own) for own in scales))
        if self.shape.learner == "fourier":
            return oc.LinearModel(Fourier(kernel, self.shape.n), ridge=ridge)
        return oc.KernelModel(kernel) if ridge is None else oc.KernelModel(kernel, ridge=ridge)

    def start_all(self, rngs: Rngs) -> Trials:
        return _Trials(self, rngs)


class _Trials(Trials):
    def __init__(self, problem: Problem, rngs: Rngs) -> None:
        self._problem, c = problem, len(problem.centre)
        own, days, epsilon = zip(*(rng.spawn(3) for rng in rngs), strict=True)
        native = _actions(problem, own)
        self._rewards = (_Linear if isinstance(problem.shape, FeatureMap) else _Cosines)(problem, native, own)
        self.actions = problem.action_units[problem.standard].of(native)
        # The forecast's mean, the context or the members around it, the sharpness of the day, and which member is true.
        self._days = Stream(days, c + MEMBERS * c + 2)
        self._epsilon = Stream(epsilon, 1)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        p, c, draws = self._problem, len(self._problem.centre), self._days.next()
        r, units = len(draws), p.context_units[p.standard]
        z, around = draws[:, :c], draws[:, c:-2].reshape(r, MEMBERS, c)
        if p.noise_kind == "bernoulli":
            z, around = np.clip(z, -EDGE, EDGE), np.clip(around, -EDGE, EDGE)
        mean = p.centre + np.asarray(p.between) * z
        vague = np.broadcast_to(p.within, mean.shape)
        within = np.where(draws[:, -2:-1] > 0.0, vague, 0.1 * vague) if p.mixed else vague
        belief: BeliefStack
        if p.belief == "point":
            context, belief = mean, PointStack(units.of(mean))
            rewards = expected = self._rewards(mean)
        elif p.belief == "ensemble":
            members = mean[:, None] + within[:, None] * around
            values = np.stack([self._rewards(member) for member in members.swapaxes(0, 1)], axis=1)
            true = np.arange(r), np.minimum(ndtr(draws[:, -1]) * MEMBERS, MEMBERS - 1).astype(np.intp)
            context, rewards, expected = members[true], values[true], values.mean(axis=1)
            belief = Catalogue([oc.Ensemble(points) for points in units.of(members)]).pick(np.arange(r))
        else:
            context = mean + within * around[:, 0]
            rewards, expected = self._rewards(context), self._rewards(mean, within**2)
            variance = p.stated * (vague if p.cautious else within) ** 2
            belief = GaussianStack(units.of(mean), variance * np.asarray(units.unit) ** 2)
        epsilon = self._noise(rewards + p.offset)
        rewards, expected = (p.scale * (values + p.shown_offset) for values in (rewards, expected))
        return Rounds(belief, units.of(context), rewards, expected, p.scale * epsilon)

    def _noise(self, rewards: Array) -> Array:
        """Return epsilon (r,), or (r, k), for rewards without noise (r, k)."""
        p, draws = self._problem, self._epsilon.next()
        if p.noise_kind == "bernoulli":
            return np.asarray((ndtr(draws) < rewards) - rewards)
        if p.noise_kind == "t":  # three degrees of freedom, variance one
            draws = np.asarray(stdtrit(3.0, ndtr(draws)) / math.sqrt(3.0))
        return p.noise * draws[:, 0]


def _actions(problem: Problem, rngs: Rngs) -> Array:
    """Return the native actions, (k, a), or (r, k, a) if each trial has its own."""
    if problem.actions == "normal":
        return np.stack([rng.standard_normal((problem.k, problem.a)) for rng in rngs])
    if problem.actions == "grid":
        return np.linspace(problem.low, problem.high, problem.k)[:, None]
    return np.eye(problem.k)


class _Linear:
    """Rewards linear in features."""

    def __init__(self, problem: Problem, actions: Array, rngs: Rngs) -> None:
        assert isinstance(problem.shape, FeatureMap)
        self._design: Design = problem.shape.design(actions.shape[-1], len(problem.centre))
        self._points = self._design.at(actions)
        sets = actions if actions.ndim == 3 else [actions] * len(rngs)
        thetas = [self._drawn(problem, own, rng) for own, rng in zip(sets, rngs, strict=True)]
        self._theta = np.stack(thetas).reshape(len(rngs), *self._design.shape)

    def _drawn(self, problem: Problem, actions: Array, rng: np.random.Generator) -> Array:
        if problem.theta is not None:
            return np.array(problem.theta)
        assert isinstance(problem.shape, FeatureMap)
        c, d = len(problem.centre), problem.d
        theta = rng.standard_normal(d) * rng.permutation(np.arange(1.0, d + 1.0) ** -problem.decay)
        if problem.noise_kind == "bernoulli":  # features are monomials, so they are largest at the edge
            edge = np.abs(problem.centre) + EDGE * (np.array(problem.between) + problem.within)
            most = np.abs(problem.shape(np.abs(actions), edge[None])[:, 0]) @ np.abs(theta)  # (k,)
            return np.asarray(theta * REACH / most.max())
        forecasts = problem.centre + np.array(problem.between) * rng.standard_normal((256, c))
        values = problem.shape(actions, forecasts) @ theta  # (k, n)
        return np.asarray(theta / (values - (0.0 if problem.actions == "own" else values.mean(axis=0))).std())

    def __call__(self, mean: Array, variance: Array | None = None) -> Array:
        """Return the expected rewards (r, k) under normal beliefs, or the rewards at points."""
        beliefs = PointStack(mean) if variance is None else GaussianStack(mean, variance)
        return self._points.along(self._design.view(beliefs), self._theta)


class _Cosines:
    """Rewards that are a sum of cosines a_j cos(w_j^T x + v_j^T c + p_j)."""

    def __init__(self, problem: Problem, actions: Array, rngs: Rngs) -> None:
        assert isinstance(problem.shape, Waves)
        n, length, c = problem.shape.count, problem.shape.length, len(problem.centre)
        w, self._v = (np.stack([rng.standard_normal((n, dim)) for rng in rngs]) / length for dim in (problem.a, c))
        phase = np.stack([rng.uniform(0.0, 2.0 * math.pi, n) for rng in rngs])
        self._phase = actions @ w.swapaxes(-1, -2) + phase[:, None]  # (r, k, n)
        self._size = np.stack([rng.standard_normal(n) for rng in rngs]) * math.sqrt(2.0 / n)

    def __call__(self, mean: Array, variance: Array | None = None) -> Array:
        """Return the expected rewards (r, k) under normal beliefs, or the rewards at points."""
        size, angle = self._size, (self._v @ mean[..., None])[..., 0]  # (r, n)
        if variance is not None:
            size = size * np.exp(-0.5 * (self._v**2 @ variance[..., None])[..., 0])
        return np.asarray((np.cos(self._phase + angle[:, None]) @ size[..., None])[..., 0])


def problems(part: str) -> list[Problem]:
    """Return the problems of a part: "choose", "held-out" or "known"."""
    return known() if part == "known" else family(SEEDS[part])


def known() -> list[Problem]:
    """Return problems on which earlier defaults are known to do badly, or well."""
    third, tenth = (_centred(3), {"k": 10, "a": 3, **_centred(3)})
    weather = _with_constant((5.0, 0.3), (18.0, 0.4))
    prices = Problem(
        "prices",
        Polynomial(2),
        k=10,
        actions="grid",
        low=1.0,
        high=10.0,
        between=(1.0,),
        within=(0.5,),
        theta=(0.0, 0.0, 0.0, 1.2, 0.05, -0.1),  # of 1, c, c^2, x, xc, x^2
        noise=0.1,
        action_units=(Units(), Units(1 / 2.87, -5.5 / 2.87)),
    )
    doses = Problem(
        "doses",
        Polynomial(2),
        k=13,
        actions="grid",
        low=0.0,
        high=60.0,
        centre=(18.0,),
        between=(3.5,),
        within=(3.5,),
        theta=(0.0, 0.0, 0.0, 0.02, 0.0022, -0.001),
        noise=0.3,
        action_units=(Units(), Units(1 / 18.7, -30 / 18.7)),
        context_units=(Units(), Units(0.2, -18 * 0.2)),
    )
    arms = Problem("10 arms", Disjoint(10), k=10, actions="own", **_no_context(), noise=1.0)
    synthetic = Problem(
        "synthetic",
        Quadratic(),
        k=100,
        a=5,
        centre=(0.0,) * 5,
        between=(1.0,) * 5,
        within=(1.0,) * 5,
        theta=(1.0,) * 10 + (-2.0,) * 5,
        noise=0.1,
    )
    return [
        Problem("constant, °C, rain", Bilinear(), k=3, actions="own", **weather),
        Problem("°C, rain, 5 blocks", Disjoint(5), k=5, actions="own", **weather),
        Problem("kelvin", Bilinear(), k=5, a=3, **_with_constant((5.0,), (290.0,))),
        Problem("hPa, mm, share", Bilinear(), k=20, a=3, **_with_constant((8.0, 4.0, 0.2), (1013.0, 5.0, 0.5))),
        Problem("scales 1, 10, 0.1", Bilinear(), **tenth, context_units=(Units((1.0, 10.0, 0.1)), Units())),
        Problem("scales 1, 100, 0.01", Bilinear(), **tenth, context_units=(Units((1.0, 100.0, 0.01)), Units())),
        prices,
        replace(prices, name="prices, centred", action_units=(Units(1.0, -5.5), prices.action_units[1])),
        doses,
        Problem("rewards around 1000", Polynomial(2), k=10, a=3, **_centred(2), offset=1000.0),
        arms,
        replace(arms, name="10 arms, 50 late", delay=50),
        Problem("10 blocks, 50 late", Disjoint(10), k=10, actions="own", **_with_constant((1.0,), (0.0,)), delay=50),
        Problem("variance stated times 100", Bilinear(), k=10, a=3, **_centred(3, 0.01), stated=100.0),
        Problem("sharp days called vague", Bilinear(), **tenth, mixed=True, cautious=True),
        Problem("sharp and vague days", Bilinear(), k=20, a=3, **_centred(3, 0.9), mixed=True, noise=0.1),
        Problem("k = 1000, vague", Quadratic(), k=1000, a=3, **_centred(3, 0.9)),
        Problem("d = 60", Bilinear(), k=20, a=10, **_centred(6)),
        Problem("k = 5", Bilinear(), k=5, a=3, **third),
        Problem("ensembles of 5", Bilinear(), **tenth, belief="ensemble"),
        Problem("kernel", Waves(1.0, "kernel"), k=10, a=1, **_centred(1), noise=0.1, steps=300),
        synthetic,
    ]


class _Decks:
    """Values to draw from, each as often as it stands in its deck; an empty deck is shuffled anew."""

    def __init__(self, rng: np.random.Generator, **values: list[Any]) -> None:
        self._rng, self._values = rng, values
        self._left: dict[str, list[Any]] = {name: [] for name in values}

    def draw(self, name: str) -> Any:
        if not self._left[name]:
            self._left[name] = [self._values[name][i] for i in self._rng.permutation(len(self._values[name]))]
        return self._left[name].pop()


def family(seed: int) -> list[Problem]:
    """Return the problems of the family that follow from a seed."""
    rng = np.random.default_rng(seed)
    decks = _Decks(
        rng,
        k=[5, 10, 20, 100],
        arms=[3, 10, 20],
        blocks=[(3, 1), (5, 2), (10, 5)],
        products=[(3, 2), (5, 3), (10, 6), (4, 1)],
        dims=[2, 5, 20],
        grid=[7, 13, 25],
        vague=[0.1, 0.5, 0.9],
        noise=[0.1, 0.3, 1.0],
        noise_kind=["normal"] * 4 + ["t"],
        belief=["normal"] * 7 + ["ensemble"] * 2 + ["point"],
        stated=[1.0] * 5 + [0.25, 4.0, 100.0, "cautious"],
        mixed=[False] * 4 + [True],
        decay=[0.0, 0.0, 1.0],
        offset=[0.0, 3.0, 1000.0],
        scale=[1.0] * 4 + [1e-3, 1e3],
        delay=[0] * 18 + [10, 50, 200],
        zero=[0.0, 3.0, 50.0],
    )
    return [_named(make(rng, decks), kind, i) for i, (kind, make) in enumerate(KINDS)]


def _named(problem: Problem, kind: str, number: int) -> Problem:
    return replace(problem, name=f"{number + 1:02} {kind}, k={problem.k}, d={problem.d or '∞'}")


def _units(rng: np.random.Generator, decks: _Decks, n: int, shift: bool) -> Units:
    """Return units of n coordinates, with zero points up to 50 standard deviations away if `shift` is set."""
    unit = 10.0 ** rng.uniform(-3.0, 3.0, n)
    zero = [u * decks.draw("zero") * rng.choice([-1.0, 1.0]) if shift else 0.0 for u in unit]
    return Units(tuple(map(float, unit)), tuple(map(float, zero)))


def _centred(c: int, vague: float = 0.5) -> dict[str, Any]:
    """Return the fields of c coordinates of variance one; forecasts leave a share `vague` of it open."""
    between, within = math.sqrt(1.0 - vague), math.sqrt(vague)
    return {"centre": (0.0,) * c, "between": (between,) * c, "within": (within,) * c}


def _with_constant(units: tuple[float, ...], zeros: tuple[float, ...], vague: float = 0.5) -> dict[str, Any]:
    """Return the fields of a context whose first coordinate is the constant one."""
    own = _centred(len(units), vague)
    return {
        "centre": (1.0, *own["centre"]),
        "between": (0.0, *own["between"]),
        "within": (0.0, *own["within"]),
        "context_units": (Units((1.0, *units), (0.0, *zeros)), Units()),
    }


def _no_context() -> dict[str, Any]:
    return {"centre": (1.0,), "between": (0.0,), "within": (0.0,)}


def _context(rng: np.random.Generator, decks: _Decks, c: int, shift: bool, constant: bool = False) -> dict[str, Any]:
    """Return the fields of a context of c coordinates in some units, after a constant if `constant` is set."""
    units, vague = _units(rng, decks, c, shift), decks.draw("vague")
    if constant:
        assert isinstance(units.unit, tuple)
        assert isinstance(units.zero, tuple)
        return _with_constant(units.unit, units.zero, vague)
    return {**_centred(c, vague), "context_units": (units, Units())}


def _day(problem: Problem, decks: _Decks, constant: bool) -> Problem:
    """Return a problem with noise, forecasts and rewards drawn from the family."""
    fields: dict[str, Any] = {name: decks.draw(name) for name in ("noise", "noise_kind", "decay", "scale", "delay")}
    if constant:
        fields["offset"] = decks.draw("offset")
    if not problem.certain:
        fields["belief"] = decks.draw("belief")
    if fields.get("belief") == "normal":
        stated = decks.draw("stated")
        if stated == "cautious":
            fields |= {"cautious": True, "mixed": True}
        else:
            fields |= {"stated": stated, "mixed": decks.draw("mixed")}
    if fields.get("belief") == "point":
        fields["between"] = tuple(math.hypot(b, w) for b, w in zip(problem.between, problem.within, strict=True))
    return replace(problem, **fields)


def _clicks(problem: Problem, decks: _Decks) -> Problem:
    """Return a problem with Bernoulli rewards."""
    fields: dict[str, Any] = {"noise_kind": "bernoulli", "offset": 0.5, "decay": decks.draw("decay")}
    return replace(problem, **fields, belief="point" if problem.certain else "ensemble")


def _blocks(rng: np.random.Generator, decks: _Decks) -> Problem:
    k, c = decks.draw("blocks")
    return Problem("", Disjoint(k), k, actions="own", **_context(rng, decks, c, shift=True, constant=True))


def _arms(rng: np.random.Generator, decks: _Decks) -> Problem:
    k = decks.draw("arms")
    return Problem("", Disjoint(k), k, actions="own", **_no_context())


def _varieties(rng: np.random.Generator, decks: _Decks) -> Problem:
    return replace(_blocks(rng, decks), shape=Bilinear())


def _products(rng: np.random.Generator, decks: _Decks, constant: bool) -> Problem:
    a, c = decks.draw("products")
    units = _units(rng, decks, a, shift=False), Units()
    context = _context(rng, decks, c - constant or 1, shift=constant, constant=constant)
    return Problem("", Bilinear(), decks.draw("k"), a, **context, action_units=units)


def _curve(rng: np.random.Generator, decks: _Decks) -> Problem:
    units = _units(rng, decks, 1, shift=True), Units()
    context = _context(rng, decks, int(rng.integers(1, 3)), shift=True)
    return Problem("", Polynomial(2), decks.draw("grid"), actions="grid", **context, action_units=units)


def _surface(rng: np.random.Generator, decks: _Decks, degree: int) -> Problem:
    a, c = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    units, context = (_units(rng, decks, a, shift=True), Units()), _context(rng, decks, c, shift=True)
    return Problem("", Polynomial(degree), decks.draw("k"), a, **context, action_units=units)


def _quadratic(rng: np.random.Generator, decks: _Decks, k: int | None = None) -> Problem:
    c = decks.draw("dims") if k is None else 3
    units, context = (_units(rng, decks, c, shift=False), Units()), _context(rng, decks, c, shift=False)
    return Problem("", Quadratic(), k or decks.draw("k"), c, **context, action_units=units)


def _linear(rng: np.random.Generator, decks: _Decks) -> Problem:
    a, c = 5, 2
    units, context = (_units(rng, decks, a, shift=False), Units()), _context(rng, decks, c, shift=False)
    return Problem("", Linear(), decks.draw("k"), a, **context, action_units=units)


def _waves(rng: np.random.Generator, decks: _Decks, learner: Literal["fourier", "kernel"]) -> Problem:
    """Return a problem with curved rewards; with the kernel, runs are short, because rounds cost more and more."""
    units, context = (_units(rng, decks, 1, shift=True), Units()), _context(rng, decks, 1, shift=True)
    problem = Problem("", Waves(1.0, learner), 10, 1, **context, action_units=units, noise=decks.draw("noise"))
    return replace(problem, scale=float(rng.choice([1.0, 10.0])), steps=300 if learner == "kernel" else 1000)


Make = Callable[[np.random.Generator, _Decks], Problem]


def _kinds() -> list[tuple[str, Make]]:
    """Return the kinds of problems of the family, each as often as it comes."""

    def drawn(make: Make, constant: bool) -> Make:
        return lambda rng, decks: _day(make(rng, decks), decks, constant)

    def clicks(make: Make) -> Make:
        return lambda rng, decks: _clicks(make(rng, decks), decks)

    times: list[tuple[str, Make, int]] = [
        ("blocks", drawn(_blocks, True), 3),
        ("varieties", drawn(_varieties, True), 2),
        ("arms", drawn(_arms, True), 2),
        ("products", drawn(lambda rng, decks: _products(rng, decks, False), False), 2),
        ("products with constant", drawn(lambda rng, decks: _products(rng, decks, True), False), 2),
        ("curve", drawn(_curve, True), 4),
        ("plane", drawn(lambda rng, decks: _surface(rng, decks, 1), True), 1),
        ("surface", drawn(lambda rng, decks: _surface(rng, decks, 2), True), 2),
        ("quadratic", drawn(_quadratic, False), 2),
        ("many", drawn(lambda rng, decks: _quadratic(rng, decks, 1000), False), 1),
        ("linear", drawn(_linear, False), 1),
        ("Fourier", lambda rng, decks: _waves(rng, decks, "fourier"), 1),
        ("kernel", lambda rng, decks: _waves(rng, decks, "kernel"), 1),
        ("arms, clicks", clicks(_arms), 1),
        ("blocks, clicks", clicks(_blocks), 1),
        ("plane, clicks", clicks(lambda rng, decks: _surface(rng, decks, 1)), 1),
    ]
    return [(kind, make) for kind, make, n in times for _ in range(n)]


KINDS = _kinds()
