"""The state of the kernelised model: past rounds, and least squares on their mean embeddings."""

from __future__ import annotations

import copy
import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast import _records
from overcast._check import Array
from overcast.beliefs.base import Belief, Beliefs, Generators
from overcast.beliefs.cloud import Cloud
from overcast.features.design import Index
from overcast.kernels.base import Kernel
from overcast.models.base import Estimate, LastingLearner, Parameters, normals
from overcast.models.kernel.factor import Cholesky
from overcast.models.kernel.past import Past, room

if TYPE_CHECKING:
    from overcast.models.kernel.model import KernelModel

# The most that rounding takes from a pivot or a squared width, as a share of the trace of K: both sum t products.
ROUNDING = 1e-14
# Powers of ten by which that may grow on the diagonal of a matrix until it has a Cholesky factor.
MAX_JITTER = 6
SAFE = "sums and products of positive semi-definite kernels are safe"


class View(NamedTuple):
    """A belief embedded for each term of the kernel, and the squared norm of each embedding."""

    clouds: tuple[Cloud, ...]
    squares: tuple[float, ...]


class Evidence(NamedTuple):
    """A round to learn from: the index of the action, and the view of the belief or of the revealed context."""

    action: int
    view: View


class KeepsRounds(LastingLearner):
    """A learner that keeps all rounds, so that a learner under another kernel can learn them again."""

    @abstractmethod
    def rounds(self) -> Iterator[tuple[Any, float]]:
        """Yield the evidence and the reward of each round, in order."""

    @abstractmethod
    def adopt(self, evidence: Any) -> Any:
        """Return the evidence of a learner whose kernel differs from this one's only in its parameters."""


