"""The kernelised model of Algorithm 3: least squares on kernel mean embeddings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud
from overcast.beliefs.stacked import BeliefStack
from overcast.kernels.base import JointKernel, Kernel, check_joint
from overcast.models.base import Estimate, Generators, Index, LastingLearner, Model, normals
from overcast.models.cholesky import Cholesky
from overcast.models.memory import Memory, cut, room

# What rounding may take from a pivot, or from a squared width, as a share of the trace of K: the products of t numbers
# that make it up each round once.
ROUNDING = 1e-14

# Decimal powers of that which may be added to the diagonal of a covariance before it is not taken for one.
MAX_JITTER = 6


@dataclass(frozen=True)
class KernelModel(Model):
    """f in the Hilbert space of a kernel, estimated by kernel ridge regression on mean embeddings (Algorithm 3).

    f-hat_t(x) = k_t(x)^T (K_t + lambda I)^-1 y_t and
    width_t(x)^2 = (s_t(x) - k_t(x)^T (K_t + lambda I)^-1 k_t(x)) / lambda,
    where K_t, k_t and s_t hold inner products of embeddings k_{x,mu} = E_mu[k_{x,c}] (hidden rounds, exactly or from L
    samples) and kernel functions k_{x,c} (revealed rounds).

    A round costs t^2 operations for each action. For some thousands of rounds and more, `features.Fourier`,
    `QuadratureFourier` or `Nystrom` in a `LinearModel` cost the same in every round.

    Parameters
    ----------
    kernel : of actions and contexts, e.g. `Product(RBF(0.5), RBF(1.0))`
    ridge : lambda > 0. As a Gaussian process: the variance of the noise over that of the prior

    Examples
    --------
    >>> from overcast.kernels import RBF, Product
    >>> KernelModel(Product(RBF(0.5), RBF(1.0)), ridge=0.1).ridge
    0.1
    """

    kernel: JointKernel
    ridge: float = 1.0

    block = 10  # each trial keeps a factor of t^2 / 2 numbers

    def __post_init__(self) -> None:
        check_joint("KernelModel", self.kernel)
        object.__setattr__(self, "ridge", _check.number("KernelModel", "ridge", self.ridge, above=0.0))

    def start(self, actions: Array, context_dim: int) -> KernelLearner:
        return KernelLearner(self, actions, context_dim)


class View(NamedTuple):
    """A belief as each term of the kernel sees it, and the squared norm of its embedding there."""

    clouds: tuple[Cloud, ...]
    squares: tuple[float, ...]


class Evidence(NamedTuple):
    """A round to learn from: the action's index, and the belief or the point."""

    action: int
    view: View


