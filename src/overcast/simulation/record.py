"""The arrays of a simulation, one row per trial, and their means with two standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Step:
    """One round of all trials, arrays (r,).

    `stack` joins the steps of a simulation to arrays (r, t), with cumulative regrets.

    regret : f(x*_t, c_t) - f(x_t, c_t), equation (1); x*_t maximises E_mu f, so the regret may be negative
    expected_regret : the same in expectation under mu_t, without the randomness of c_t
    clairvoyant_regret : against the best action for the realised c_t; in general linear in t for every policy
    choices : index of the chosen action
    log_det : log(det V_t / det V_0) after the round
    """

    regret: Array
    expected_regret: Array
    clairvoyant_regret: Array
    choices: NDArray[np.intp]
    log_det: Array


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Record(Step):
    """The arrays of a simulation: those of `Step`, stacked to (trials, steps), and some with one entry per trial.

    The first four are None unless the policy has the paper's beta_t. `theta_norm` and `covered` are also None unless
    the true rewards are known in the model's features or kernel.

    feature_norm : (trials,) the largest norm of phi(x_t, c_t)
    reward_range : (trials,) the length of the interval that holds all rewards f(x, c_t)
    theta_norm : (trials,) the norm of the true parameter, or of the reward function in the kernel's Hilbert space
    covered : (trials,) whether theta stayed in the confidence set in every round; with a kernel, whether the expected
        rewards of all actions stayed in their confidence bands
    distance : (trials, n) the norm of theta - theta-hat under V_t after each of the n watched rounds; None unless
        rounds are watched
    """

    feature_norm: Array | None = None
    reward_range: Array | None = None
    theta_norm: Array | None = None
    covered: NDArray[np.bool_] | None = None
    distance: Array | None = None


def arrays(record: Step) -> dict[str, Any]:
    """Return the arrays of a record and its subclass by name, except those that are None."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def stack(steps: Sequence[Step]) -> dict[str, Any]:
    """Stack the arrays of all steps to (r, t), with cumulative regrets."""
    out = {}
    for name in arrays(steps[0]):
        values = np.stack([getattr(step, name) for step in steps])
        out[name] = (values.cumsum(axis=0, dtype=np.float64) if name.endswith("regret") else values).T
    return out


def join(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Concatenate the arrays of several records along the trials."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def two_standard_errors(values: Array) -> Array:
    """Compute twice the standard error of the mean over the first axis; NaN for a single trial."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(2.0 * values.std(axis=0, ddof=1) / np.sqrt(n))


def mean_and_error(values: Array) -> dict[str, float | None]:
    """Compute mean and two standard errors as JSON data; the error of a single trial is None."""
    error = float(two_standard_errors(values))
    return {"mean": float(values.mean()), "two_se": None if np.isnan(error) else error}


def draw_band(ax: Axes, curves: Array, **line: Any) -> None:
    """Draw the mean of curves (trials, steps) with a band of two standard errors."""
    steps = np.arange(1, curves.shape[1] + 1)
    mean, error = curves.mean(axis=0), two_standard_errors(curves)
    (curve,) = ax.plot(steps, mean, **line)
    ax.fill_between(steps, mean - error, mean + error, color=curve.get_color(), alpha=0.2, linewidth=0)
