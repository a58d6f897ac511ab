"""The contract of a belief: a distribution mu_t over the context, held before acting."""

from __future__ import annotations

import contextlib
import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check, _html
from overcast._check import Array
from overcast.beliefs import _coordinates, _moments
from overcast.beliefs._moments import Powers
from overcast.beliefs.cloud import Cloud, Complex

Generators = np.random.Generator | Sequence[np.random.Generator]

#: draws in place of a belief without a closed form: averages have a standard error of a sixteenth of the standard
#: deviation, and formulas over all pairs of draws stay cheap
STAND_IN_DRAWS = 256
#: dimensions that an HTML table shows; it counts the rest
HTML_ROWS = 12
# Standard deviations below this share of the mean are rounding errors of equal members.
ROUNDING = 1e-12
# Values up to this size have moments within the range of floating-point numbers.
MODERATE = 1e150
#: the classes of beliefs by the names that JSON holds
KINDS: dict[str, type[Belief]] = {}


class Beliefs(ABC):
    """One belief, or one for each of r trials in lock-step; answers about r trials have a leading axis r.

    Code that works on arrays takes this type, and serves both.
    """

    #: dimension of the context, c
    dim: int
    #: whether `mean`, `cov` and `moments` are exact; False if they are estimated from draws
    exact: bool = True
    #: whether the context is known exactly
    certain: bool = False
    #: whether the distribution is normal
    normal: bool = False
    #: whether coordinates are known to be uncorrelated
    uncorrelated: bool = False

    @abstractmethod
    def mean(self) -> Array:
        """Return E[c], shape (..., c)."""

    @abstractmethod
    def variance(self) -> Array:
        """Return Var[c_i], shape (..., c) or one that broadcasts to it."""

    @abstractmethod
    def cov(self) -> Array:
        """Return Cov[c], shape (..., c, c)."""

    @abstractmethod
    def moments(self, powers: Powers) -> Array:
        """Return E[prod_i c_i^powers[j, i]] for the rows j of `powers` (m, c), shape (..., m)."""

    @abstractmethod
    def sample(self, n: int, rng: Any) -> Array:
        """Return `n` draws, shape (..., n, c), from a generator, or from a list with one generator per trial."""

    def sample_mean(self, n: int, rng: Any) -> Array:
        """Return the mean of `n` draws, shape (..., c); beliefs that know its distribution draw it directly."""
        return _moments.average(self.sample(n, rng))

    def sample_moments(self, n: int, rng: Any) -> tuple[Array, Array]:
        """Return the mean of `n` draws and the mean of their squares, both (..., c)."""
        draws = self.sample(n, rng)
        return _moments.average(draws), _moments.average(draws * draws)

    @abstractmethod
    def centred(self) -> Beliefs:
        """Return the distribution of c - E[c]."""

    @property
    @abstractmethod
    def leading(self) -> tuple[int, ...]:
        """The leading axes: none for one belief, (r,) for r trials."""

    @abstractmethod
    def singles(self) -> Sequence[Belief]:
        """Return the beliefs as a sequence: one, or one for each trial."""

    def each(self, compute: Callable[[Belief], Array]) -> Array:
        """Return `compute(belief)`, stacked over trials if there are several."""
        results = [compute(belief) for belief in self.singles()]
        return np.stack(results) if self.leading else results[0]