class KernelLearner(LastingLearner):
    """The rounds seen so far, and a growing Cholesky factor L of K + lambda I."""

    def __init__(self, model: KernelModel, actions: Array, context_dim: int) -> None:
        self.model = model
        self._ridge = model.ridge
        self._context_dim = context_dim
        self._actions = actions
        self._terms = model.kernel.terms(actions.shape[1])
        for action_kernel, context_kernel in self._terms:  # what does not fit is refused now, not when it learns
            _try(action_kernel, actions[:1])
            _try(context_kernel, np.zeros((1, context_dim)))
        self._diagonals = [kernel.diagonal(actions) for kernel, _ in self._terms]  # (k,) each
        #: the beliefs of all rounds, as each term of the kernel sees them
        self.memories = [Memory(kernel) for _, kernel in self._terms]
        self._factor = Cholesky()
        self._place = np.empty(0, dtype=np.intp)  # of each round's action among those taken, with room for more
        self._rewards = np.empty(0)
        self._whitened = np.empty(0)  # L^-1 y
        self._taken: dict[int, int] = {}  # the place of each action that was ever taken
        self._rows = [np.empty((0, len(actions))) for _ in self._terms]  # of the action kernels, an action taken each
        self._grams: list[Array] | None = None  # of the action kernels, (k, k) each, once a draw needs them
        self._trace = 0.0
        self._latest: tuple[View, Array] | None = None  # the latest belief estimated, and L^-1 k_t(x) of all actions
        #: the largest number that had to be added to lambda, where it is lost in rounding
        self.jitter = 0.0

    @property
    def taken(self) -> Array:
        """The distinct actions that were taken, in the order of their first time, (u, a)."""
        return self._actions[list(self._taken)]

    @property
    def place(self) -> NDArray[np.intp]:
        """The row of each round's action among those, (t,)."""
        return self._place[: len(self)]

    @property
    def rewards(self) -> Array:
        """The reward of each round, (t,)."""
        return self._rewards[: len(self)]

    def __len__(self) -> int:
        return len(self._factor)

    def encode(self, belief: Belief | BeliefStack) -> View:
        assert isinstance(belief, Belief)
        return self._view([kernel.embed(belief) for _, kernel in self._terms])

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> View:
        assert isinstance(belief, Belief)
        draws = belief.sample(samples, rng)  # type: ignore[arg-type]
        weights = np.full(samples, 1.0 / samples)
        return self._view([kernel.embed_points(draws, weights) for _, kernel in self._terms])

    def _view(self, clouds: Sequence[Cloud]) -> View:
        squares = [memory.square(cloud) for memory, cloud in zip(self.memories, clouds, strict=True)]
        return View(tuple(clouds), tuple(squares))

    def estimate(self, view: View) -> Estimate:
        own = self._squares(view)
        if not len(self):
            return Estimate(np.zeros(len(own)), np.sqrt(own / self._ridge))
        half = self._half(view)
        mean = self._whitened[: len(self)] @ half
        squares = own - np.einsum("tk,tk->k", half, half)
        if not squares.min() >= -ROUNDING * (self._trace + own.max() + self._ridge):
            raise self._not_positive(f"a squared width of {squares.min() / self._ridge:.3g}")
        return Estimate(mean, np.sqrt(np.maximum(squares, 0.0) / self._ridge))

    def prior(self, view: View) -> Array:
        return np.sqrt(self._squares(view) / self._ridge)

    def noise(self, view: View) -> Array:
        return np.ones(len(self._actions))

    def draw(self, view: View, rng: Generators) -> Array:
        """By a Cholesky factor of the posterior covariance of all actions, which takes k^3 / 3 operations."""
        if self._grams is None:
            self._grams = [np.asarray(kernel._evaluate(self._actions, self._actions)) for kernel, _ in self._terms]
        covariance = np.asarray(sum(gram * square for gram, square in zip(self._grams, view.squares, strict=True)))
        rounding = ROUNDING * (self._trace + float(np.diagonal(covariance).max()) + self._ridge)
        if len(self):
            half = self._half(view)
            covariance = covariance - half.T @ half
        return (self._root(covariance, rounding) @ normals(rng, len(covariance))) / math.sqrt(self._ridge)

    def perturb(self, view: View, rng: Generators) -> Array:
        if not len(self):
            return np.zeros(len(self._actions))
        z = normals(rng, len(self))
        return np.asarray(self._factor.solve(z[:, None])[:, 0] @ self._half(view))

    def _root(self, covariance: Array, rounding: float) -> Array:
        """Return the Cholesky factor of a covariance (k, k), known up to `rounding`, that may be singular.

        Actions that are much alike leave nothing but rounding on the diagonal; as little as will do is added to it.
        """
        for jitter in rounding * 10.0 ** np.arange(MAX_JITTER):
            with suppress(np.linalg.LinAlgError):
                return np.linalg.cholesky(covariance + jitter * np.eye(len(covariance)))
        raise self._not_positive(f"an eigenvalue of {np.linalg.eigvalsh(covariance)[0]:.3g} between the actions")

    def _half(self, view: View) -> Array:
        """Return L^-1 k_t(x) for all actions, (t, k), and remember it until the next round is learnt."""
        if self._latest is None or self._latest[0] is not view:
            self._latest = view, self._solve(view)
        return self._latest[1]

    def _squares(self, view: View) -> Array:
        """Return s_t(x), the squared norms of the embeddings of all actions, (k,)."""
        parts = (diagonal * square for diagonal, square in zip(self._diagonals, view.squares, strict=True))
        squares = np.asarray(sum(parts))
        if not np.isfinite(squares).all():
            raise ValueError(f"KernelModel: {self._names} must give finite numbers, got others; scale the contexts")
        if squares.min() < 0.0:
            raise self._not_positive(f"a squared norm of {squares.min():.3g}")
        return squares

    def _solve(self, view: View) -> Array:
        """Return L^-1 k_t(x) for all actions, (t, k).

        Rounds that took the same action have the same row of the action kernel: k_t = S R, where R holds the distinct
        rows, so that L is solved for the columns of S where they are fewer than the actions.
        """
        t, u, k = len(self), len(self._taken), len(self._actions)
        products = [memory.inner(cloud) for memory, cloud in zip(self.memories, view.clouds, strict=True)]
        place = self.place
        if u * len(products) < k:
            spread = np.zeros((t, u * len(products)))
            for j, product in enumerate(products):
                spread[np.arange(t), j * u + place] = product
            return np.asarray(self._factor.solve(spread) @ np.concatenate([rows[:u] for rows in self._rows]))
        cross = self._rows[0].take(place, axis=0)
        cross *= products[0][:, None]
        for rows, product in zip(self._rows[1:], products[1:], strict=True):
            cross += rows[place] * product[:, None]
        return self._factor.solve(cross)

    def evidence(self, view: View, index: Index) -> Evidence:
        return Evidence(int(index), view)

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        index, view = evidence
        t, own = len(self), float(self._squares(view)[index])
        rows = [self._row(j, index) for j in range(len(self._terms))]
        column = self._column(view, index, rows)
        rounding = ROUNDING * (self._trace + own + self._ridge)
        ridge = max(self._ridge, rounding)
        square = own + ridge - float(column @ column)
        if not square >= ridge - rounding:
            raise self._not_positive(f"{square - ridge:.3g} left of the variance of round {t + 1}")
        if ridge > self._ridge:
            self._add_jitter(ridge - self._ridge)
        pivot = math.sqrt(max(square, ridge))  # more than ridge, but for rounding

        if index not in self._taken:
            place = self._taken[index] = len(self._taken)
            for j, row in enumerate(rows):
                self._rows[j] = room(self._rows[j], place + 1)
                self._rows[j][place] = row
        self._place, self._rewards = room(self._place, t + 1), room(self._rewards, t + 1)
        self._whitened = room(self._whitened, t + 1)
        self._place[t], self._rewards[t] = self._taken[index], reward
        self._whitened[t] = (reward - self._whitened[:t] @ column) / pivot
        self._factor.append(column, pivot)
        for memory, cloud in zip(self.memories, view.clouds, strict=True):
            memory.append(cloud)
        self._trace += own
        self._latest = None

    def _row(self, term: int, index: int) -> Array:
        """Return the action kernel of one action with all, (k,)."""
        if index in self._taken:
            return np.asarray(self._rows[term][self._taken[index]])
        return np.asarray(self._terms[term][0]._evaluate(self._actions[index][None], self._actions)[0])

    def _column(self, view: View, index: int, rows: Sequence[Array]) -> Array:
        """Return L^-1 times the inner products of one embedding with those of all rounds, (t,)."""
        if self._latest is not None and self._latest[0] is view:
            return np.ascontiguousarray(self._latest[1][:, index])
        if not len(self):
            return np.empty(0)
        taken = self._index()
        cross = sum(
            row[taken] * memory.inner(cloud)
            for row, memory, cloud in zip(rows, self.memories, view.clouds, strict=True)
        )
        return np.asarray(self._factor.solve(np.asarray(cross)[:, None])[:, 0])

    def _index(self) -> NDArray[np.intp]:
        """Return the index of each round's action, (t,)."""
        return np.fromiter(self._taken, dtype=np.intp)[self.place]

    def _add_jitter(self, jitter: float) -> None:
        if not self.jitter:
            warnings.warn(
                f"KernelModel: ridge={self._ridge:g} is lost in rounding; {jitter:.3g} was added to it",
                RuntimeWarning,
                stacklevel=4,  # where the bandit was told to learn
            )
        self.jitter = max(self.jitter, jitter)

    def norm(self, evidence: Evidence) -> Array:
        return np.asarray(np.sqrt(self._squares(evidence.view)[evidence.action]))

    @property
    def _names(self) -> str:
        """The kernels behind the model's, for error messages."""
        names = (type(atom).__name__ for term in self._terms for kernel in term for _, atom in kernel.atoms())
        return " and ".join(dict.fromkeys(names))

    def _not_positive(self, what: str) -> ValueError:
        return ValueError(
            f"KernelModel: kernel must be positive semi-definite, got {self._names} with {what}; "
            "a sum or product of kernels that are so is so too"
        )

    @property
    def log_det(self) -> float:
        return self._factor.log_det - len(self) * math.log(self._ridge)

    def rounds(self) -> Iterator[tuple[Evidence, float]]:
        """Yield what was learnt, in order."""
        clouds = zip(*(memory.clouds() for memory in self.memories), strict=True)
        for index, reward, views in zip(self._index(), self.rewards, clouds, strict=True):
            yield Evidence(int(index), self._view(views)), float(reward)

    def adopt(self, evidence: Evidence) -> Evidence:
        """Return the evidence of a learner whose kernel differs from this one's in its parameters alone."""
        return Evidence(evidence.action, self._view(evidence.view.clouds))

    def merge(self, other: KernelLearner) -> None:
        for evidence, reward in list(other.rounds()):
            self.learn(evidence, reward)

    def state(self) -> dict[str, Array]:
        return _arrays(self._index(), self.memories) | {"reward": self.rewards.copy()}

    def restore(self, state: dict[str, Array]) -> None:
        """Learn the rounds again: the factor is not kept, which would be t^2 numbers."""
        for evidence, reward in zip(self.unpack(state), state["reward"], strict=True):
            self.learn(evidence, float(reward))

    def pack(self, evidence: Sequence[Evidence]) -> dict[str, Array]:
        memories = [Memory(kernel) for _, kernel in self._terms]
        for item in evidence:
            for memory, cloud in zip(memories, item.view.clouds, strict=True):
                memory.append(cloud)
        return _arrays(np.array([item.action for item in evidence], dtype=np.intp), memories)

    def unpack(self, arrays: dict[str, Array]) -> list[Evidence]:
        index = [range(len(self._actions))[int(i)] for i in arrays["action"]]
        by_term = []
        for j, (_, kernel) in enumerate(self._terms):
            if f"{j}.weights" not in arrays:
                raise ValueError("its rounds were learnt with another kernel")
            cloud = Cloud(arrays[f"{j}.weights"], arrays[f"{j}.centres"], arrays.get(f"{j}.spread"))
            sample = kernel.embed_points(np.zeros((1, self._context_dim)), np.ones(1))
            by_term.append(_cut(cloud, arrays[f"{j}.start"].astype(np.intp), sample.centres.shape[1]))
        return [Evidence(i, self._view(clouds)) for i, *clouds in zip(index, *by_term, strict=True)]