class KernelLearner(KeepsRounds):
    """The rounds seen so far, and a growing Cholesky factor L of K + lambda I."""

    evidence_type = Evidence

    def __init__(self, model: KernelModel, actions: Array, context_dim: int) -> None:
        assert model.kernel is not None
        assert model.ridge is not None
        self.model, self.kernel, self.ridge, self._actions = model, model.kernel, model.ridge, actions
        self._terms = self.kernel.terms(actions.shape[1])
        for kernel, _ in self._terms:  # kernels that do not fit raise now, before anything is learnt
            _try(kernel, actions[:1])
        self._dims = [_try(kernel, np.zeros((1, context_dim))) for _, kernel in self._terms]  # of embedded contexts
        self._diagonals = [kernel.diagonal(actions) for kernel, _ in self._terms]  # (k,) each
        #: the beliefs of all rounds, embedded for each term of the kernel
        self.past = [Past(kernel) for _, kernel in self._terms]
        self._factor = Cholesky()
        self._place = np.empty(0, dtype=np.intp)  # of each round's action among those taken, with room for more
        self._rewards, self._whitened = np.empty(0), np.empty(0)  # y and L^-1 y
        self._taken: dict[int, int] = {}  # the place of each action that was ever taken
        self._rows = [np.empty((0, len(actions))) for _ in self._terms]  # of the action kernels, one per action taken
        self._grams: list[Array] | None = None  # of the action kernels, (k, k) each, made when a draw needs them
        self._trace = 0.0
        self._latest: tuple[View, Array] | None = None  # the latest belief estimated, and L^-1 k_t(x) of all actions
        #: the largest number that was added to lambda because lambda was lost in rounding
        self.jitter = 0.0

    @property
    def taken(self) -> Array:
        """The distinct actions that were taken, in the order of their first time, (u, a)."""
        return self._actions[list(self._taken)]

    @property
    def place(self) -> NDArray[np.intp]:
        """The row of `taken` that holds the action of each round, (t,)."""
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
        return len(self._factor)

    def under(self, model: KernelModel, gram: Array, rewards: Array) -> KernelLearner:
        """Return a learner of the same rounds under a model that differs in parameters, in place of this one.

        gram : K (t, t) under that model
        rewards : (t,)
        """
        out = copy.copy(self)
        assert model.kernel is not None
        assert model.ridge is not None
        out.model, out.kernel, out.ridge, out._latest = model, model.kernel, model.ridge, None
        if model.kernel != self.kernel:
            out._terms = model.kernel.terms(self._actions.shape[1])
            out._diagonals = [kernel.diagonal(self._actions) for kernel, _ in out._terms]
            out.past = [past.under(kernel) for past, (_, kernel) in zip(self.past, out._terms, strict=True)]
            out._rows = [np.asarray(kernel._evaluate(self.taken, self._actions)) for kernel, _ in out._terms]
            out._grams = None
        out._trace = float(gram.trace())
        out._factor = Cholesky.of(gram + model.ridge * np.eye(len(gram)))
        out._rewards = np.array(rewards)
        out._whitened = out._factor.solve(out._rewards[:, None])[:, 0]
        return out

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View:
        assert isinstance(beliefs, Belief)
        if samples is None:
            return self.embedded([kernel.embed(beliefs) for _, kernel in self._terms])
        draws, weights = beliefs.sample(samples, rng), np.full(samples, 1.0 / samples)
        return self.embedded([kernel.embed_points(draws, weights) for _, kernel in self._terms])

    def embedded(self, clouds: Sequence[Cloud]) -> View:
        """Return the view of a belief that is embedded for each term of the kernel."""
        return View(tuple(clouds), tuple(past.square(cloud) for past, cloud in zip(self.past, clouds, strict=True)))

    def estimate(self, view: View) -> Estimate:
        own = self.squares(view)
        if not len(self):
            return Estimate(np.zeros(len(own)), np.sqrt(own / self.ridge))
        half = self.half(view)
        mean = self.whitened @ half
        squares = own - np.einsum("tk,tk->k", half, half)
        if not squares.min() >= -ROUNDING * (self._trace + own.max() + self.ridge):
            raise self._not_positive(f"a squared width of {squares.min() / self.ridge:.3g}")
        return Estimate(mean, np.sqrt(np.maximum(squares, 0.0) / self.ridge))

    def prior(self, view: View) -> Array:
        return np.sqrt(self.squares(view) / self.ridge)

    def noise(self, view: View) -> Array:
        return np.ones(len(self._actions))

    def draw(self, view: View, rng: Generators) -> Array:
        """Use a Cholesky factor of the posterior covariance of all actions, which takes k^3 / 3 operations."""
        if self._grams is None:
            self._grams = [np.asarray(kernel._evaluate(self._actions, self._actions)) for kernel, _ in self._terms]
        covariance = np.asarray(sum(gram * square for gram, square in zip(self._grams, view.squares, strict=True)))
        rounding = ROUNDING * (self._trace + float(np.diagonal(covariance).max()) + self.ridge)
        if len(self):
            half = self.half(view)
            covariance = covariance - half.T @ half
        return (self._root(covariance, rounding) @ normals(rng, len(covariance))) / math.sqrt(self.ridge)

    def perturb(self, view: View, rng: Generators) -> Array:
        if not len(self):
            return np.zeros(len(self._actions))
        return np.asarray(self._factor.solve(normals(rng, len(self))[:, None])[:, 0] @ self.half(view))

    def _root(self, covariance: Array, rounding: float) -> Array:
        """Return the Cholesky factor of a covariance (k, k) that may be singular and is known up to `rounding`.

        Actions that are nearly equal leave nothing but rounding on the diagonal; the least that helps is added to it.
        """
        for jitter in rounding * 10.0 ** np.arange(MAX_JITTER):
            with suppress(np.linalg.LinAlgError):
                return np.linalg.cholesky(covariance + jitter * np.eye(len(covariance)))
        raise self._not_positive(f"an eigenvalue of {np.linalg.eigvalsh(covariance)[0]:.3g} between the actions")

    def half(self, view: View) -> Array:
        """Return L^-1 k_t(x) for all actions, (t, k), and keep it until the next round is learnt."""
        if self._latest is None or self._latest[0] is not view:
            self._latest = view, self._solve(view)
        return self._latest[1]

    def squares(self, view: View) -> Array:
        """Return s_t(x), the squared norms of the embeddings of all actions, (k,)."""
        squares = np.asarray(sum(own * square for own, square in zip(self._diagonals, view.squares, strict=True)))
        if not np.isfinite(squares).all():
            raise ValueError(f"KernelModel: {self._names} must give finite numbers, got others; scale the contexts")
        if squares.min() < 0.0:
            raise self._not_positive(f"a squared norm of {squares.min():.3g}")
        return squares

    def _solve(self, view: View) -> Array:
        """Return L^-1 k_t(x) for all actions, (t, k).

        Rounds that took the same action have the same row of the action kernel. So k_t = S R, where R holds the
        distinct rows, and L is solved for the columns of S if they are fewer than the actions.
        """
        t, u, k = len(self), len(self._taken), len(self._actions)
        products = [past.inner(cloud) for past, cloud in zip(self.past, view.clouds, strict=True)]
        place = self.place
        if u * len(products) < k:
            columns = np.zeros((t, u * len(products)))
            for j, product in enumerate(products):
                columns[np.arange(t), j * u + place] = product
            return np.asarray(self._factor.solve(columns) @ np.concatenate([rows[:u] for rows in self._rows]))
        cross = self._rows[0].take(place, axis=0)
        cross *= products[0][:, None]
        for rows, product in zip(self._rows[1:], products[1:], strict=True):
            cross += rows[place] * product[:, None]
        return self._factor.solve(cross)

    def evidence(self, view: View, index: Index) -> Evidence:
        return Evidence(int(index), view)

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        index, view = evidence
        t, own = len(self), float(self.squares(view)[index])
        rows = [self._row(j, index) for j in range(len(self._terms))]
        column = self._column(view, index, rows)
        rounding = ROUNDING * (self._trace + own + self.ridge)
        ridge = max(self.ridge, rounding)
        square = own + ridge - float(column @ column)
        if not square >= ridge - rounding:
            raise self._not_positive(f"{square - ridge:.3g} left of the variance of round {t + 1}")
        if ridge > self.ridge:
            self._add_jitter(ridge - self.ridge)
        pivot = math.sqrt(max(square, ridge))  # only rounding can make `square` less than `ridge`

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
        for past, cloud in zip(self.past, view.clouds, strict=True):
            past.append(cloud)
        self._trace += own
        self._latest = None

    def _row(self, term: int, index: int) -> Array:
        """Return the action kernel between one action and all, (k,)."""
        if index in self._taken:
            return np.asarray(self._rows[term][self._taken[index]])
        return np.asarray(self._terms[term][0]._evaluate(self._actions[index][None], self._actions)[0])

    def _column(self, view: View, index: int, rows: Sequence[Array]) -> Array:
        """Return L^-1 times the inner products of one embedding with those of all rounds, (t,)."""
        if self._latest is not None and self._latest[0] is view:
            return np.ascontiguousarray(self._latest[1][:, index])
        if not len(self):
            return np.empty(0)
        return np.asarray(self._factor.solve(self._cross(view, rows)[:, None])[:, 0])

    def _cross(self, view: View, rows: Sequence[Array]) -> Array:
        """Return the inner products of one embedding with those of all rounds, (t,)."""
        taken, parts = self._index(), zip(rows, self.past, view.clouds, strict=True)
        return np.asarray(sum(row[taken] * past.inner(cloud) for row, past, cloud in parts))

    def columns(self, rounds: Sequence[Evidence]) -> Array:
        """Return L^-1 k_t of the embeddings of other rounds, (t, n)."""
        if not len(self):
            return np.empty((0, len(rounds)))
        terms = range(len(self._terms))
        cross = [self._cross(view, [self._row(j, index) for j in terms]) for index, view in rounds]
        return self._factor.solve(np.stack(cross, axis=1))

    def between(self, rounds: Sequence[Evidence], view: View) -> Array:
        """Return the inner products of the embeddings of other rounds with those of all actions, (n, k)."""
        out = np.zeros((len(rounds), len(self._actions)))
        for j, (past, cloud) in enumerate(zip(self.past, view.clouds, strict=True)):
            others = past.of([own.clouds[j] for _, own in rounds])
            out += others.direct(cloud)[:, None] * np.stack([self._row(j, index) for index, _ in rounds])
        return out

    def _index(self) -> NDArray[np.intp]:
        """Return the index of each round's action, (t,)."""
        return np.fromiter(self._taken, dtype=np.intp)[self.place]

    def _add_jitter(self, jitter: float) -> None:
        if not self.jitter:
            text = f"KernelModel: ridge={self.ridge:g} is lost in rounding; {jitter:.3g} was added to it"
            warnings.warn(text, RuntimeWarning, stacklevel=4)  # at the line that told the bandit to learn
        self.jitter = max(self.jitter, jitter)

    def norm(self, evidence: Evidence) -> Array:
        return np.asarray(np.sqrt(self.squares(evidence.view)[evidence.action]))

    @property
    def _names(self) -> str:
        """The names of the kernels that the model's kernel is made of, for error messages."""
        names = (type(atom).__name__ for term in self._terms for kernel in term for _, atom in kernel.atoms())
        return " and ".join(dict.fromkeys(names))

    def _not_positive(self, what: str) -> ValueError:
        return ValueError(f"KernelModel: kernel must be positive semi-definite, got {self._names} with {what}; {SAFE}")

    @property
    def log_det(self) -> float:
        return self._factor.log_det - len(self) * math.log(self.ridge)

    def rounds(self) -> Iterator[tuple[Evidence, float]]:
        clouds = zip(*(past.clouds() for past in self.past), strict=True)
        for index, reward, views in zip(self._index(), self.rewards, clouds, strict=True):
            yield Evidence(int(index), self.embedded(views)), float(reward)

    def adopt(self, evidence: Evidence) -> Evidence:
        return Evidence(evidence.action, self.embedded(evidence.view.clouds))

    def merge(self, other: KernelLearner) -> None:
        for evidence, reward in list(other.rounds()):
            self.learn(evidence, reward)

    @property
    def parameters(self) -> Parameters:
        return Parameters(ridge=self.ridge)

    def state(self) -> dict[str, Array]:
        """Return the rounds alone: the factor would be t^2 numbers."""
        return _records.pack([evidence for evidence, _ in self.rounds()]) | {"reward": self.rewards.copy()}

    def restore(self, state: dict[str, Array]) -> None:
        """Learn the rounds again."""
        rounds, rewards = {name: value for name, value in state.items() if name != "reward"}, state["reward"]
        for evidence, reward in zip(_records.unpack(Evidence, rounds, len(rewards)), rewards, strict=True):
            self.check(evidence)
            self.learn(evidence, float(reward))

    def check(self, evidence: Evidence) -> None:
        if evidence.action not in range(len(self._actions)):
            raise ValueError(f"there is no action {evidence.action}")
        clouds, squares = evidence.view
        if len(clouds) != len(self._dims) or len(squares) != len(self._dims):
            raise ValueError("its rounds were learnt with another kernel")
        for (weights, centres, cov), c in zip(clouds, self._dims, strict=True):
            n, shape = len(weights), centres.shape if cov is None else cov.shape
            if not n or weights.shape != (n,) or centres.shape != (n, c) or shape not in ((n, c), (n, c, c)):
                raise ValueError("the beliefs do not fit their components")


def _try(kernel: Kernel, point: Array) -> int:
    """Return the dimension that a point (1, p) has when it is embedded; a kernel of another dimension raises."""
    cloud = kernel.embed_points(point, np.ones(1))
    shape = np.shape(kernel.compare(cloud, cloud))
    if shape != (1, 1):
        raise ValueError(f"{type(kernel).__name__}: _evaluate must give shape (n, m), got {shape} for one point each")
    return int(cloud.centres.shape[1])
