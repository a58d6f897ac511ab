"""Judge forecasts by what happened, and correct them."""

from overcast.calibration.check import Calibration, check
from overcast.calibration.conformal import Conformal
from overcast.calibration.recalibrated import Recalibrated, recalibrate

__all__ = ["Calibration", "Conformal", "Recalibrated", "check", "recalibrate"]
