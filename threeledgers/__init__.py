"""Three Ledgers: predict FLOPs, memory and communication; count them; measure them; explain the difference."""

from threeledgers.specs import gpu, model
from threeledgers.witness import witness

__all__ = ["gpu", "model", "witness"]
__version__ = "0.1.0"
