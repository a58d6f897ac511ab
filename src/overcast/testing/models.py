"""The conformance check of a model."""

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
from overcast.testing._compare import require, require_equal, require_shape

SAMPLES = 3


def check_model(model: Model, actions: ArrayLike, contexts: ArrayLike) -> None:
    """Check estimates, learning, files, merging, questions about other actions and many beliefs, and lock-step.

    actions (k, a) and contexts (n, c) must be valid for the model.

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
    """A model with actions, contexts and a number of samples to check it on."""

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
        """Return all answers of a learner about actions under a belief, without optional ones that it refuses."""
        view, points = self.view(learner, belief, seed), learner.at(self.actions if actions is None else actions)
        out: dict[str, Any] = learner.estimate(points, view)._asdict()
        for name, arguments in {"prior": (), "noise": (), "draw": (_rng(seed),), "perturb": (_rng(seed),)}.items():
            try:
                out[name] = getattr(learner, name)(points, view, *arguments)
            except TypeError as error:
                known = "gives mean and width alone" in str(error)
                require(known, self.name, f"{name} must give numbers, or be left to Learner to refuse, got {error}")
        leading = np.shape(seed)
        for name, value in out.items():
            require_shape(self.name, name, value, (*leading, len(self.actions if actions is None else actions)))
        for name, value in {"log_det": learner.log_det, "residual_share": learner.residual_share}.items():
            if value is not None:
                require_shape(self.name, name, value, leading)
                out[name] = value
        for name in out.keys() & {"width", "prior", "noise", "residual_share"}:
            require(bool(np.all(out[name] >= 0)), self.name, f"{name} must be >= 0, got {np.min(out[name]):.3g}")
        return {name: np.array(value) for name, value in out.items()}

    def answers_twice(self, learner: LastingLearner) -> dict[str, Array]:
        """Return the answers for two beliefs, after checking that questions change nothing."""
        before = copy.deepcopy(learner.state())
        first, again = ([self.answers(learner, self.belief(t), t) for t in (0, 1)] for _ in range(2))
        for before_answers, after_answers in zip(first, again, strict=True):
            self.require_equal_answers("when asked twice", after_answers, before_answers)
        self.require_equal_answers("of the state before and after questions", learner.state(), before)
        return {f"{name} {t + 1}": value for t, answers in enumerate(first) for name, value in answers.items()}

    def require_equal_answers(self, when: str, got: dict[str, Array], expected: dict[str, Array]) -> None:
        require(got.keys() == expected.keys(), self.name, f"the same must be known {when}, got {set(got)}")
        for name, value in expected.items():
            require_equal(self.name, f"{name} {when}", got[name], value)


def _rng(seed: Any) -> Any:
    return [np.random.default_rng(item) for item in seed] if isinstance(seed, list) else np.random.default_rng(seed)


def _reward(t: int) -> float:
    return 2.0 * float(np.sin(3 * t)) + t % 2


def _learning(case: _Case) -> None:
    """Check that copied, restored and merged learners give equal answers, and are independent."""
    learner, other, restored, merged = (case.start() for _ in range(4))
    fresh = case.answers_twice(learner)
    case.learn(learner, range(15))
    learnt = case.answers_twice(learner)
    changed = any(not np.array_equal(learnt[what], fresh[what]) for what in ("mean 1", "mean 2"))
    require(changed, case.name, "learn must change the estimate")
    case.require_equal_answers("while another learner learns", case.answers_twice(other), fresh)
    restored.restore(learner.state())
    merged.merge(learner)
    for how, twin in {"deepcopy": copy.deepcopy(learner), "restore": restored, "merge": merged}.items():
        case.require_equal_answers(f"after {how}", case.answers_twice(twin), learnt)
        case.learn(twin, range(15, 20))
        case.require_equal_answers(f"while what {how} gave learns", case.answers_twice(learner), learnt)


def _other_points(case: _Case) -> None:
    """Check that questions about other actions change nothing, and that answers do not depend on other actions."""
    learner = case.start()
    case.learn(learner, range(10))
    before, kept = case.answers_twice(learner), copy.deepcopy(learner.state())
    order = np.arange(len(case.actions))[::-1]
    turned, alone = case.actions[order], case.actions[:1]
    for t in (0, 1):
        full = case.answers(learner, case.belief(t), t)
        for what in ("mean", "width"):
            some, one = (case.answers(learner, case.belief(t), t, actions)[what] for actions in (turned, alone))
            require_equal(case.name, f"{what} of actions in another order", some, full[what][order])
            if not case.model.fixed_actions:
                require_equal(case.name, f"{what} of one action alone", one, full[what][:1])
    case.evidence(learner, case.belief(0), 0, 0)
    learner.evidence(learner.at(turned), case.view(learner, case.belief(0), 0), 0)
    case.require_equal_answers("after questions about other actions", case.answers_twice(learner), before)
    case.require_equal_answers("of the state after questions about other actions", learner.state(), kept)
    if not case.model.fixed_actions and not case.model.labels:
        learner.extend(case.actions)  # the same reference set again
        case.require_equal_answers("after the same reference set is given again", case.answers_twice(learner), before)


def _many_beliefs(case: _Case) -> None:
    """Check that a question about n beliefs at once equals n single ones, for n = 1 and others."""
    if case.samples is not None:
        return
    learner = case.start()
    for rounds in (range(0), range(3), range(3, 15)):
        case.learn(learner, rounds)
        points = learner.at(case.actions)
        for n in (1, 2, case.contexts.shape[1], case.actions.shape[1] * case.contexts.shape[1]):
            beliefs = [case.belief(t) for t in range(n)]
            stack = GaussianStack(np.stack([belief.mean() for belief in beliefs]), case.contexts.var(axis=0))
            asked = "estimate", "prior", "noise"
            many = _ask(case, learner, points, case.model.view(learner, stack), asked)
            each = [_ask(case, learner, points, case.model.view(learner, belief), asked) for belief in beliefs]
            for what, value in many.items():
                single = np.stack([answers[what] for answers in each])
                require_shape(case.name, f"{what} of {n} beliefs", value, (n, len(case.actions)))
                require_equal(case.name, f"{what} of {n} beliefs at once and one by one", value, single)


def _ask(case: _Case, learner: Learner, points: Any, view: Any, questions: Sequence[str]) -> dict[str, Array]:
    """Return the answers of a learner about points, without optional ones that it refuses."""
    out: dict[str, Array] = {}
    for name in questions:
        try:
            answer = getattr(learner, name)(points, view)
        except TypeError as error:
            if "gives mean and width alone" not in str(error):
                raise
            continue
        out |= answer._asdict() if name == "estimate" else {name: answer}
    return out


def _waiting(case: _Case) -> None:
    """Check that evidence can wait for its reward, in memory or in a file."""
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
    case.require_equal_answers(
        "after evidence was packed and unpacked", case.answers_twice(twin), case.answers_twice(learner)
    )


def _bandits(case: _Case) -> None:
    """Check bandits with hidden, revealed and mixed rounds, late rewards in any order, save, load and merge."""
    estimates: dict[str, dict[str, Array]] = {}
    for how, shown in {"hidden": (False,), "revealed": (True,), "mixed": (False, True)}.items():
        bandit = twin = Bandit(case.actions, case.model, Proportional(), case.samples, seed=1)
        waiting: list[Any] = []
        for t in range(15):
            if t in (0, 5, 10):  # before the first decision, with none open, with some
                twin, waiting = _save_and_load(bandit), [(at, decision, decision) for at, decision, _ in waiting]
            waiting.append((t, bandit.decide(case.belief(t)), twin.decide(case.belief(t))))
            alike = waiting[-1][1].index == waiting[-1][2].index
            require(alike, case.name, f"decisions must be the same after save and load, not in {how} round {t + 1}")
            while waiting and t in (4, 14):  # the latest first
                at, *pair = waiting.pop()
                context = case.contexts[at % len(case.contexts)] if shown[at % len(shown)] else None
                for each, decision in zip((bandit, twin), pair, strict=True):
                    each.learn(decision, _reward(at), context)
        estimates[how] = _estimates(case, bandit)
        case.require_equal_answers(f"after save and load, {how} rounds,", _estimates(case, twin), estimates[how])
        fresh = Bandit(case.actions, case.model, Proportional(), case.samples)
        fresh.merge(bandit)
        case.require_equal_answers(
            f"after merge into a fresh bandit, {how} rounds,", _estimates(case, fresh), estimates[how]
        )
        if not case.model.uses_context:
            case.require_equal_answers(
                "of hidden and revealed rounds, as uses_context is False,", estimates[how], estimates["hidden"]
            )


def _save_and_load(bandit: Bandit) -> Bandit:
    with tempfile.TemporaryDirectory() as folder:
        bandit.save(os.path.join(folder, "bandit"))
        return Bandit.load(os.path.join(folder, "bandit"), bandit.model, bandit.policy)


def _estimates(case: _Case, bandit: Bandit) -> dict[str, Array]:
    """Return means and widths under point masses, which need no draws."""
    each = [bandit.estimate(PointMass(point)) for point in case.contexts]
    return {what: np.array([getattr(estimate, what) for estimate in each]) for what in ("mean", "width")}


def _lock_step(case: _Case) -> None:
    """Check that trials in lock-step equal single trials."""
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
        for i, learner in enumerate(alone):
            item = case.evidence(learner, stack[i], seeds[i], int(index[i]))
            each.append(case.answers(learner, stack[i], seeds[i]))
            learner.learn(item, float(rewards[i]))
        stacked = {what: np.stack([answers[what] for answers in each]) for what in each[0]}
        case.require_equal_answers(f"in lock-step and alone, round {t + 1},", got, stacked)
