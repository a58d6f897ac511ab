"""Suggestions for names that users of other packages try first."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

_DECIDE = "decision = bandit.decide(belief)"
_LEARN = "bandit.learn(decision, reward)"

#: methods of bandits elsewhere -> what to write
METHODS: dict[str, str] = {
    **dict.fromkeys(("choose", "select", "select_arm", "recommend", "act", "pull", "ask"), _DECIDE),
    **dict.fromkeys(("update", "reward", "feedback", "tell"), _LEARN),
    **dict.fromkeys(("fit", "partial_fit", "train"), "bandit.observe(actions, beliefs, rewards)"),
    "predict": f"bandit.estimate(belief) for mean and width of all actions, {_DECIDE} to choose one",
    "arms": "bandit.actions",
}

#: classes elsewhere -> what to write
CLASSES: dict[str, str] = {
    "LinUCB": "oc.Bandit(actions, oc.LinearModel(oc.features.Bilinear()), oc.UCB())",
    **dict.fromkeys(
        ("LinTS", "LinThompson"), "oc.Bandit(actions, oc.LinearModel(oc.features.Bilinear()), oc.Thompson())"
    ),
    **dict.fromkeys(("ThompsonSampling", "TS"), "oc.Thompson()"),
    **dict.fromkeys(("GPUCB", "KernelUCB"), "oc.Bandit(actions, oc.KernelModel(), oc.UCB())"),
    "Normal": "oc.Gaussian(mean, sd=sd)",
    "Dirac": "oc.PointMass(c)",
}

#: arguments without a default -> an example
ARGUMENTS = {
    "features": "oc.features.Bilinear()",
    "model": "oc.LinearModel(oc.features.Bilinear())",
    "policy": "oc.UCB()",
}


def instance(kind: type) -> str:
    """Return an expression for an instance of a class.

    Examples
    --------
    >>> from overcast import UCB, LinearModel
    >>> instance(UCB), instance(LinearModel)
    ('oc.UCB()', 'oc.LinearModel(oc.features.Bilinear())')
    """
    needed = [name for name, item in inspect.signature(kind).parameters.items() if item.default is item.empty]
    shown = ", ".join(ARGUMENTS.get(name, name) for name in needed)
    known = getattr(sys.modules.get("overcast"), kind.__name__, None) is kind
    return f"{'oc.' if known else ''}{kind.__name__}({shown})"


def method(name: str) -> AttributeError:
    """Return the error for an unknown attribute of a bandit, with a suggestion.

    Examples
    --------
    >>> method("update")
    AttributeError("Bandit: there is no attribute 'update'; write bandit.learn(decision, reward)")
    """
    write = f"; write {METHODS[name]}" if name in METHODS else ""
    return AttributeError(f"Bandit: there is no attribute {name!r}{write}")


def public(name: str, modules: dict[str, ModuleType]) -> AttributeError:
    """Return the error for an unknown name of the package, with a suggestion.

    modules : modules of the package by name, to search for it
    """
    home = next((part for part, module in modules.items() if name in getattr(module, "__all__", ())), None)
    known = f"oc.{home}.{name}" if home else CLASSES.get(name)
    write = f"; write {known}" if known else ""
    return AttributeError(f"overcast: there is no attribute {name!r}{write}")
