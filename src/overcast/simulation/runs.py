"""What a simulation found: regret of every trial, and the theorem's bound on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.confidence import Confidence
from overcast.models.base import Model, Progress
from overcast.policies import UCB, Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Norms and ranges that are met exactly may come out a rounding error above.
SLACK = 1.0 + 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """The trials of one simulation; arrays are (trials, steps) and cumulative where they are regret.

    regret : sum f(x*_t, c_t) - f(x_t, c_t), equation (1); x*_t maximises E_mu f, so it may fall below zero
    expected_regret : the same under E_mu, what the policy pays before the luck of c_t
    clairvoyant_regret : against the best action for the realised c_t, linear for every policy in general
    choices : index of the action taken
    log_det : log(det V_t / det V_0) after each round

    Policies with the paper's beta_t are watched more closely; the next four are None for others, and the last two
    of them also where the truth is not known in the model's features or kernel.

    feature_norm : (trials,) the largest norm of phi(x_t, c_t)
    reward_range : (trials,) the length of the interval that all rewards f(x, c_t) fell in
    theta_norm : (trials,) the norm of the true parameter, or of the reward function in the kernel's Hilbert space
    covered : (trials,) whether theta stayed in the confidence set in every round, or with a kernel the expected
        rewards of all actions in their confidence bands
    noise : what the environment says of its reward noise; None where it does not
    calibrated : whether contexts were drawn from the beliefs, as far as the environment says
    revealed : the share of rounds whose context is revealed in the observed setting
    distance : (trials, n) the norm of theta - theta-hat under V_t after n rounds; None where nobody asked for it
    """

    model: Model
    policy: Policy
    setting: str
    samples: int | str | None
    actions: int
    regret: Array
    expected_regret: Array
    clairvoyant_regret: Array
    choices: NDArray[np.intp]
    log_det: Array
    feature_norm: Array | None
    reward_range: Array | None
    theta_norm: Array | None
    covered: NDArray[np.bool_] | None
    noise: float | None
    calibrated: bool
    revealed: float = 1.0
    distance: Array | None = None

    @property
    def bound(self) -> Array:
        """The theorem's bound on the regret after each step, (trials, steps).

        At each single step it holds with probability at least 1 - delta.

        Raises
        ------
        ValueError
            Where an assumption of the theorem is not met; the message says which.
        """
        confidence = self.policy.beta if isinstance(self.policy, UCB) else None
        if not isinstance(confidence, Confidence):
            raise ValueError(f"Runs: bound needs a policy with the paper's beta_t (oc.confidence), got {self.policy}")
        name = type(confidence).__name__
        if self.setting != confidence.setting:
            raise ValueError(f"Runs: bound of {name} needs setting {confidence.setting!r}, got {self.setting!r}")
        if self.samples != confidence.samples:
            raise ValueError(f"Runs: bound of {name} needs samples={confidence.samples!r}, got {self.samples!r}")
        if self.revealed < 1.0:
            raise ValueError(f"Runs: bound needs every context revealed, got a share of {self.revealed}")
        if not self.calibrated:
            raise ValueError("Runs: bound needs contexts drawn from the beliefs, got an environment whose are not")
        ridge = self.model.theory_ridge
        if ridge is None:
            raise ValueError(f"Runs: bound needs the paper's least squares, got {self.model}")
        if ridge < 1.0:
            raise ValueError(f"Runs: bound needs ridge >= 1, got {ridge}")
        if self.feature_norm is None or self.reward_range is None or self.theta_norm is None:
            raise ValueError(
                "Runs: bound needs rewards in the span of the model's features or kernel, got others, or unknown ones"
            )
        if self.feature_norm.max() > SLACK:
            raise ValueError(f"Runs: bound needs features of norm <= 1, got {self.feature_norm.max():.3g}")
        if self.theta_norm.max() > confidence.norm * SLACK:
            norm = self.theta_norm.max()
            raise ValueError(f"Runs: bound needs norm >= {norm:.3g}, theta's own, got {confidence.norm}")
        if self.reward_range.max() > confidence.span * SLACK:
            span = self.reward_range.max()
            raise ValueError(f"Runs: bound needs reward_range >= {span:.3g}, as seen, got {confidence.span:.3g}")
        if self.noise is not None and self.noise > confidence.noise * SLACK:
            raise ValueError(f"Runs: bound needs noise >= {self.noise}, the environment's own, got {confidence.noise}")
        rounds = np.arange(1, self.regret.shape[1] + 1)
        progress = Progress(rounds, self.log_det, ridge, self.actions)
        return np.asarray(confidence.regret_bound(progress, confidence.beta(progress)))

    @property
    def information_gain(self) -> Array:
        """log det(I + K_t / lambda) / 2 after each round, (trials, steps): what was learnt of f, in nats.

        Its largest possible value at T is the paper's gamma_T.
        """
        return self.log_det / 2.0

    def __repr__(self) -> str:
        trials, steps = self.regret.shape
        return f"Runs({trials} trials, {steps} steps, {self.setting}, samples={self.samples}, {self.policy})"

    def summary(self) -> dict[str, Any]:
        """Return setting, samples, beta, and final regret with two standard errors."""
        beta = self.policy.beta if isinstance(self.policy, UCB) else None
        return {
            "setting": self.setting,
            "samples": self.samples,
            "beta": beta if isinstance(beta, float) else repr(beta),
            "regret": mean_and_error(self.regret[:, -1]),
            "expected_regret": mean_and_error(self.expected_regret[:, -1]),
        }

    def plot(self, ax: Axes | None = None, **line: Any) -> Axes:
        """Draw mean regret with a band of two standard errors; `line` goes to matplotlib's plot.

        Call `ax.legend()` once all are drawn.
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError:
                raise ImportError(
                    "Runs: plot needs matplotlib; install it with pip install 'overcast[experiments]'"
                ) from None
            ax = plt.subplots(layout="constrained")[1]
        draw_band(ax, self.regret, **{"label": self.setting, **line})
        ax.set(xlabel="steps", ylabel="cumulative regret")
        return ax


