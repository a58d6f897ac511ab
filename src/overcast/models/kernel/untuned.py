"""The state of the kernelised model without numbers, which learns its scales from the rewards."""

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
from overcast.models.kernel.scales import SMALLEST_SIZE, averaged
from overcast.models.prior import CENTRE

if TYPE_CHECKING:
    from overcast.models.kernel.model import KernelModel

# Scales are learnt anew after every round while there are fewer than YOUNG, then when rounds have grown by GROWTH.
YOUNG, GROWTH = 10, 1.2
# Of more rounds than this whose rewards are still to come, the latest count.
MOST_AWAITED = 64

View = tuple[Cloud, ...]  # a belief, in the form that each term of the kernel takes whatever its parameters


class Seen(NamedTuple):
    """A round to learn from: the vector (a,) of the action, and the belief or the revealed context for each term."""

    action: Array
    clouds: View


class UntunedLearner(KeepsRounds):
    """A `KernelLearner` of rewards without their level, whose ridge and noise follow from the rewards.

    y = m + f + noise, where m is flat, f is a Gaussian process with covariance tau^2 k, and tau^2 = noise^2 / lambda.
    `scales.averaged` gives noise and lambda; between its calls they stay. m has its best value in every round, and the
    widths include its error. If the model has no kernel, `Lengths` gives one.
    """

    evidence_type = Seen

    def __init__(self, model: KernelModel, reference: Vectors, context_dim: int) -> None:
        self.model, self._reference_action, self._dim = model, np.asarray(reference[:1]), context_dim
        self._lengths = Lengths(np.asarray(reference), context_dim) if model.kernel is None else None
        #: the rounds so far, and the rewards above `reference`
        self.inner = self._fresh(1.0)
        self._rewards = np.empty(0)  # as they came, with room for more
        self._ones = np.empty(0)  # L^-1 1, with room for more
        self._reference = 0.0
        self._noise2, self._gamma = 1.0, 0.0
        self._scaled = False  # whether rewards differ, so that they have a scale
        self._due = 1  # the number of rounds at which scales are learnt anew
        self._fitted = 0  # the number of rounds when they were last
        self._latest: tuple[View, Embedded] | None = None
        self._awaited: tuple[Sequence[Seen], float] | None = None
        self._told: Awaited | None = None

    def _fresh(self, ridge: float) -> KernelLearner:
        """Return a learner that has seen nothing, under the present kernel."""
        out = KernelLearner(replace(self.model, kernel=self._kernel, ridge=ridge), self._reference_action, self._dim)
        if self._lengths is None:
            out.keep_gram()  # which stays the same whatever the ridge
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
    def _whole(self) -> Array:
        """L^-1 1, (t,)."""
        return self._ones[: len(self)]

    @property
    def level(self) -> float:
        """m, the best level of rewards; 0 before the first."""
        ones = self._whole
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
            return [one.clouds for one in embedded]
        self._latest = embedded.clouds, embedded
        return embedded.clouds

    def _embedded(self, view: View) -> Embedded:
        """Return a view under the present kernel, the same object until another is asked for."""
        if self._latest is None or self._latest[0] is not view:
            self._latest = view, self.inner.embedded(view)
        return self._latest[1]

    def estimate(self, points: Points, view: View | list[View]) -> Estimate:
        if isinstance(view, list):
            means, widths = zip(*(self.estimate(points, one) for one in view), strict=True)
            return Estimate(np.stack(means), np.stack(widths))
        own = self._embedded(view)
        mean, width = self.inner.estimate(points, own)
        rest, squares = self._rest(points, own), width * width
        if len(self):
            squares += rest * rest * (1.0 / (self.inner.ridge * float(self._whole @ self._whole)))
        if self._awaited is not None:
            squares = np.maximum(squares - self._awaiting().reduction(points, own, rest) / self.inner.ridge, 0.0)
        mean = self._reference + mean + (self.level - self._reference) * rest
        return Estimate(mean, math.sqrt(self._noise2) * np.sqrt(squares))

    def _rest(self, points: Points, own: Embedded) -> Array:
        """Return 1 - 1^T (K + lambda I)^-1 k_t(x), the share of the level in the mean of each point, (k,)."""
        if not len(self):
            return np.ones(len(points))
        return np.asarray(1.0 - self._whole @ self.inner.half(points, own))

    def awaiting(self, evidence: Sequence[Seen], share: float = 1.0) -> UntunedLearner:
        out = copy.copy(self)
        out._awaited, out._told = (evidence[-MOST_AWAITED:], share), None
        return out

    def _awaiting(self) -> Awaited:
        if self._told is None:
            assert self._awaited is not None
            rounds, share = self._awaited
            own = [Evidence(action, self.inner.embedded(clouds)) for action, clouds in rounds]
            self._told = Awaited(self.inner, own, share, self._whole)
        return self._told

    def evidence(self, points: Points, view: View, index: Index) -> Seen:
        return Seen(np.asarray(points.vectors[int(index)]), view)

    def learn(self, evidence: Seen, reward: float | Array) -> None:
        if len(self) + 1 < self._due:
            self._add(evidence, float(reward))
            return
        # A fit takes long, and may be interrupted.
        same = [self.inner.model, self.inner.kernel, *(kernel for term in self.inner._terms for kernel in term)]
        inner = copy.deepcopy(self.inner, {id(one): one for one in same})
        before = vars(self) | {"inner": inner, "_lengths": copy.deepcopy(self._lengths)}
        try:
            self._add(evidence, float(reward))
            self._refit()
        except BaseException:
            self.__dict__ = before
            raise

    def _add(self, evidence: Seen, reward: float) -> None:
        """Add a round under the present scales."""
        own, t = Evidence(evidence.action, self._embedded(evidence.clouds)), len(self)
        inner, reference = (self.inner, self._reference) if t else (self._first(own), reward)
        inner.learn(own, reward - reference)
        if not t:
            noise2 = reward * reward if abs(reward) > SMALLEST_SIZE else 1.0
            self.inner, self._reference, self._noise2 = inner, reference, noise2
        self._extend(reward)

    def _extend(self, reward: float) -> None:
        """Bring what follows from L up to date with its last row."""
        t, (row, pivot) = len(self) - 1, self.inner.factor.last()
        self._rewards, self._ones = room(self._rewards, t + 1), room(self._ones, t + 1)
        self._rewards[t], self._ones[t] = reward, (1.0 - self._ones[:t] @ row) / pivot
        self._gamma += 1.0 - self.inner.ridge / (pivot * pivot)

    def _first(self, own: Evidence) -> KernelLearner:
        """Return a learner for the first round, with a ridge that suits its k(x, x)."""
        size = self.inner.square_of(own)
        return self._fresh(size * math.exp(-CENTRE) if size > 0.0 else 1.0)

    def _refit(self) -> None:
        """Learn the scales anew."""
        t, rewards, inner = len(self), self.rewards, self.inner
        self._due = t + 1 if t < YOUNG else math.ceil(GROWTH * t)
        self._latest = None
        if self._lengths is not None:
            self._lengths.fit(inner, rewards)
        gram = self._gram()
        found, reference = averaged(gram, rewards), float(rewards.mean())
        ridge = inner.ridge if found is None else found.ridge
        with suppress(np.linalg.LinAlgError):  # of a kernel that is not positive; the next rounds tell the user
            self._factorise(gram, ridge, rewards, reference)
            self._fitted = t
            if found is not None:
                self._noise2, self._gamma, self._scaled = found.noise2, found.gamma, True

    def _gram(self) -> Array:
        """Return K (t, t) under the present kernel."""
        if self._lengths is None:
            return self.inner.gram
        return Rounds(self.inner).gram(self._lengths.kernel, slopes=False)[0]

    def _factorise(self, gram: Array, ridge: float, rewards: Array, reference: float) -> None:
        """Go on with this ridge, and rewards above `reference`."""
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
                self.inner, self._latest = self._fresh(1.0), None
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
            return np.stack([self.prior(points, one) for one in view])
        return math.sqrt(self._noise2) * self.inner.prior(points, self._embedded(view))

    def noise(self, points: Points, view: View | list[View]) -> Array:
        shape = (len(view), len(points)) if isinstance(view, list) else (len(points),)
        return np.full(shape, math.sqrt(self._noise2))

    def draw(self, points: Points, view: View | list[View], rng: Generators) -> Array:
        several = isinstance(view, list)
        own = [self.inner.embedded(one) for one in view] if isinstance(view, list) else [self._embedded(view)]
        drawn = self.inner.draw(points, own if several else own[0], rng)
        if len(self):
            size = 1.0 / math.sqrt(self.inner.ridge * float(self._whole @ self._whole))
            rest = np.stack([self._rest(points, one) for one in own])
            drawn = drawn + size * float(normals(rng, 1)[0]) * (rest if several else rest[0])
        return math.sqrt(self._noise2) * drawn

    def perturb(self, points: Points, view: View | list[View], rng: Generators) -> Array:
        if not len(self):
            return np.zeros(self.noise(points, view).shape)
        ones = self._whole
        z = self.inner.factor.solve(normals(rng, len(self))[:, None])[:, 0]

        def moved(one: View) -> Array:
            own = self._embedded(one)
            level = float(z @ ones) / float(ones @ ones)
            return math.sqrt(self._noise2) * (z @ self.inner.half(points, own) + level * self._rest(points, own))

        return np.stack([moved(one) for one in view]) if isinstance(view, list) else moved(view)

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
        """Return the rounds, and what follows from the rewards of the latest fit; the factor would be t^2 numbers."""
        scales = [self.inner.ridge, self._noise2, self._gamma, self._reference, self._scaled, self._due, self._fitted]
        out = _records.pack([evidence for evidence, _ in self.rounds()])
        out |= {"reward": self.rewards.copy(), "scales": np.array(scales, dtype=float)}
        return out if self._lengths is None else out | self._lengths.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Learn the rounds again, with the scales as they are: at once up to the latest fit, then one by one."""
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
        self.inner, self._latest, self._reference, self._fitted = self._fresh(ridge), None, reference, int(fitted)
        for evidence, reward in zip(rounds[: self._fitted], rewards, strict=False):
            own = Evidence(evidence.action, self.inner.embedded(evidence.clouds))
            self.inner.remember(own, float(reward) - reference)
        self._rewards, self._ones = np.array(rewards[: self._fitted]), np.empty(0)
        if self._fitted:
            self._factorise(self._gram(), ridge, self._rewards, reference)
        for evidence, reward in zip(rounds[self._fitted :], rewards[self._fitted :].tolist(), strict=True):
            self.inner.learn(Evidence(evidence.action, self.inner.embedded(evidence.clouds)), reward - reference)
            self._extend(reward)
        self._noise2, self._gamma, self._scaled, self._due = noise2, gamma, bool(scaled), int(due)

    def check(self, evidence: Seen) -> None:
        self.inner.check(Evidence(evidence.action, Embedded(evidence.clouds, (0.0,) * len(evidence.clouds))))
