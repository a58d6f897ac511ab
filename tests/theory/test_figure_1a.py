"""Figure 1a at the paper's scale: T = 1000, 100 trials, ridge 1, beta from the grid of the appendix."""

from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import overcast as oc
from experiment_support import line_of
from overcast._check import Array
from overcast.environments import Synthetic
from overcast.experiments.engine.experiment import Curve
from overcast.experiments.engine.outcome import pick
from overcast.round import Samples
from overcast.simulation import Setting

GRID = (0.5, 1.0, 2.0, 5.0, 10.0)
SETTINGS: tuple[Setting, ...] = ("exact", "observed", "hidden")
CHOSEN: dict[Setting, float] = {"exact": 2.0, "observed": 2.0, "hidden": 10.0}
# Mean final regret and two standard errors of an independent implementation, 100 trials.
REFERENCE: dict[Setting, tuple[float, float]] = {
    "exact": (-3939.0, 53.0),
    "observed": (56.0, 10.0),
    "hidden": (645.0, 49.0),
}

Results = dict[tuple[Setting, float, Samples], Array]


@pytest.fixture(scope="module")
def final() -> Results:
    """Final regret of all trials, (100,), by setting, beta and samples. Trials are paired across all of them."""
    env = Synthetic()
    model = oc.LinearModel(env.features, ridge=1.0)
    wanted: list[tuple[Setting, float, Samples]] = [(setting, beta, None) for setting in SETTINGS for beta in GRID]
    wanted += [(setting, CHOSEN[setting], n) for setting in SETTINGS[1:] for n in (10, 100)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        return {
            (setting, beta, samples): oc.simulate(
                env, model, oc.UCB(beta), samples, 1000, 100, setting, seed=0, executor=pool
            ).regret[:, -1]
            for setting, beta, samples in wanted
        }


def standard_error(values: Array) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


@pytest.mark.parametrize("setting", SETTINGS)
def test_final_regret_agrees_with_the_reference(final: Results, setting: Setting) -> None:
    """Within three standard errors of the difference: false alarm 0.3 % each."""
    ours = final[setting, CHOSEN[setting], None]
    mean, two_se = REFERENCE[setting]
    assert abs(ours.mean() - mean) <= 1.5 * math.hypot(2 * standard_error(ours), two_se)


def test_the_more_is_seen_the_less_is_lost(final: Results) -> None:
    """exact < 0 < observed < hidden, by five paired standard errors each; the gaps are above ten."""
    exact, observed, hidden = (final[setting, CHOSEN[setting], None] for setting in SETTINGS)
    for better, worse in ((exact, np.zeros(100)), (np.zeros(100), observed), (observed, hidden)):
        gap = worse - better
        assert gap.mean() > 5 * standard_error(gap)


@pytest.mark.parametrize("setting", ["observed", "hidden"])
def test_a_hundred_samples_come_close_to_the_expectation(final: Results, setting: Setting) -> None:
    """What L = 100 adds to the regret is less than half of what L = 10 adds, by three paired standard errors.

    Measured are about a ninth (observed) and a sixth (hidden), with gaps of more than seven standard errors: false
    alarm below 1e-4 at a fresh seed.
    """
    beta = CHOSEN[setting]
    ten, hundred = (final[setting, beta, n] - final[setting, beta, None] for n in (10, 100))
    gap = ten / 2 - hundred
    assert gap.mean() > 3 * standard_error(gap)
    assert ten.mean() > 5 * standard_error(ten)


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_beta_of_the_grid_beats_the_papers_choice(final: Results, setting: Setting) -> None:
    """No other value has a mean lower by more than three paired standard errors: false alarm 0.13 % for each of four
    that does as well, less for those that do worse.

    The lowest mean itself is not asserted for `exact` and `observed`: beta = 1 and 2 differ there by about 2 +- 1
    over 1000 trials, which 100 trials (standard errors 3 and 4) cannot tell apart.
    """
    chosen = final[setting, CHOSEN[setting], None]
    for beta in GRID:
        lead = chosen - final[setting, beta, None]
        assert lead.mean() <= 3 * standard_error(lead)


def test_betas_far_from_the_choice_are_clearly_worse(final: Results) -> None:
    """By three paired standard errors; measured are about seven and more: false alarm below 1e-4 at a fresh seed."""
    far: dict[Setting, tuple[float, ...]] = {"exact": (5.0, 10.0), "observed": (5.0, 10.0), "hidden": (0.5, 1.0)}
    for setting, betas in far.items():
        for beta in betas:
            loss = final[setting, beta, None] - final[setting, CHOSEN[setting], None]
            assert loss.mean() > 3 * standard_error(loss)


@pytest.mark.parametrize("setting", SETTINGS)
def test_tuning_picks_the_papers_beta(final: Results, setting: Setting) -> None:
    """The largest beta that ties with the least regret: 2, 2 and 10, as in the appendix.

    At a fresh seed exact may pick 1 instead of 2, in about one of ten cases: over 1000 trials it is better by 2 +- 1,
    which 100 trials measure with a standard error of 3. The others fail in about one of a hundred.
    """
    lines = [line_of(Curve(setting, None), beta, final[setting, beta, None][:, None]) for beta in GRID]
    assert pick(lines).beta == CHOSEN[setting]
