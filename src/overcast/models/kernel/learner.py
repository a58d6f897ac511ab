"""The learner of the kernelised model: past rounds, and least squares on their mean embeddings."""

from __future__ import annotations

import copy
import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from overcast import _records
from overcast._check import Array
from overcast._units import Vectors
from overcast.beliefs.base import Belief, Beliefs, Generators
from overcast.beliefs.cloud import Cloud
from overcast.features.design import Index
from overcast.kernels.base import Kernel
from overcast.models.base import Estimate, LastingLearner, Parameters, Points, normals
from overcast.models.kernel.factor import Cholesky
from overcast.models.kernel.past import Past, room

if TYPE_CHECKING:
    from overcast.models.kernel.model import KernelModel

# Bound on the rounding error of a pivot or a squared width, as a share of the trace of K: both sum t products.
ROUNDING = 1e-14
# Powers of ten by which the jitter on a diagonal may grow until a Cholesky factor exists.
MAX_JITTER = 6
# Squares of larger contexts would overflow.
MAX_CONTEXT = 1e150
SAFE = "sums and products of positive semi-definite kernels are safe"


class View(NamedTuple):
    """A belief embedded for each term of the kernel, and the squared norm of each embedding."""

    clouds: tuple[Cloud, ...]
    squares: tuple[float, ...]


class Tables:
    """Cached action kernels at some points: with themselves, with past actions, and with each other."""

    def __init__(self, points: Points, kernels: Sequence[Kernel]) -> None:
        self.points, self.vectors, self._kernels = points, np.asarray(points.vectors), kernels
        self.diagonals = [kernel.diagonal(self.vectors) for kernel in kernels]  # (k,) each
        self._rows = [np.empty((0, len(points))) for _ in kernels]  # of past actions, with spare capacity
        self._known = 0
        self._grams: list[Array] | None = None

    def rows(self, taken: Array) -> list[Array]:
        """Return the kernels between past actions (u, a) and the points, (u, k) each."""
        for u in range(self._known, len(taken)):  # one by one, so that no digit depends on their number
            for j, kernel in enumerate(self._kernels):
                self._rows[j] = room(self._rows[j], u + 1)
                self._rows[j][u] = kernel._evaluate(taken[u : u + 1], self.vectors)[0]
        self._known = len(taken)
        return [rows[: self._known] for rows in self._rows]

    def grams(self) -> list[Array]:
        """Return the kernels between the points, (k, k) each."""
        if self._grams is None:
            self._grams = [np.asarray(kernel._evaluate(self.vectors, self.vectors)) for kernel in self._kernels]
        return self._grams


class Evidence(NamedTuple):
    """A round to learn: the vector (a,) of the action, and the view of the belief or of the revealed context."""

    action: Array
    view: View


class KeepsRounds(LastingLearner):
    """A learner that stores all rounds, so that a learner under another kernel can relearn them."""

    @abstractmethod
    def rounds(self) -> Iterator[tuple[Any, float]]:
        """Yield the evidence and the reward of each round, in order."""

    @abstractmethod
    def adopt(self, evidence: Any) -> Any:
        """Convert evidence from a learner whose kernel differs only in its parameters."""


