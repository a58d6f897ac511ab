"""The check of a model of your own."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from overcast import _records
from overcast._check import Array
from overcast.bandit import Bandit
from overcast.beliefs import Gaussian, NoClosedForm, PointMass
from overcast.beliefs.stacked import GaussianStack, PointStack
from overcast.models import LastingLearner, Learner, Model
from overcast.policies import Proportional
from overcast.testing._compare import has_shape, require, same

SAMPLES = 3


def check_model(model: Model, actions: ArrayLike, contexts: ArrayLike) -> None:
    """Check estimates, learning, files, merging, questions about other actions and about many beliefs, and lock-step.

    actions (k, a) and contexts (n, c) are ones that the model takes.

    Beliefs are normal around the contexts. The check uses them exactly, where the model can, and by draws. Numbers
    that must agree do so to 1e-9 of the largest.

    Examples
    --------
    >>> from overcast import LinearModel
    >>> from overcast.features import Bilinear
    >>> check_model(LinearModel(Bilinear()), actions=[[1.0, 0.0], [0.0, 1.0]], contexts=[[3.0, 4.0], [0.0, 1.0]])
    """
    case = _Case(type(model).__name__, model, np.array(actions, dtype=float), np.array(contexts, dtype=float), None)
    require(bool(repr(model)), case.name, "repr must not be empty")
    cases = [case, case._replace(samples=SAMPLES)]
    try:
        case.view(case.start(), case.belief(0), 0)
    except NoClosedForm as error:
        require("samples=" in str(error), case.name, f"NoClosedForm must say to pass samples=, got {error}")
        del cases[0]
    for each in cases:
        _learning(each)
        _other_points(each)
        _many_beliefs(each)
        _waiting(each)
        _bandits(each)
        _lock_step(each)


class _Case(NamedTuple):
    name: str
    model: Model
    actions: Array
    contexts: Array
    samples: int | None

    def start(self) -> LastingLearner:
        return self.model.start(self.actions, self.contexts.shape[1])

    def belief(self, t: int) -> Gaussian:
        return Gaussian(self.contexts[t % len(self.contexts)], self.contexts.var(axis=0))

    def view(self, learner: Learner, belief: Any, seed: Any) -> Any:
        return self.model.view(learner, belief, self.samples, _rng(seed))

    def evidence(self, learner: Learner, belief: Any, seed: Any, index: Any) -> Any:
        return learner.evidence(learner.at(self.actions), self.view(learner, belief, seed), index)

    def waiting(self, learner: LastingLearner, rounds: Sequence[int]) -> list[Any]:
        return [self.evidence(learner, self.belief(t), t, t * t % len(self.actions)) for t in rounds]

    def learn(self, learner: LastingLearner, rounds: Sequence[int]) -> None:
        for t in rounds:
            learner.learn(self.waiting(learner, [t])[0], _reward(t))

    def answers(self, learner: Learner, belief: Any, seed: Any, actions: Array | None = None) -> dict[str, Array]:
        """Return all that a learner says of actions under a belief; what only some policies ask for may be refused."""
        view, points = self.view(learner, belief, seed), learner.at(self.actions if actions is None else actions)
        found: dict[str, Any] = learner.estimate(points, view)._asdict()
        for what, given in {"prior": (), "noise": (), "draw": (_rng(seed),), "perturb": (_rng(seed),)}.items():
            try:
                found[what] = getattr(learner, what)(points, view, *given)
            except TypeError as error:
                known = "gives mean and width alone" in str(error)
                require(known, self.name, f"{what} must give numbers, or be left to Learner to refuse, got {error}")
        leading = np.shape(seed)
        for what, value in found.items():
            has_shape(self.name, what, value, (*leading, len(self.actions if actions is None else actions)))
        for what, value in {"log_det": learner.log_det, "residual_share": learner.residual_share}.items():
            if value is not None:
                has_shape(self.name, what, value, leading)
                found[what] = value
        for what in found.keys() & {"width", "prior", "noise", "residual_share"}:
            require(bool(np.all(found[what] >= 0)), self.name, f"{what} must be >= 0, got {np.min(found[what]):.3g}")
        return {what: np.array(value) for what, value in found.items()}

    def known(self, learner: LastingLearner) -> dict[str, Array]:
        """Return the answers for two beliefs, after asking twice."""
        before = copy.deepcopy(learner.state())
        first, again = ([self.answers(learner, self.belief(t), t) for t in (0, 1)] for _ in range(2))
        for one, two in zip(first, again, strict=True):
            self.alike("when asked twice", two, one)
        self.alike("of the state before and after questions", learner.state(), before)
        return {f"{what} {t + 1}": value for t, one in enumerate(first) for what, value in one.items()}

    def alike(self, when: str, got: dict[str, Array], expected: dict[str, Array]) -> None:
        require(got.keys() == expected.keys(), self.name, f"the same must be known {when}, got {set(got)}")
        for what, value in expected.items():
            same(self.name, f"{what} {when}", got[what], value)


def _rng(seed: Any) -> Any:
    return [np.random.default_rng(own) for own in seed] if isinstance(seed, list) else np.random.default_rng(seed)


def _reward(t: int) -> float:
    return 2.0 * float(np.sin(3 * t)) + t % 2


def _learning(case: _Case) -> None:
    """Learners that were copied, restored or merged are alike, and go separate ways."""
    learner, other, restored, merged = (case.start() for _ in range(4))
    fresh = case.known(learner)
    case.learn(learner, range(15))
    learnt = case.known(learner)
    changed = any(not np.array_equal(learnt[what], fresh[what]) for what in ("mean 1", "mean 2"))
    require(changed, case.name, "learn must change the estimate")
    case.alike("while another learner learns", case.known(other), fresh)
    restored.restore(learner.state())
    merged.merge(learner)
    for how, twin in {"deepcopy": copy.deepcopy(learner), "restore": restored, "merge": merged}.items():
        case.alike(f"after {how}", case.known(twin), learnt)
        case.learn(twin, range(15, 20))
        case.alike(f"while what {how} gave learns", case.known(learner), learnt)


def _other_points(case: _Case) -> None:
    """Questions about other actions change nothing, and each action has one answer, whatever it is asked with."""
    learner = case.start()
    case.learn(learner, range(10))
    before, kept = case.known(learner), copy.deepcopy(learner.state())
    order = np.arange(len(case.actions))[::-1]
    turned, alone = case.actions[order], case.actions[:1]
    for t in (0, 1):
        full = case.answers(learner, case.belief(t), t)
        for what in ("mean", "width"):
            some, one = (case.answers(learner, case.belief(t), t, actions)[what] for actions in (turned, alone))
            same(case.name, f"{what} of actions in another order", some, full[what][order])
            if not case.model.fixed_actions:
                same(case.name, f"{what} of one action alone", one, full[what][:1])
    case.evidence(learner, case.belief(0), 0, 0)
    learner.evidence(learner.at(turned), case.view(learner, case.belief(0), 0), 0)
    case.alike("after questions about other actions", case.known(learner), before)
    case.alike("of the state after questions about other actions", learner.state(), kept)
    if not case.model.fixed_actions and not case.model.labels:
        learner.extend(case.actions)  # the same reference set again
        case.alike("after the same reference set is given again", case.known(learner), before)


def _many_beliefs(case: _Case) -> None:
    """One learner asked about n beliefs at once gives what it gives for each of them, for n = 1 and others."""
    if case.samples is not None:
        return
    learner = case.start()
    for rounds in (range(0), range(3), range(3, 15)):
        case.learn(learner, rounds)
        points = learner.at(case.actions)
        for n in (1, 2, case.contexts.shape[1], case.actions.shape[1] * case.contexts.shape[1]):
            beliefs = [case.belief(t) for t in range(n)]
            stack = GaussianStack(np.stack([one.mean() for one in beliefs]), case.contexts.var(axis=0))
            asked = "estimate", "prior", "noise"
            many = _asked(case, learner, points, case.model.view(learner, stack), asked)
            each = [_asked(case, learner, points, case.model.view(learner, one), asked) for one in beliefs]
            for what, value in many.items():
                single = np.stack([one[what] for one in each])
                has_shape(case.name, f"{what} of {n} beliefs", value, (n, len(case.actions)))
                same(case.name, f"{what} of {n} beliefs at once and one by one", value, single)


def _asked(case: _Case, learner: Learner, points: Any, view: Any, what: Sequence[str]) -> dict[str, Array]:
    """Ask a learner about points; it may refuse questions that only some policies ask."""
    out: dict[str, Array] = {}
    for name in what:
        try:
            found = getattr(learner, name)(points, view)
        except TypeError as error:
            if "gives mean and width alone" not in str(error):
                raise
            continue
        out |= found._asdict() if name == "estimate" else {name: found}
    return out


def _waiting(case: _Case) -> None:
    """Evidence can wait for its reward, in memory or in a file."""
    learner = case.start()
    case.learn(learner, range(3))
    first = copy.deepcopy(_records.pack(case.waiting(learner, [3])))
    late = case.waiting(learner, range(3, 8))
    kind = learner.evidence_type
    try:
        packed = [*_records.unpack(kind, first, 1), *_records.unpack(kind, _records.pack(late), len(late))[1:]]
    except (TypeError, ValueError) as error:
        packed, text = [], f"evidence_type must name the type of its evidence, got {kind} ({error})"
        require(False, case.name, text)
    for item in packed:
        learner.check(item)
    twin = copy.deepcopy(learner)
    for t in reversed(range(5)):
        learner.learn(late[t], _reward(t))
        twin.learn(packed[t], _reward(t))
    case.alike("after evidence was packed and unpacked", case.known(twin), case.known(learner))


def _bandits(case: _Case) -> None:
    """Hidden, revealed and mixed rounds, rewards late and in any order, save, load and merge."""
    found: dict[str, dict[str, Array]] = {}
    for how, shown in {"hidden": (False,), "revealed": (True,), "mixed": (False, True)}.items():
        bandit = twin = Bandit(case.actions, case.model, Proportional(), case.samples, seed=1)
        waiting: list[Any] = []
        for t in range(15):
            if t in (0, 5, 10):  # before the first decision, with none open, with some
                twin, waiting = _reloaded(bandit), [(at, one, one) for at, one, _ in waiting]
            waiting.append((t, bandit.decide(case.belief(t)), twin.decide(case.belief(t))))
            alike = waiting[-1][1].index == waiting[-1][2].index
            require(alike, case.name, f"decisions must be the same after save and load, not in {how} round {t + 1}")
            while waiting and t in (4, 14):  # the latest first
                at, *both = waiting.pop()
                context = case.contexts[at % len(case.contexts)] if shown[at % len(shown)] else None
                for each, decision in zip((bandit, twin), both, strict=True):
                    each.learn(decision, _reward(at), context)
        found[how] = _estimates(case, bandit)
        case.alike(f"after save and load, {how} rounds,", _estimates(case, twin), found[how])
        fresh = Bandit(case.actions, case.model, Proportional(), case.samples)
        fresh.merge(bandit)
        case.alike(f"after merge into a fresh bandit, {how} rounds,", _estimates(case, fresh), found[how])
        if not case.model.uses_context:
            case.alike("of hidden and revealed rounds, as uses_context is False,", found[how], found["hidden"])


def _reloaded(bandit: Bandit) -> Bandit:
    with tempfile.TemporaryDirectory() as folder:
        bandit.save(os.path.join(folder, "bandit"))
        return Bandit.load(os.path.join(folder, "bandit"), bandit.model, bandit.policy)


def _estimates(case: _Case, bandit: Bandit) -> dict[str, Array]:
    """Return means and widths at points, of which all draws are the same."""
    each = [bandit.estimate(PointMass(point)) for point in case.contexts]
    return {what: np.array([getattr(one, what) for one in each]) for what in ("mean", "width")}


def _lock_step(case: _Case) -> None:
    """Trials in lock-step are those on their own."""
    r, (n, c) = 3, case.contexts.shape
    together, alone = case.model.start_all(case.actions, c, r), [case.start() for _ in range(r)]
    for t in range(15):
        means, seeds = case.contexts[(t + np.arange(r)) % n], [r * t + i for i in range(r)]
        stack = PointStack(means) if t % 3 == 2 else GaussianStack(means, case.contexts.var(axis=0))
        index, rewards = (t * t + np.arange(r)) % len(case.actions), np.array([_reward(s) for s in seeds])
        got = case.answers(together, stack, seeds)
        evidence = case.evidence(together, stack, seeds, index)
        together.learn(evidence, rewards)
        each = []
        for i, own in enumerate(alone):
            item = case.evidence(own, stack[i], seeds[i], int(index[i]))
            each.append(case.answers(own, stack[i], seeds[i]))
            own.learn(item, float(rewards[i]))
        stacked = {what: np.stack([one[what] for one in each]) for what in each[0]}
        case.alike(f"in lock-step and alone, round {t + 1},", got, stacked)