def _try(kernel: Kernel, point: Array) -> None:
    """Compare a point (1, p) with itself, which a kernel of another dimension refuses."""
    cloud = kernel.embed_points(point, np.ones(1))
    shape = np.shape(kernel.compare(cloud, cloud))
    if shape != (1, 1):
        raise ValueError(f"{type(kernel).__name__}: _evaluate must give shape (n, m), got {shape} for one point each")


def _cut(cloud: Cloud, starts: NDArray[np.intp], c: int) -> list[Cloud]:
    """Return the beliefs of arrays from a file, if they fit each other and have centres of this dimension."""
    (n,) = cloud.weights.shape
    if not n and not len(starts):
        return []
    edges = np.append(starts, n)
    whole = edges[0] == 0 and bool((np.diff(edges) > 0).all())
    spread = (n, c) if cloud.spread is None else cloud.spread.shape
    if not whole or cloud.centres.shape != (n, c) or spread not in ((n, c), (n, c, c)):
        raise ValueError("the beliefs do not fit their components")
    return cut(cloud, starts)


def _arrays(actions: NDArray[np.intp], memories: Sequence[Memory]) -> dict[str, Array]:
    """Return rounds as arrays: their actions (t,), and their beliefs as each term of the kernel keeps them."""
    arrays = {"action": actions.astype(np.float64)}
    for j, memory in enumerate(memories):
        weights, centres, spread = memory.cloud
        arrays |= {f"{j}.weights": weights, f"{j}.centres": centres, f"{j}.start": memory.starts.astype(np.float64)}
        arrays |= {} if spread is None else {f"{j}.spread": spread}
    return arrays
