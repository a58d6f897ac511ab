from __future__ import annotations

import numpy as np
from scipy import stats

from overcast.models.prior import CENTRE, LOG_PRIOR, RATIOS, SPREAD


def test_the_grid_holds_what_the_prior_believes_in() -> None:
    """The ratio is log-normal; the grid leaves less than a thousandth of it out on either side, and has even steps."""
    law = stats.norm(CENTRE, SPREAD)
    logs = np.log(RATIOS)
    np.testing.assert_allclose(LOG_PRIOR - LOG_PRIOR.max(), law.logpdf(logs) - law.logpdf(logs).max())
    np.testing.assert_allclose(np.diff(logs), np.log(6.0))
    assert law.cdf(logs[0]) < 1e-3
    assert law.sf(logs[-1]) < 1e-3