class KernelLearner(KeepsRounds):
    """Kernel ridge regression on past rounds, with a growing Cholesky factor L of K + lambda I."""

    evidence_type = Evidence

    def __init__(self, model: KernelModel, reference: Vectors, context_dim: int) -> None:
        assert model.kernel is not None
        assert model.ridge is not None
        self.model, self.kernel, self.ridge, a = model, model.kernel, model.ridge, reference.shape[1]
        self._terms = self.kernel.terms(a)
        for kernel, _ in self._terms:  # unsuitable kernels raise now
            _embedded_dim(kernel, np.asarray(reference[:1]))
        self._dims = [_embedded_dim(kernel, np.zeros((1, context_dim))) for _, kernel in self._terms]
        #: the beliefs of all rounds, embedded for each term of the kernel
        self.past = [Past(kernel) for _, kernel in self._terms]
        self._factor = Cholesky()
        self._size = 0  # number of rounds
        self._place = np.empty(0, dtype=np.intp)  # index of each round's action in `_vectors`, with spare capacity
        self._rewards, self._whitened = np.empty(0), np.empty(0)  # y and L^-1 y
        self._squares = np.empty((0, len(self._terms)))  # squared norms of each round's embeddings, with spare capacity
        self._grams_of_rounds: list[Array] | None = None  # the rows of K up to the diagonal, after `keep_gram`
        self._taken: dict[bytes, int] = {}  # vector of each past action -> its index in `_vectors`
        self._vectors = np.empty((0, a))  # of past actions, with spare capacity
        self._diagonals: list[list[float]] = []  # k(x, x) of past actions, for each term
        self._among = [np.empty((0, 0)) for _ in self._terms]  # action kernels between past actions
        self._tables: Tables | None = None  # of the latest points
        self._trace = 0.0
        self._latest: tuple[Points, View, Array] | None = None  # the latest question, and L^-1 k_t(x) of all points
        #: the largest number added to a lambda below rounding
        self.jitter = 0.0

    def keep_gram(self) -> None:
        """Store K too, from the first round on."""
        self._grams_of_rounds = []

    @property
    def gram(self) -> Array:
        """K, (t, t), after `keep_gram`."""
        assert self._grams_of_rounds is not None
        out = np.zeros((len(self), len(self)))
        for i, row in enumerate(self._grams_of_rounds):
            out[i, : i + 1] = row
            out[: i + 1, i] = row
        return out

    @property
    def taken(self) -> Array:
        """The distinct past actions, by first appearance, (u, a)."""
        return self._vectors[: len(self._taken)]

    @property
    def place(self) -> NDArray[np.intp]:
        """The index into `taken` of each round's action, (t,)."""
        return self._place[: len(self)]

    @property
    def rewards(self) -> Array:
        """The reward of each round, (t,)."""
        return self._rewards[: len(self)]

    @property
    def whitened(self) -> Array:
        """L^-1 y, (t,)."""
        return self._whitened[: len(self)]

    @property
    def factor(self) -> Cholesky:
        """L with L L^T = K + lambda I."""
        return self._factor

    def __len__(self) -> int:
        return self._size

    def under(self, model: KernelModel, gram: Array, rewards: Array) -> KernelLearner:
        """Return a learner of the same rounds under a model with other parameters; this one must not be used again.

        gram : K (t, t) under that model
        rewards : (t,)
        """
        out = copy.copy(self)
        assert model.kernel is not None
        assert model.ridge is not None
        out.model, out.kernel, out.ridge, out._latest = model, model.kernel, model.ridge, None
        if model.kernel != self.kernel:
            out._terms = model.kernel.terms(self.taken.shape[1])
            out.past = [past.under(kernel) for past, (_, kernel) in zip(self.past, out._terms, strict=True)]
            out._among = [np.asarray(kernel._evaluate(self.taken, self.taken)) for kernel, _ in out._terms]
            out._diagonals = [out._diagonal(action) for action in self.taken]
            out._tables = None
        out._trace = float(gram.trace())
        out._factor = Cholesky.of(gram + model.ridge * np.eye(len(gram)))
        out._rewards = np.array(rewards)
        out._whitened = out._factor.solve(out._rewards[:, None])[:, 0]
        return out

    def at(self, vectors: Vectors) -> Points:
        return Points(vectors)

    def tables(self, points: Points) -> Tables:
        """Return the action kernels at points, cached until other points come."""
        if self._tables is None or self._tables.points is not points:
            self._tables = Tables(points, [kernel for kernel, _ in self._terms])
        return self._tables

    @overload
    def view(self, beliefs: Belief, samples: int | None = None, rng: Any = None) -> View: ...

    @overload
    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View | list[View]: ...

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View | list[View]:
        if not isinstance(beliefs, Belief):
            rngs = repeat(rng) if rng is None else rng  # one for each belief
            return [self._view(belief, samples, g) for belief, g in zip(beliefs.singles(), rngs, strict=False)]
        return self._view(beliefs, samples, rng)

    def _view(self, belief: Belief, samples: int | None, rng: Any) -> View:
        """Embed one belief, or draws of it."""
        if samples is None:
            clouds = [kernel.embed(belief) for _, kernel in self._terms]
        else:
            draws, weights = belief.sample(samples, rng), np.full(samples, 1.0 / samples)
            clouds = [kernel.embed_points(draws, weights) for _, kernel in self._terms]
        for cloud in clouds:
            largest = max(float(cloud.centres.max()), -float(cloud.centres.min()))
            if not largest <= MAX_CONTEXT:
                must = f"KernelModel: embedded contexts must be of size {MAX_CONTEXT:g} at most"
                raise ValueError(f"{must}, got {largest:g}; scale them, and leave out missing ones")
        return self.embedded(clouds)

    def embedded(self, clouds: Sequence[Cloud]) -> View:
        """Return the view of a belief from its embeddings for each term of the kernel."""
        return View(tuple(clouds), tuple(past.square(cloud) for past, cloud in zip(self.past, clouds, strict=True)))

    def estimate(self, points: Points, view: View | list[View]) -> Estimate:
        if isinstance(view, list):
            means, widths = zip(*(self.estimate(points, single) for single in view), strict=True)
            return Estimate(np.stack(means), np.stack(widths))
        prior_squares = self.squares(points, view)
        if not len(self):
            return Estimate(np.zeros(len(prior_squares)), np.sqrt(prior_squares / self.ridge))
        half = self.half(points, view)
        mean = self.whitened @ half
        squares = prior_squares - np.einsum("tk,tk->k", half, half)
        if not squares.min() >= -ROUNDING * (self._trace + prior_squares.max() + self.ridge):
            raise self._not_positive(f"a squared width of {squares.min() / self.ridge:.3g}")
        return Estimate(mean, np.sqrt(np.maximum(squares, 0.0) / self.ridge))

    def prior(self, points: Points, view: View | list[View]) -> Array:
        if isinstance(view, list):
            return np.stack([self.prior(points, single) for single in view])
        return np.sqrt(self.squares(points, view) / self.ridge)

    def noise(self, points: Points, view: View | list[View]) -> Array:
        return np.ones((len(view), len(points)) if isinstance(view, list) else len(points))

    def draw(self, points: Points, view: View | list[View], rng: Generators) -> Array:
        """Use a Cholesky factor of the joint posterior covariance, which takes (n k)^3 / 3 operations."""
        views = view if isinstance(view, list) else [view]
        covariance = self._prior_covariance(points, views)
        rounding = ROUNDING * (self._trace + float(np.diagonal(covariance).max()) + self.ridge)
        if len(self):
            half = np.concatenate([self.half(points, single) for single in views], axis=1)
            covariance = covariance - half.T @ half
        drawn = (self._root(covariance, rounding) @ normals(rng, len(covariance))) / math.sqrt(self.ridge)
        return drawn.reshape(len(views), len(points)) if isinstance(view, list) else drawn

    def _prior_covariance(self, points: Points, views: Sequence[View]) -> Array:
        """Return the inner products of the embeddings of all points under n beliefs, (n k, n k)."""
        total = np.zeros((len(views) * len(points),) * 2)
        for j, gram in enumerate(self.tables(points).grams()):
            if len(views) == 1:
                total += gram * views[0].squares[j]
                continue
            clouds = [view.clouds[j] for view in views]
            others = self.past[j].of(clouds)
            total += np.kron(np.stack([others.direct(cloud) for cloud in clouds]), gram)
        return total

    def perturb(self, points: Points, view: View | list[View], rng: Generators) -> Array:
        if not len(self):
            return np.zeros(self.noise(points, view).shape)
        z = self._factor.solve(normals(rng, len(self))[:, None])[:, 0]
        if isinstance(view, list):
            return np.stack([z @ self.half(points, single) for single in view])
        return np.asarray(z @ self.half(points, view))

    def _root(self, covariance: Array, rounding: float) -> Array:
        """Return the Cholesky factor of a covariance (k, k) that may be singular, up to `rounding`.

        Nearly equal actions leave rounding errors on the diagonal, to which the smallest sufficient jitter is added.
        """
        for jitter in rounding * 10.0 ** np.arange(MAX_JITTER):
            with suppress(np.linalg.LinAlgError):
                return np.linalg.cholesky(covariance + jitter * np.eye(len(covariance)))
        raise self._not_positive(f"an eigenvalue of {np.linalg.eigvalsh(covariance)[0]:.3g} between the actions")

    def half(self, points: Points, view: View) -> Array:
        """Return L^-1 k_t(x) for all points, (t, k), cached until the next round."""
        if self._latest is None or self._latest[0] is not points or self._latest[1] is not view:
            self._latest = points, view, self._solve(points, view)
        return self._latest[2]

    def squares(self, points: Points, view: View) -> Array:
        """Return s_t(x), the squared norms of the embeddings of all points, (k,)."""
        each = zip(self.tables(points).diagonals, view.squares, strict=True)
        squares = np.asarray(sum(diagonal * square for diagonal, square in each))
        if not np.isfinite(squares).all():
            raise ValueError(f"KernelModel: {self._names} must give finite numbers, got others; scale the contexts")
        if squares.min() < 0.0:
            raise self._not_positive(f"a squared norm of {squares.min():.3g}")
        return squares

    def _solve(self, points: Points, view: View) -> Array:
        """Return L^-1 k_t(x) for all points, (t, k).

        Rounds with the same action share a row of the action kernel. So k_t = S R, where R holds the distinct rows, and
        L is solved for the columns of S if they are fewer than the points.
        """
        t, u, k = len(self), len(self._taken), len(points)
        products = [past.inner(cloud) for past, cloud in zip(self.past, view.clouds, strict=True)]
        place, tables = self.place, self.tables(points).rows(self.taken)
        if u * len(products) < k:
            columns = np.zeros((t, u * len(products)))
            for j, product in enumerate(products):
                columns[np.arange(t), j * u + place] = product
            return np.asarray(self._factor.solve(columns) @ np.concatenate(tables))
        cross = tables[0].take(place, axis=0)
        cross *= products[0][:, None]
        for rows, product in zip(tables[1:], products[1:], strict=True):
            cross += rows[place] * product[:, None]
        return self._factor.solve(cross)

    def evidence(self, points: Points, view: View, index: Index) -> Evidence:
        return Evidence(np.asarray(points.vectors[int(index)]), view)

    def square_of(self, evidence: Evidence) -> float:
        """Return the squared norm of the embedding of a round."""
        action, view = evidence
        place = self._taken.get(action.tobytes())
        diagonals = self._diagonal(action) if place is None else self._diagonals[place]
        square = sum(diagonal * square for diagonal, square in zip(diagonals, view.squares, strict=True))
        if not math.isfinite(square):
            raise ValueError(f"KernelModel: {self._names} must give finite numbers, got others; scale the contexts")
        if square < 0.0:
            raise self._not_positive(f"a squared norm of {square:.3g}")
        return float(square)

    def _diagonal(self, action: Array) -> list[float]:
        """Return k(x, x) of an action, for each term."""
        return [float(kernel.diagonal(action[None])[0]) for kernel, _ in self._terms]

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        # Overflow is detected below; NumPy must not raise half-way by the caller's error settings.
        with np.errstate(all="ignore"):
            t, squared_norm, cross = len(self), self.square_of(evidence), self._cross(evidence)
            # Always solved separately, so that earlier estimates do not change a digit of what is learnt.
            column = self._factor.solve_one(cross)
            rounding = ROUNDING * (self._trace + squared_norm + self.ridge)
            ridge = max(self.ridge, rounding)
            square = squared_norm + ridge - float(column @ column)
            if not square >= ridge - rounding:
                raise self._not_positive(f"{square - ridge:.3g} left of the variance of round {t + 1}")
            if ridge > self.ridge:
                self._add_jitter(ridge - self.ridge)
            pivot = math.sqrt(max(square, ridge))  # only rounding can make `square` less than `ridge`
            new = self._new_kernel_row(evidence.action)
            # From here on nothing can fail.
            self._whitened = room(self._whitened, t + 1)
            self._whitened[t] = (reward - self._whitened[:t] @ column) / pivot
            self._factor.append(column, pivot)
            self._append(evidence, float(reward), squared_norm, cross, new)

    def remember(self, evidence: Evidence, reward: float) -> None:
        """Store a round without its row of L, which `under` factorises."""
        cross = self._cross(evidence) if self._grams_of_rounds is not None else np.empty(0)
        self._append(evidence, reward, self.square_of(evidence), cross, self._new_kernel_row(evidence.action))

    def _append(
        self, evidence: Evidence, reward: float, squared_norm: float, cross: Array, new: list[Array] | None
    ) -> None:
        action, view = evidence
        t, u = len(self), len(self._taken)
        if new is not None:
            self._taken[action.tobytes()] = u
            self._vectors = room(self._vectors, u + 1)
            self._vectors[u] = action
            self._diagonals.append(self._diagonal(action))
            for j, among in enumerate(new):
                self._among[j] = _square_room(self._among[j], u + 1)
                self._among[j][u, : u + 1] = self._among[j][: u + 1, u] = among
        self._place, self._rewards = room(self._place, t + 1), room(self._rewards, t + 1)
        self._squares = room(self._squares, t + 1)
        self._place[t], self._rewards[t] = self._taken[action.tobytes()], reward
        self._squares[t] = view.squares
        if self._grams_of_rounds is not None:
            self._grams_of_rounds.append(np.append(cross, squared_norm))
        for past, cloud in zip(self.past, view.clouds, strict=True):
            past.append(cloud)
        self._trace += squared_norm
        self._size += 1
        self._latest = None

    def _new_kernel_row(self, action: Array) -> list[Array] | None:
        """Return the kernels of a new action with past ones and itself, (u + 1,) each; None for a past action."""
        if action.tobytes() in self._taken:
            return None
        actions = np.concatenate([self.taken, action[None]])
        return [np.asarray(kernel._evaluate(action[None], actions)[0]) for kernel, _ in self._terms]

    def _row(self, term: int, action: Array, points: Points) -> Array:
        """Return the action kernel between one action and all points, (k,)."""
        place, tables = self._taken.get(action.tobytes()), self.tables(points)
        if place is not None:
            return np.asarray(tables.rows(self.taken)[term][place])
        return np.asarray(self._terms[term][0]._evaluate(action[None], tables.vectors)[0])

    def _to_taken(self, term: int, action: Array) -> Array:
        """Return the action kernel between one action and past ones, (u,)."""
        place = self._taken.get(action.tobytes())
        if place is not None:
            return np.asarray(self._among[term][place, : len(self._taken)])
        return np.asarray(self._terms[term][0]._evaluate(action[None], self.taken)[0])

    def _cross(self, evidence: Evidence) -> Array:
        """Return the inner products of a round's embedding with those of all past rounds, (t,)."""
        if not len(self):
            return np.empty(0)
        action, place, out = evidence.action, self.place, np.zeros(len(self))
        for j, (past, cloud) in enumerate(zip(self.past, evidence.view.clouds, strict=True)):
            out += self._to_taken(j, action).take(place) * past.inner(cloud)
        return out

    def columns(self, rounds: Sequence[Evidence]) -> Array:
        """Return L^-1 k_t of the embeddings of other rounds, (t, n)."""
        if not len(self):
            return np.empty((0, len(rounds)))
        return self._factor.solve(np.stack([self._cross(evidence) for evidence in rounds], axis=1))

    def between(self, rounds: Sequence[Evidence], points: Points, view: View) -> Array:
        """Return the inner products of the embeddings of other rounds and of all points, (n, k)."""
        out = np.zeros((len(rounds), len(points)))
        for j, (past, cloud) in enumerate(zip(self.past, view.clouds, strict=True)):
            others = past.of([round_view.clouds[j] for _, round_view in rounds])
            out += others.direct(cloud)[:, None] * np.stack([self._row(j, action, points) for action, _ in rounds])
        return out

    def covariance(self, rounds: Sequence[Evidence]) -> Array:
        """Return the inner products between the embeddings of other rounds, (n, n)."""
        out, actions = np.zeros((len(rounds), len(rounds))), np.stack([action for action, _ in rounds])
        for j, ((of_actions, _), past) in enumerate(zip(self._terms, self.past, strict=True)):
            others = past.of([round_view.clouds[j] for _, round_view in rounds])
            inner = np.stack([others.direct(round_view.clouds[j]) for _, round_view in rounds], axis=1)
            out += of_actions._evaluate(actions, actions) * inner
        return out

    def _add_jitter(self, jitter: float) -> None:
        """Record a jitter, with a warning the first time."""
        if not self.jitter:
            text = f"KernelModel: ridge={self.ridge:g} is lost in rounding; {jitter:.3g} was added to it"
            warnings.warn(text, RuntimeWarning, stacklevel=5)  # at the caller of Bandit.learn
        self.jitter = max(self.jitter, jitter)

    def norm(self, evidence: Evidence) -> Array:
        return np.asarray(math.sqrt(self.square_of(evidence)))

    @property
    def _names(self) -> str:
        """The names of the model's elementary kernels, for errors."""
        names = (type(atom).__name__ for term in self._terms for kernel in term for _, atom in kernel.atoms())
        return " and ".join(dict.fromkeys(names))

    def _not_positive(self, fault: str) -> ValueError:
        """Return the error for a kernel that is not positive semi-definite."""
        return ValueError(f"KernelModel: kernel must be positive semi-definite, got {self._names} with {fault}; {SAFE}")

    @property
    def log_det(self) -> float:
        return self._factor.log_det - len(self) * math.log(self.ridge)

    def rounds(self) -> Iterator[tuple[Evidence, float]]:
        clouds = zip(*(past.clouds() for past in self.past), strict=True)
        vectors, squares = self.taken[self.place], self._squares[: len(self)].tolist()
        for action, reward, views, norms in zip(vectors, self.rewards, clouds, squares, strict=True):
            yield Evidence(action, View(views, tuple(norms))), float(reward)

    def adopt(self, evidence: Evidence) -> Evidence:
        return Evidence(evidence.action, self.embedded(evidence.view.clouds))

    def merge(self, other: KernelLearner) -> None:
        for evidence, reward in list(other.rounds()):
            self.learn(evidence, reward)

    @property
    def parameters(self) -> Parameters:
        return Parameters(ridge=self.ridge)

    def state(self) -> dict[str, Array]:
        """Return the rounds alone, as the factor would be t^2 numbers."""
        return _records.pack([evidence for evidence, _ in self.rounds()]) | {"reward": self.rewards.copy()}

    def restore(self, state: dict[str, Array]) -> None:
        """Relearn the rounds."""
        rounds, rewards = {name: value for name, value in state.items() if name != "reward"}, state["reward"]
        for evidence, reward in zip(_records.unpack(Evidence, rounds, len(rewards)), rewards, strict=True):
            self.check(evidence)
            self.learn(evidence, float(reward))

    def check(self, evidence: Evidence) -> None:
        if np.shape(evidence.action) != self._vectors.shape[1:]:
            raise ValueError("its rounds were learnt with other actions")
        clouds, squares = evidence.view
        if len(clouds) != len(self._dims) or len(squares) != len(self._dims):
            raise ValueError("its rounds were learnt with another kernel")
        for (weights, centres, cov), c in zip(clouds, self._dims, strict=True):
            n, shape = len(weights), centres.shape if cov is None else cov.shape
            if not n or weights.shape != (n,) or centres.shape != (n, c) or shape not in ((n, c), (n, c, c)):
                raise ValueError("the beliefs do not fit their components")


def _square_room(array: Array, need: int) -> Array:
    """Return a square array with capacity for `need` rows and columns."""
    if need <= len(array):
        return array
    out = np.zeros((max(need, 2 * len(array), 16),) * 2)
    out[: len(array), : len(array)] = array
    return out


def _embedded_dim(kernel: Kernel, point: Array) -> int:
    """Return the dimension of an embedded point (1, p); a kernel of another dimension raises."""
    cloud = kernel.embed_points(point, np.ones(1))
    shape = np.shape(kernel.compare(cloud, cloud))
    if shape != (1, 1):
        raise ValueError(f"{type(kernel).__name__}: _evaluate must give shape (n, m), got {shape} for one point each")
    return int(cloud.centres.shape[1])
