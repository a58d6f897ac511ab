"""Forms: from text that people type to the messages that the API takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import msgspec

from overcast.service.errors import Refusal

Form = Mapping[str, list[str]]
#: fields that a form may have; more are refused
FIELDS = 2000


def read(raw: bytes) -> Form:
    """Return the fields of a form as a browser sends it."""
    try:
        return parse_qs(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=FIELDS, errors="strict")
    except ValueError:
        raise Refusal(400, "form: must be one of this dashboard, got something else") from None


def text(form: Form, name: str) -> str:
    """Return the text of a field, without space around it."""
    return form.get(name, [""])[0].strip()


def number(form: Form, name: str) -> float | None:
    """Return the number in a field; None if it is empty."""
    words = text(form, name)
    return None if not words else _number(name, words)


def numbers(form: Form, name: str) -> list[float]:
    """Return the numbers in a field, with commas or spaces between them."""
    return [_number(name, word) for word in text(form, name).replace(",", " ").split()]


def data(form: Form, name: str) -> Any:
    """Read a field as JSON; None if it is empty."""
    words = text(form, name)
    if not words:
        return None
    try:
        return msgspec.json.decode(words)
    except (ValueError, RecursionError) as error:  # msgspec raises one of them
        raise Refusal(422, f"{name}: must be JSON, got something else: {str(error)[:200]}", name) from None


def belief(form: Form) -> Any:
    """Return the belief in a form: as JSON, or as means and standard deviations; it is certain without the latter."""
    whole = data(form, "belief")
    if whole is not None:
        return whole
    mean, sd = numbers(form, "mean"), numbers(form, "sd")
    if not mean:
        raise Refusal(422, "belief: mean must be given, got nothing", "mean")
    if not sd:
        return {"type": "PointMass", "c": mean}
    if len(sd) == 1:
        sd = sd * len(mean)
    if len(sd) != len(mean) or min(sd) < 0.0:
        raise Refusal(
            422, f"belief: sd must be {len(mean)} numbers that are zero or more, as many as means, or one for all", "sd"
        )
    return {"type": "Gaussian", "mean": mean, "cov": [one * one for one in sd]}


def actions(form: Form) -> dict[str, list[float]] | list[str]:
    """Return the actions in a form, one in a line: a name, and its vector after a colon unless no line has one."""
    lines = [line.strip() for line in text(form, "actions").splitlines() if line.strip()]
    if not lines:
        raise Refusal(422, "actions: must be one in a line, got none", "actions")
    found: dict[str, list[float]] = {}
    for line in lines:
        name, _, vector = line.rpartition(":") if ":" in line else (line, "", "")
        if name.strip() in found:
            raise Refusal(422, f"actions: names must differ, got {name.strip()!r} twice", "actions")
        found[name.strip()] = [_number("actions", word) for word in vector.replace(",", " ").split()]
    if not any(found.values()):
        return list(found)
    if short := next((name for name, vector in found.items() if not vector), None):
        raise Refusal(422, f"actions: all must have a vector or none, got {short!r} without one", "actions")
    return found


def outcome(form: Form) -> dict[str, Any]:
    """Return an outcome: its reward, and the context if it is known."""
    reward = number(form, "reward")
    if reward is None:
        raise Refusal(422, "outcome: reward must be given, got nothing", "reward")
    out: dict[str, Any] = {"reward": reward, "context": numbers(form, "context") or None}
    if text(form, "part"):
        out |= {"part": text(form, "part"), "final": "final" in form}
    return out


def bandit(form: Form) -> Any:
    """Return a new bandit: all of it as JSON, or its parts."""
    whole = data(form, "config")
    if whole is not None:
        return {"name": text(form, "name"), **whole} if isinstance(whole, dict) and text(form, "name") else whole
    out: dict[str, Any] = {
        "name": text(form, "name"),
        "actions": actions(form),
        "policy": text(form, "policy") or "UCB",
        "recalibrate": "recalibrate" in form,
    }
    features = text(form, "features")
    out["features"] = {"type": features, "degree": 2} if features == "Polynomial" else features
    if features == "Disjoint":
        out["features"] = {"type": features, "k": len(out["actions"])}
    return out | {name: value for name in ("wait", "default") if (value := number(form, name)) is not None}


def key(form: Form, now: float) -> dict[str, Any]:
    """Return a new key."""
    days = number(form, "days")
    out: dict[str, Any] = {"name": text(form, "name"), "scopes": form.get("scope", [])}
    if patterns := text(form, "bandits").replace(",", " ").split():
        out["bandits"] = patterns
    return out if days is None else out | {"expires": now + 86400.0 * days}


def _number(name: str, word: str) -> float:
    try:
        value = float(word.replace("−", "-"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Refusal(422, f"{name}: must be numbers, got {word[:40]!r}", name)
    return value
