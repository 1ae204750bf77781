"""Three Ledgers: predict FLOPs, memory and communication; count them; measure them; explain the difference."""

from threeledgers.practice import check, exercise, guess, progress
from threeledgers.specs import gpu, latency, model
from threeledgers.widgets import widget
from threeledgers.witness import witness

__all__ = ["check", "exercise", "gpu", "guess", "latency", "model", "progress", "widget", "witness"]
__version__ = "0.1.0"