def draw_band(ax: Axes, curves: Array, **line: Any) -> None:
    """Draw the mean of curves (trials, steps) and its band of two standard errors."""
    steps = np.arange(1, curves.shape[1] + 1)
    mean, error = curves.mean(axis=0), two_standard_errors(curves)
    (drawn,) = ax.plot(steps, mean, **line)
    ax.fill_between(steps, mean - error, mean + error, color=drawn.get_color(), alpha=0.2, linewidth=0)


def two_standard_errors(values: Array) -> Array:
    """Return twice the standard error of the mean over the first axis; NaN for a single trial."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(2.0 * values.std(axis=0, ddof=1) / np.sqrt(n))


def mean_and_error(values: Array) -> dict[str, float | None]:
    """Return mean and two standard errors as JSON data; a single trial has no error."""
    error = float(two_standard_errors(values))
    return {"mean": float(values.mean()), "two_se": None if np.isnan(error) else error}


def join(parts: Sequence[Runs]) -> Runs:
    """Return the trials of several runs of one simulation as one."""
    first = parts[0]

    def rows(name: str) -> Any:
        return None if getattr(first, name) is None else np.concatenate([getattr(part, name) for part in parts])

    return Runs(
        model=first.model,
        policy=first.policy,
        setting=first.setting,
        samples=first.samples,
        actions=first.actions,
        regret=rows("regret"),
        expected_regret=rows("expected_regret"),
        clairvoyant_regret=rows("clairvoyant_regret"),
        choices=rows("choices"),
        log_det=rows("log_det"),
        feature_norm=rows("feature_norm"),
        reward_range=rows("reward_range"),
        noise=first.noise,
        calibrated=first.calibrated,
        theta_norm=rows("theta_norm"),
        covered=rows("covered"),
        revealed=first.revealed,
        distance=rows("distance"),
    )
