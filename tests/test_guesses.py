"""Names from elsewhere, and what to write instead."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest

import overcast as oc
from overcast import _guesses
from support import refused


def fresh() -> oc.Bandit:
    return oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Bilinear()), oc.UCB())


@pytest.mark.parametrize("name", sorted(_guesses.METHODS))
def test_methods_of_other_packages(name: str) -> None:
    bandit = fresh()
    with refused(AttributeError, "Bandit", f"there is no attribute {name!r}; write {_guesses.METHODS[name]}"):
        getattr(bandit, name)
    assert not hasattr(bandit, name)
    assert name not in dir(bandit)


@pytest.mark.parametrize("write", sorted(set(_guesses.METHODS.values())))
def test_what_to_write_for_methods_works(write: str) -> None:
    bandit, belief = fresh(), oc.Gaussian([1.0], 1.0)
    known: dict[str, Any] = {"bandit": bandit, "belief": belief, "reward": 1.0, "decision": bandit.decide(belief)}
    known |= {"actions": ["a", "b"], "beliefs": [belief, belief], "rewards": [0.0, 1.0]}
    for part in re.split(r", (?=decision)", write):  # one statement, or two with what each is for
        exec(re.sub(r" (?:for|to) .*", "", part), known)


@pytest.mark.parametrize("name", sorted(_guesses.CLASSES))
def test_classes_of_other_packages(name: str) -> None:
    write = _guesses.CLASSES[name]
    with refused(AttributeError, "overcast", f"there is no attribute {name!r}; write {write}"):
        getattr(oc, name)
    assert not hasattr(oc, name)
    assert name not in dir(oc)
    eval(write, {"oc": oc, "actions": ["a", "b"], "mean": 1.0, "sd": 2.0, "c": [1.0]})


def test_names_that_stand_in_a_part_of_the_package() -> None:
    for name, write in {"RBF": "oc.kernels.RBF", "Bilinear": "oc.features.Bilinear", "Exp4": "oc.models.Exp4"}.items():
        with refused(AttributeError, "overcast", f"write {write}"):
            getattr(oc, name)
        assert eval(write, {"oc": oc}).__name__ == name


def test_other_names_have_no_advice() -> None:
    with pytest.raises(AttributeError, match=r"^overcast: there is no attribute 'nothing'$"):
        oc.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"^Bandit: there is no attribute 'nothing'$"):
        fresh().nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError):
        from overcast import LinUCB  # type: ignore[attr-defined]  # noqa: F401


def test_copies_and_pickles_are_as_before() -> None:
    bandit = fresh()
    bandit.learn(bandit.decide([1.0]), 2.0)
    for other in (copy.copy(bandit), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
        assert other.estimate([1.0]).mean.tolist() == bandit.estimate([1.0]).mean.tolist()


def test_classes_in_place_of_instances() -> None:
    model = oc.LinearModel(oc.features.Bilinear())
    with refused(TypeError, "Bandit", "policy must be an instance, got the class UCB; write oc.UCB()"):
        oc.Bandit(["a"], model, oc.UCB)  # type: ignore[arg-type]
    write = "oc.LinearModel(oc.features.Bilinear())"
    with refused(TypeError, "Bandit", f"model must be an instance, got the class LinearModel; write {write}"):
        oc.Bandit(["a"], oc.LinearModel, oc.UCB())  # type: ignore[arg-type]
    kinds = [oc.UCB, oc.Thompson, oc.EpsilonGreedy, oc.LinearModel, oc.KernelModel]
    for kind in kinds:
        assert isinstance(eval(_guesses.instance(kind), {"oc": oc}), kind)
    assert _guesses.instance(oc.models.MeanContext) == "MeanContext(oc.LinearModel(oc.features.Bilinear()))"
    assert _guesses.instance(oc.Mixed) == "oc.Mixed(oc.UCB(), share)"


def test_an_action_in_place_of_a_decision() -> None:
    bandit, belief, reward = fresh(), oc.Gaussian([1.0], 1.0), 1.0
    write = "bandit.observe('a', belief, reward)"
    with refused(ValueError, "Bandit", f"got the action 'a'; write {write}, or learn(decision, reward) after decide"):
        bandit.learn("a", reward)
    eval(write, {"bandit": bandit, "belief": belief, "reward": reward})
    bandit.decide(belief, id="a")  # an open decision of that name is one
    bandit.learn("a", reward)
    assert bandit.learnt.rounds == 2


def test_a_property_that_fails_tells_its_own_error() -> None:
    class Counting(oc.Bandit):
        @property
        def total(self) -> int:
            return self.learnt.rouns  # type: ignore[attr-defined, no-any-return]

    bandit = Counting(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    with pytest.raises(AttributeError, match="rouns"):
        _ = bandit.total
