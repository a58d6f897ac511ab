"""Judge forecasts by what happened, and correct them."""

from overcast.calibration.check import Calibration, check
from overcast.calibration.conformal import Conformal
from overcast.calibration.recalibrated import Recalibrated, recalibrate
from overcast.calibration.reliability import Reliability
from overcast.calibration.verification import Verification, verify

__all__ = ["Calibration", "Conformal", "Recalibrated", "Reliability", "Verification", "check", "recalibrate", "verify"]
