"""Judge forecasts by what happened, and repair them."""


from overcast.calibration.recalibrated import Recalibrated

__all__ = ["Recalibrated"]
