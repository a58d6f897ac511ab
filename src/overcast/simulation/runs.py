"""The result of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from overcast import _html
from overcast._check import Array
from overcast.confidence import Confidence
from overcast.models.base import Model, Progress
from overcast.pictures.common import axes
from overcast.policies import UCB, Policy
from overcast.simulation.record import Record, draw_band, mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Norms and ranges at their limit may exceed it by a rounding error.
ROUNDING = 1.0 + 1e-9


def theorem_of(policy: Policy) -> Confidence | None:
    """Return the confidence width of `UCB`, whose theorem bounds its regret; None for other policies."""
    return policy.confidence if isinstance(policy, UCB) else None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Runs(Record):
    """The trials of a simulation: the arrays of a `Record`, and its configuration.

    The arrays are `regret`, `expected_regret`, `clairvoyant_regret` (cumulative), `choices` and `log_det`, all
    (trials, steps), and those with one entry per trial; `overcast.simulation.Record` describes each.

    actions : the number of actions of a trial
    noise : the reward noise that the environment states; None if it states none
    calibrated : whether the environment draws contexts from the beliefs
    revealed : the share of rounds whose context is revealed in the observed setting
    delay : the number of further decisions before a reward arrives

    Examples
    --------
    >>> import overcast as oc
    >>> env = oc.environments.CoinFlip()
    >>> runs = oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=50, trials=4)
    >>> runs.regret.shape, runs.setting, bool((runs.clairvoyant_regret >= runs.regret).all())
    ((4, 50), 'hidden', True)
    """

    model: Model
    policy: Policy
    setting: str
    samples: int | str | None
    actions: int
    noise: float | None
    calibrated: bool
    revealed: float = 1.0
    delay: int = 0

    @property
    def bound(self) -> Array:
        """The theorem's bound on the regret after each step, (trials, steps).

        At each single step it holds with probability at least 1 - delta. Raises ValueError unless all assumptions of
        the theorem are met, and names the one that is not.
        """

        def require(met: bool, message: str) -> None:
            if not met:
                raise ValueError(f"Runs: bound {message}")

        confidence, ridge = theorem_of(self.policy), self.model.theory_ridge
        if confidence is None:
            raise ValueError(f"Runs: bound needs a policy with the paper's beta_t (oc.confidence), got {self.policy}")
        of, setting, samples = f"of {type(confidence).__name__} needs", confidence.setting, confidence.samples
        require(self.setting == setting, f"{of} setting {setting!r}, got {self.setting!r}")
        require(self.samples == samples, f"{of} samples={samples!r}, got {self.samples!r}")
        require(self.revealed == 1.0, f"needs every context revealed, got a share of {self.revealed}")
        require(self.delay == 0, f"needs every reward before the next decision, got a delay of {self.delay}")
        require(self.calibrated, "needs contexts drawn from the beliefs, got an environment that draws others")
        if ridge is None:
            raise ValueError(f"Runs: bound needs the paper's least squares, got {self.model}")
        require(ridge >= 1.0, f"needs ridge >= 1, got {ridge}")
        if self.feature_norm is None or self.reward_range is None or self.theta_norm is None:
            raise ValueError(
                "Runs: bound needs rewards in the span of the model's features or kernel, got others, or unknown ones"
            )
        phi, theta, span, noise = self.feature_norm.max(), self.theta_norm.max(), self.reward_range.max(), self.noise
        require(phi <= ROUNDING, f"needs features of norm <= 1, got {phi:.3g}")
        require(theta <= confidence.norm * ROUNDING, f"needs norm >= {theta:.3g}, theta's own, got {confidence.norm}")
        message = f"needs reward_range >= {span:.3g}, as seen, got {confidence.span:.3g}"
        require(span <= confidence.span * ROUNDING, message)
        covered = noise is None or noise <= confidence.noise * ROUNDING
        require(covered, f"needs noise >= {noise}, the environment's own, got {confidence.noise}")
        progress = Progress(np.arange(1, self.regret.shape[1] + 1), self.log_det, ridge, self.actions)
        return np.asarray(confidence.regret_bound(progress, confidence.beta(progress)))

    @property
    def information_gain(self) -> Array:
        """log det(I + K_t / lambda) / 2 after each round, (trials, steps): information of the rewards about f, in nats.

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
            "beta": beta if beta is None or isinstance(beta, float) else repr(beta),
            "regret": mean_and_error(self.regret[:, -1]),
            "expected_regret": mean_and_error(self.expected_regret[:, -1]),
        }

    def _repr_html_(self) -> str:
        """Show the final regret as a table in notebooks."""
        trials, steps = self.regret.shape
        title = f"{trials:,} trials of {steps:,} steps, context {self.setting}"
        kinds = {
            "regret": self.regret,
            "expected regret": self.expected_regret,
            "against the clairvoyant": self.clairvoyant_regret,
        }
        rows = []
        for name, curves in kinds.items():
            final = mean_and_error(curves[:, -1])
            error = "" if final["two_se"] is None else f"± {final['two_se']:.2g}"
            rows.append([name, f"{final['mean']:.4g}", error])
        how = "the exact expectation" if self.samples is None else f"samples={self.samples}"
        note = f"{self.policy} with {self.model}, {how}"
        return _html.table(title, ["after the last step", "mean", "two standard errors"], rows, note)

    def plot(self, ax: Axes | None = None, **line: Any) -> Axes:
        """Draw mean regret with a band of two standard errors; `line` goes to matplotlib's plot.

        Call `ax.legend()` after the last plot.
        """
        ax = axes("Runs", ax)
        draw_band(ax, self.regret, **{"label": self.setting, **line})
        ax.set(xlabel="steps", ylabel="cumulative regret")
        return ax
