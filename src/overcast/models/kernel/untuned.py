"""The learner of the kernelised model without a ridge, which learns its scales from the rewards."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from overcast import _records
from overcast._check import Array
from overcast._units import Vectors
from overcast.beliefs.base import Belief, Beliefs, Generators
from overcast.beliefs.cloud import Cloud
from overcast.features.design import Index
from overcast.kernels.base import AnyKernel
from overcast.models.base import Estimate, Parameters, Points, normals
from overcast.models.kernel.awaited import Awaited
from overcast.models.kernel.learner import Evidence, KeepsRounds, KernelLearner
from overcast.models.kernel.learner import View as Embedded
from overcast.models.kernel.lengths import Lengths
from overcast.models.kernel.likelihood import Rounds
from overcast.models.kernel.past import room
from overcast.models.kernel.scales import SMALLEST_SIZE, estimate_scales
from overcast.models.prior import CENTRE

if TYPE_CHECKING:
    from overcast.models.kernel.model import KernelModel

# Scales are refitted after every round below YOUNG rounds, then whenever their number has grown by GROWTH.
YOUNG, GROWTH = 10, 1.2
# Number of latest pending rounds in use.
MOST_AWAITED = 64

View = tuple[Cloud, ...]  # a belief embedded for each term of the kernel, for all parameters


class Seen(NamedTuple):
    """A round to learn: the vector (a,) of the action, and the embedded belief or revealed context for each term."""

    action: Array
    clouds: View


class UntunedLearner(KeepsRounds):
    """A `KernelLearner` of rewards minus their level, with ridge and noise estimated from the rewards.

    y = m + f + noise, where m is flat, f is a Gaussian process with covariance tau^2 k, and tau^2 = noise^2 / lambda.
    `scales.estimate_scales` estimates noise and lambda at intervals. m has its best value in every round, and the
    widths include its error. If the model has no kernel, `Lengths` provides one.
    """

    evidence_type = Seen

    def __init__(self, model: KernelModel, reference: Vectors, context_dim: int) -> None:
        self.model, self._reference_action, self._dim = model, np.asarray(reference[:1]), context_dim
        self._lengths = Lengths(np.asarray(reference), context_dim) if model.kernel is None else None
        #: the rounds so far, and the rewards above `reference`
        self.inner = self._new_learner(1.0)
        self._rewards = np.empty(0)  # with spare capacity
        self._ones = np.empty(0)  # L^-1 1, with spare capacity
        self._reference = 0.0
        self._noise2, self._gamma = 1.0, 0.0
        self._scaled = False  # whether rewards differ, so that they have a scale
        self._due = 1  # the number of rounds at the next fit of scales
        self._fitted = 0  # the number of rounds at the latest fit
        self._latest: tuple[View, Embedded] | None = None
        self._awaited: tuple[Sequence[Seen], float] | None = None
        self._information: Awaited | None = None

    def _new_learner(self, ridge: float) -> KernelLearner:
        """Return a learner without rounds, under the current kernel."""
        out = KernelLearner(replace(self.model, kernel=self._kernel, ridge=ridge), self._reference_action, self._dim)
        if self._lengths is None:
            out.keep_gram()  # K does not depend on the ridge
        return out

    @property
    def _kernel(self) -> AnyKernel:
        if self._lengths is not None:
            return self._lengths.kernel
        assert self.model.kernel is not None
        return self.model.kernel

    def __len__(self) -> int:
        return len(self.inner)

    @property
    def rewards(self) -> Array:
        """The reward of each round, (t,)."""
        return self._rewards[: len(self)]

    @property
    def _solved_ones(self) -> Array:
        """L^-1 1, (t,)."""
        return self._ones[: len(self)]

    @property
    def level(self) -> float:
        """m, the best level of rewards; 0 before the first."""
        ones = self._solved_ones
        return self._reference + (float(ones @ self.inner.whitened) / float(ones @ ones) if len(self) else 0.0)

    def at(self, vectors: Vectors) -> Points:
        return self.inner.at(vectors)

    @overload
    def view(self, beliefs: Belief, samples: int | None = None, rng: Any = None) -> View: ...

    @overload
    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View | list[View]: ...

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View | list[View]:
        embedded = self.inner.view(beliefs, samples, rng)
        if isinstance(embedded, list):
            return [single.clouds for single in embedded]
        self._latest = embedded.clouds, embedded
        return embedded.clouds

    def _embedded(self, view: View) -> Embedded:
        """Return a view under the current kernel, cached until another is asked for."""
        if self._latest is None or self._latest[0] is not view:
            self._latest = view, self.inner.embedded(view)
        return self._latest[1]

    def estimate(self, points: Points, view: View | list[View]) -> Estimate:
        if isinstance(view, list):
            means, widths = zip(*(self.estimate(points, single) for single in view), strict=True)
            return Estimate(np.stack(means), np.stack(widths))
        embedded = self._embedded(view)
        mean, width = self.inner.estimate(points, embedded)
        rest, squares = self._rest(points, embedded), width * width
        if len(self):
            squares += rest * rest * (1.0 / (self.inner.ridge * float(self._solved_ones @ self._solved_ones)))
        if self._awaited is not None:
            squares = np.maximum(
                squares - self._awaited_information().reduction(points, embedded, rest) / self.inner.ridge, 0.0
            )
        mean = self._reference + mean + (self.level - self._reference) * rest
        return Estimate(mean, math.sqrt(self._noise2) * np.sqrt(squares))

    def _rest(self, points: Points, embedded: Embedded) -> Array:
        """Return 1 - 1^T (K + lambda I)^-1 k_t(x), the weight of the level in each point's mean, (k,)."""
        if not len(self):
            return np.ones(len(points))
        return np.asarray(1.0 - self._solved_ones @ self.inner.half(points, embedded))

    def awaiting(self, evidence: Sequence[Seen], share: float = 1.0) -> UntunedLearner:
        out = copy.copy(self)
        out._awaited, out._information = (evidence[-MOST_AWAITED:], share), None
        return out

    def _awaited_information(self) -> Awaited:
        """Return the information of the pending rounds, cached."""
        if self._information is None:
            assert self._awaited is not None
            rounds, share = self._awaited
            embedded_rounds = [Evidence(action, self.inner.embedded(clouds)) for action, clouds in rounds]
            self._information = Awaited(self.inner, embedded_rounds, share, self._solved_ones)
        return self._information

    def evidence(self, points: Points, view: View, index: Index) -> Seen:
        return Seen(np.asarray(points.vectors[int(index)]), view)

    def learn(self, evidence: Seen, reward: float | Array) -> None:
        if len(self) + 1 < self._due:
            self._add(evidence, float(reward))
            return
        # A fit takes long, and an interruption must not leave half a fit.
        shared = [self.inner.model, self.inner.kernel, *(kernel for term in self.inner._terms for kernel in term)]
        inner = copy.deepcopy(self.inner, {id(item): item for item in shared})
        before = vars(self) | {"inner": inner, "_lengths": copy.deepcopy(self._lengths)}
        try:
            self._add(evidence, float(reward))
            self._refit()
        except BaseException:
            self.__dict__ = before
            raise

    def _add(self, evidence: Seen, reward: float) -> None:
        """Add a round under the current scales."""
        converted, t = Evidence(evidence.action, self._embedded(evidence.clouds)), len(self)
        inner, reference = (self.inner, self._reference) if t else (self._first_learner(converted), reward)
        inner.learn(converted, reward - reference)
        if not t:
            noise2 = reward * reward if abs(reward) > SMALLEST_SIZE else 1.0
            self.inner, self._reference, self._noise2 = inner, reference, noise2
        self._extend(reward)

    def _extend(self, reward: float) -> None:
        """Update rewards, L^-1 1 and gamma for the last row of L."""
        t, (row, pivot) = len(self) - 1, self.inner.factor.last()
        self._rewards, self._ones = room(self._rewards, t + 1), room(self._ones, t + 1)
        self._rewards[t], self._ones[t] = reward, (1.0 - self._ones[:t] @ row) / pivot
        self._gamma += 1.0 - self.inner.ridge / (pivot * pivot)

    def _first_learner(self, evidence: Evidence) -> KernelLearner:
        """Return a learner for the first round, with the prior's ridge for its k(x, x)."""
        size = self.inner.square_of(evidence)
        return self._new_learner(size * math.exp(-CENTRE) if size > 0.0 else 1.0)

    def _refit(self) -> None:
        """Refit the scales."""
        t, rewards, inner = len(self), self.rewards, self.inner
        self._due = t + 1 if t < YOUNG else math.ceil(GROWTH * t)
        self._latest = None
        if self._lengths is not None:
            self._lengths.fit(inner, rewards)
        gram = self._gram()
        scales, reference = estimate_scales(gram, rewards), float(rewards.mean())
        ridge = inner.ridge if scales is None else scales.ridge
        with suppress(np.linalg.LinAlgError):  # a kernel that is not positive raises in the next rounds
            self._factorise(gram, ridge, rewards, reference)
            self._fitted = t
            if scales is not None:
                self._noise2, self._gamma, self._scaled = scales.noise2, scales.gamma, True

    def _gram(self) -> Array:
        """Return K (t, t) under the current kernel."""
        if self._lengths is None:
            return self.inner.gram
        return Rounds(self.inner).gram(self._lengths.kernel, slopes=False)[0]

    def _factorise(self, gram: Array, ridge: float, rewards: Array, reference: float) -> None:
        """Switch to this ridge, and to rewards above `reference`."""
        model = replace(self.inner.model, kernel=self._kernel, ridge=ridge)
        self.inner = self.inner.under(model, gram, rewards - reference)
        self._reference, self._ones = reference, self.inner.factor.solve(np.ones((len(rewards), 1)))[:, 0]

    def extend(self, reference: Vectors) -> None:
        if self._lengths is None:
            return
        lengths, before = self._lengths.seeing(np.asarray(reference)), copy.copy(self)
        if lengths.kernel == self._lengths.kernel:
            return
        try:
            self._lengths = lengths
            if len(self):
                self._refit()
            else:
                self.inner, self._latest = self._new_learner(1.0), None
        except BaseException:
            self.__dict__ = vars(before)
            raise

    @property
    def log_det(self) -> float:
        return self.inner.log_det

    @property
    def residual_share(self) -> float:
        return max(1.0 - self._gamma / max(len(self), 1), 0.0)

    @property
    def even_variance(self) -> float:
        return self._noise2 * max(self._gamma, 1.0) / max(len(self), 1)

    @property
    def parameters(self) -> Parameters:
        return Parameters(math.sqrt(self._noise2), self.inner.ridge) if self._scaled else Parameters()

    def prior(self, points: Points, view: View | list[View]) -> Array:
        if isinstance(view, list):
            return np.stack([self.prior(points, single) for single in view])
        return math.sqrt(self._noise2) * self.inner.prior(points, self._embedded(view))

    def noise(self, points: Points, view: View | list[View]) -> Array:
        shape = (len(view), len(points)) if isinstance(view, list) else (len(points),)
        return np.full(shape, math.sqrt(self._noise2))

    def draw(self, points: Points, view: View | list[View], rng: Generators) -> Array:
        several = isinstance(view, list)
        embedded = (
            [self.inner.embedded(single) for single in view] if isinstance(view, list) else [self._embedded(view)]
        )
        drawn = self.inner.draw(points, embedded if several else embedded[0], rng)
        if len(self):
            size = 1.0 / math.sqrt(self.inner.ridge * float(self._solved_ones @ self._solved_ones))
            rest = np.stack([self._rest(points, single) for single in embedded])
            drawn = drawn + size * float(normals(rng, 1)[0]) * (rest if several else rest[0])
        return math.sqrt(self._noise2) * drawn

    def perturb(self, points: Points, view: View | list[View], rng: Generators) -> Array:
        if not len(self):
            return np.zeros(self.noise(points, view).shape)
        ones = self._solved_ones
        z = self.inner.factor.solve(normals(rng, len(self))[:, None])[:, 0]

        def deviation(single: View) -> Array:
            embedded = self._embedded(single)
            level = float(z @ ones) / float(ones @ ones)
            return math.sqrt(self._noise2) * (
                z @ self.inner.half(points, embedded) + level * self._rest(points, embedded)
            )

        return np.stack([deviation(single) for single in view]) if isinstance(view, list) else deviation(view)

    def norm(self, evidence: Seen) -> Array:
        return self.inner.norm(Evidence(evidence.action, self._embedded(evidence.clouds)))

    def rounds(self) -> Iterator[tuple[Seen, float]]:
        for (evidence, _), reward in zip(self.inner.rounds(), self.rewards, strict=True):
            yield Seen(evidence.action, evidence.view.clouds), float(reward)

    def adopt(self, evidence: Seen) -> Seen:
        return evidence

    def merge(self, other: UntunedLearner) -> None:
        if not len(self):
            self.restore(other.state())
            return
        for evidence, reward in list(other.rounds()):
            self.learn(evidence, reward)
        self._refit()

    def state(self) -> dict[str, Array]:
        """Return the rounds and the scales of the latest fit, as the factor would be t^2 numbers."""
        scales = [self.inner.ridge, self._noise2, self._gamma, self._reference, self._scaled, self._due, self._fitted]
        out = _records.pack([evidence for evidence, _ in self.rounds()])
        out |= {"reward": self.rewards.copy(), "scales": np.array(scales, dtype=float)}
        return out if self._lengths is None else out | self._lengths.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Relearn the rounds with the stored scales: together up to the latest fit, then one by one."""
        state = dict(state)
        rewards, scales = state.pop("reward"), state.pop("scales")
        if self._lengths is not None:
            self._lengths.restore(state)
        ridge, noise2, gamma, reference, scaled, due, fitted = map(float, scales)
        if not (ridge > 0.0 and noise2 > 0.0):
            raise ValueError(f"KernelModel: ridge and noise must be > 0, got {ridge:g} and {noise2:g}")
        if not 0 <= fitted <= len(rewards):
            raise ValueError(f"KernelModel: the latest fit must be of {len(rewards)} rounds at most, got {fitted:g}")
        rounds = _records.unpack(Seen, state, len(rewards))
        for evidence in rounds:
            self.check(evidence)
        self.inner, self._latest, self._reference, self._fitted = self._new_learner(ridge), None, reference, int(fitted)
        for evidence, reward in zip(rounds[: self._fitted], rewards, strict=False):
            converted = Evidence(evidence.action, self.inner.embedded(evidence.clouds))
            self.inner.remember(converted, float(reward) - reference)
        self._rewards, self._ones = np.array(rewards[: self._fitted]), np.empty(0)
        if self._fitted:
            self._factorise(self._gram(), ridge, self._rewards, reference)
        for evidence, reward in zip(rounds[self._fitted :], rewards[self._fitted :].tolist(), strict=True):
            self.inner.learn(Evidence(evidence.action, self.inner.embedded(evidence.clouds)), reward - reference)
            self._extend(reward)
        self._noise2, self._gamma, self._scaled, self._due = noise2, gamma, bool(scaled), int(due)

    def check(self, evidence: Seen) -> None:
        self.inner.check(Evidence(evidence.action, Embedded(evidence.clouds, (0.0,) * len(evidence.clouds))))