class Belief(Beliefs):
    """A distribution mu over contexts c in R^c.

    A new belief defines `mean`, `cov`, `sample` and `to_json`/`from_json`; everything else has defaults, which work
    from these, from `support` if it is finite, or from draws. Set `exact = False` if mean and covariance are
    estimates. A belief that knows more overrides `moments`, `cloud`, `_cdf` and `_quantile` (which `cdf` and `quantile`
    call with checked arrays), `_moved` and `_selected` (which `moved` and `select` call). Answers that only draws could
    give raise `NoClosedForm`. `belief_from_json` finds the class by its name. Beliefs are immutable.

    Examples
    --------
    >>> import overcast as oc
    >>> belief = oc.Gaussian([18.0, 0.4], sd=[2.0, 0.1])
    >>> belief.dim, belief.mean(), belief.cov().diagonal().round(2)
    (2, array([18. ,  0.4]), array([4.  , 0.01]))
    >>> belief.sample(3, np.random.default_rng(0)).shape
    (3, 2)
    """

    #: names of the dimensions, None if they have none
    names: tuple[str, ...] | None = None
    #: number of forecast members, None unless the belief is an ensemble
    members: int | None = None
    #: how many draws of the context's distribution the belief is worth, infinite if it is a distribution of its own
    sample_size: float = np.inf

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `belief_from_json` find the class by its name; a class that is defined again replaces itself only."""
        super().__init_subclass__(**options)
        new, known = (f"{kind.__module__}.{kind.__qualname__}" for kind in (cls, KINDS.get(cls.__name__, cls)))
        if new != known:
            must = "beliefs must have different class names, as JSON holds them"
            raise TypeError(f"{cls.__name__}: {must}, got {new} beside {known}; rename one")
        KINDS[cls.__name__] = cls

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Return `n` independent draws, shape (n, c)."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data, by `self._json(...)` of the parameters; `belief_from_json` is the inverse."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Belief:
        """Build the belief from what `to_json` returned, without the names of its dimensions."""

    @property
    def leading(self) -> tuple[int, ...]:
        return ()

    def singles(self) -> Sequence[Belief]:
        return (self,)

    def variance(self) -> Array:
        """Return Var[c_i], shape (c,)."""
        return np.diagonal(self.cov())

    def support(self) -> tuple[Array, Array] | None:
        """Return points (n, c) and weights (n,) if the support is finite, else None."""
        return None

    def stand_in(self) -> tuple[Array, Array]:
        """Return points (n, c) and weights (n,) that approximate the belief where a formula needs a finite support.

        They are the support if it has at most `STAND_IN_DRAWS` points, else that many draws, the same at every call.
        """
        finite = self.support()
        if finite is not None and len(finite[1]) <= STAND_IN_DRAWS:
            return finite
        draws = self.sample(STAND_IN_DRAWS, np.random.default_rng(0))
        return draws, np.full(STAND_IN_DRAWS, 1.0 / STAND_IN_DRAWS)

    def cloud(self) -> Cloud | None:
        """Return the belief as a mixture of points and normal distributions, None if it is no such mixture."""
        finite = self.support()
        return None if finite is None else Cloud(finite[1], finite[0])

    def characteristic(self, frequencies: Array) -> Complex:
        """Return the characteristic function E[exp(i w^T c)] for each row w of `frequencies` (m, c), shape (m,)."""
        cloud = self.cloud()
        if cloud is None:
            owner = f"{type(self).__name__}: the characteristic function"
            raise NoClosedForm(f"{owner} has no closed form; pass samples= to average draws")
        return cloud.characteristic(frequencies)

    def moments(self, powers: Powers) -> Array:
        """Return E[prod_i c_i^powers[j, i]] for each row j of `powers` (m, c), shape (m,).

        The default serves finite supports, and elsewhere degrees up to two from mean and covariance; beliefs with
        closed forms for more override it.
        """
        finite = self.support()
        if finite is not None:
            return _moments.of_points(*finite, powers)
        if not self.exact or powers.sum(axis=1).max(initial=0) > 2:
            raise NoClosedForm(f"{type(self).__name__}: moments have no closed form; pass samples= to average draws")
        second = self.cov() + np.outer(self.mean(), self.mean())
        known: dict[int, Any] = {0: np.ones(()), 1: self.mean(), 2: second}
        return np.array([known[int(row.sum())][*np.repeat(np.arange(self.dim), row)] for row in powers])

    def cdf(self, values: ArrayLike) -> Array:
        """Return the marginals P(c_i <= values_i), shape (c,), or (m, c) for m rows of values."""
        rows = _coordinates.rows(type(self).__name__, values, self.dim)
        return self._cdf(np.atleast_2d(rows)).reshape(rows.shape)

    def quantile(self, p: ArrayLike) -> Array:
        """Return the least values with P(c_i <= value) >= p, shape (c,), or (m, c) for m levels; p in [0, 1].

        They may be infinite at the levels zero and one.
        """
        level = _coordinates.levels(type(self).__name__, p)
        values = self._quantile(np.atleast_1d(level))
        return values if level.ndim else values[0]

    def moved(
        self,
        shift: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        blur: ArrayLike = 0.0,
        points: ArrayLike | None = None,
    ) -> Belief:
        """Return the belief about shift + scale * c + blur * z, where z is standard normal and independent of c.

        The class stays the same if possible (a moved Gaussian is a Gaussian), so that exact expectations stay exact.

        Parameters
        ----------
        shift, scale : (c,) arrays, or one number for all dimensions; scale >= 0
        blur : the same, >= 0; meant for dimensions of variance zero, others may lose the shape of their distribution
        points : (n, c) contexts that take the belief's place before all this, as many for each of its members
        """
        name = type(self).__name__
        if points is not None:
            array = _check.array(name, "points", points, ("n", self.dim))
            return self._placed(array).moved(shift, scale, blur)
        by = _coordinates.for_each(name, "shift", shift, self.dim)
        times = _coordinates.for_each(name, "scale", scale, self.dim, at_least=0.0)
        around = _coordinates.for_each(name, "blur", blur, self.dim, at_least=0.0)
        still = not by.any() and (times == 1.0).all() and not around.any()
        return self if still else self._moved(by, times, around)._with_names(self.names)

    def named(self, names: Sequence[str] | str) -> Self:
        """Return the same belief with names of its dimensions, by which a bandit puts them in order.

        Parameters
        ----------
        names : (c,) distinct strings; one string for a context of dimension one

        Examples
        --------
        >>> import overcast as oc
        >>> oc.Gaussian([21.0, 0.4], [4.0, 0.1]).named(["warm", "wet"]).names
        ('warm', 'wet')
        """
        return self._with_names(_check.distinct_names(type(self).__name__, "names", names, self.dim))

    def select(self, dimensions: Sequence[str] | Sequence[int]) -> Belief:
        """Return the belief about some of the dimensions, in this order; it keeps its class if possible.

        Parameters
        ----------
        dimensions : names or indices, each at most once

        Examples
        --------
        >>> import overcast as oc
        >>> oc.Gaussian([21.0, 0.4], [4.0, 0.1]).named(["warm", "wet"]).select(["wet"])
        Gaussian(mean=[0.4], cov=[0.1])
        """
        order = _coordinates.order(type(self).__name__, dimensions, self.dim, self.names)
        if order == list(range(self.dim)):
            return self
        names = None if self.names is None else tuple(self.names[i] for i in order)
        return self._selected(order)._with_names(names)

    def _with_names(self, names: tuple[str, ...] | None) -> Self:
        """Return the same belief with these names, unchecked."""
        if names == self.names:
            return self
        out = copy.copy(self)
        out.names = names
        return out

    def _json(self, **parameters: Any) -> dict[str, Any]:
        """Return the JSON form: these parameters, the class name, and the dimensions' names if there are any."""
        called = {} if self.names is None else {"names": list(self.names)}
        return {"type": type(self).__name__, **parameters, **called}

    def plot(self, ax: Any = None) -> Any:
        """Draw each dimension: its density, the steps between quantiles, or the points that it consists of.

        Parameters
        ----------
        ax : matplotlib axes to draw on, one for each dimension; None for new ones, at most twelve

        Returns
        -------
        the axes, an array of them if there are several dimensions
        """
        from overcast.pictures import marginals

        return marginals.draw(type(self).__name__, self, ax, NoClosedForm)

    def _repr_html_(self) -> str:
        """Return mean, standard deviation and quantiles of each dimension as a table, for notebooks."""
        names = self.names or tuple(f"c{i + 1}" for i in range(self.dim))
        title = f"{type(self).__name__} of {self.dim} dimension{'s' * (self.dim > 1)}"
        if self.members is not None:
            title = f"{type(self).__name__} of {self.members:,} members, {title.partition(' of ')[2]}"
        if not self.exact:  # estimates would take many draws
            return _html.table(title, [], [], f"{', '.join(names[:HTML_ROWS])}: known by draws alone")
        columns: dict[str, Array] = {}
        with contextlib.suppress(NoClosedForm):
            columns |= {"mean": self.mean(), "sd": np.sqrt(np.clip(self.variance(), 0.0, None))}
        with contextlib.suppress(NoClosedForm):
            columns |= dict(zip(("5 %", "50 %", "95 %"), self.quantile([0.05, 0.5, 0.95]), strict=True))
        table = np.array([*columns.values()]).T[:HTML_ROWS].tolist()
        rows = [[name, *_html.numbers(*row)] for name, row in zip(names, table, strict=False)]
        left = f"{self.dim - HTML_ROWS} more dimensions" if self.dim > HTML_ROWS else ""
        return _html.table(title, ["", *columns], rows, left)

    def centred(self) -> Belief:
        return self.moved(-self.mean())

    def place(self, outcome: Array) -> Array:
        """Return the probability integral transform of an outcome (c,): lower and upper end of an interval, (2, c).

        The ends are P(c_i < outcome_i) and P(c_i <= outcome_i), and differ where the distribution has a jump. Without
        a distribution function they are those of the draws of `stand_in`.
        """
        try:
            upper = self.cdf(outcome)
        except NoClosedForm:
            return _coordinates.place_among(*self.stand_in(), outcome, sample_size=STAND_IN_DRAWS)
        lower = self.cdf(np.nextafter(outcome, -np.inf))
        return np.stack([np.where(upper - lower > _coordinates.ROUND_OFF, lower, upper), upper])

    def reach(self) -> Array:
        """Return the largest nominal level of a central interval that the belief can bound, shape (c,)."""
        return np.ones(self.dim)

    def beyond(self, outcome: Array) -> NDArray[np.bool_]:
        """Return which entries of an outcome (c,) lie outside all published values, shape (c,)."""
        return np.zeros(self.dim, dtype=np.bool_)

    def stated_error(self) -> Array:
        """Return the mean and the size of error that the belief states for it in each dimension, shape (2, c).

        The size is the standard deviation, and zero if that is no more than rounding.
        """
        try:
            mean, deviation = np.asarray(self.mean()), np.sqrt(np.clip(self.variance(), 0.0, None))
        except NoClosedForm:
            name = type(self).__name__
            raise ValueError(f"{name}: mean and variance must exist to judge or correct it, got {self!r}") from None
        return np.stack([mean, np.where(deviation <= ROUNDING * np.abs(mean), 0.0, deviation)])

    def _cdf(self, values: Array) -> Array:
        """Return P(c_i <= values[j, i]), shape (m, c); the default serves finite supports."""
        return _coordinates.cdf_of_points(*self._finite("the distribution function has"), values)

    def _quantile(self, p: Array) -> Array:
        """Return the quantiles of levels p (m,), shape (m, c); the default serves finite supports."""
        return _coordinates.quantiles_of_points(*self._finite("quantiles have"), p)

    def _finite(self, subject: str) -> tuple[Array, Array]:
        finite, name = self.support(), type(self).__name__
        if finite is None:
            raise NoClosedForm(f"{name}: {subject} no closed form; ask Ensemble(belief.sample(n, rng)) instead")
        return finite

    def _placed(self, points: Array) -> Belief:
        """Return the ensemble of these points (n, c)."""
        from overcast.beliefs.ensemble import Ensemble

        return Ensemble(points)

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Belief:
        """Return the moved belief; all arrays (c,)."""
        # Imported here because these modules need this one first.
        from overcast.beliefs.moved import Moved
        from overcast.beliefs.sampler import moved_draws

        return moved_draws(self, shift, scale, blur) if blur.any() else Moved(self, shift, scale)

    def _selected(self, order: list[int]) -> Belief:
        """Return the belief about these dimensions: distinct indices, other than 0, 1, ..., c - 1."""
        from overcast.beliefs.selected import Selected

        return Selected(self, order)


def check_moments(belief: Belief, parameter: str, values: Array) -> None:
    """Raise ValueError unless the mean and the variances are finite.

    parameter, values : the parameter that the belief was built from, for the error
    """
    size = float(np.abs(values).max())
    if size <= MODERATE:
        return
    with np.errstate(all="ignore"):
        finite = np.isfinite(belief.mean()).all() and np.isfinite(belief.variance()).all()
    if not finite:
        name = type(belief).__name__
        raise ValueError(f"{name}: {parameter} must have a finite mean and variance, got {size:g}; scale the contexts")


class NoClosedForm(ValueError):  # noqa: N818 - it names a state of affairs, not a mistake
    """Raised if an answer has no closed form; the message says how to get one from draws.

    Examples
    --------
    >>> import overcast as oc
    >>> bell = oc.features.Function(lambda actions, contexts: np.ones((len(actions), len(contexts), 1)), 1)
    >>> try:
    ...     bell.expected([[0.0]], oc.Gaussian([18.0], sd=2.0))
    ... except oc.NoClosedForm as error:
    ...     print(error)
    Function: the expectation under Gaussian has no exact form that can be computed; pass samples= to average over draws
    """
