"""Calibration of a record and of its halves."""

from __future__ import annotations

import numpy as np

import overcast as oc
from overcast.calibration import check, recalibrate
from overcast.datasets.forecasts import ForecastRecord
from overcast.experiments.comparisons.calibrate import judge


def test_judged_halves(record: ForecastRecord) -> None:
    judged = judge(record)
    assert (len(judged.whole), len(judged.before), len(judged.after)) == (120, 60, 60)
    same = check(recalibrate(record.beliefs, record.outcomes)[60:], record.outcomes[60:], record.names)
    np.testing.assert_array_equal(judged.after.pit, same.pit)
    assert isinstance(judged.after.beliefs[0], oc.Ensemble)
