"""Penstock: low-latency, record-at-a-time stream topologies in Python, on the Spark cluster you already have.

This module is the public door: everything a user needs is in `__all__`. Nothing in the package imports it.
"""

from penstock.errors import PenstockError

__all__ = ["PenstockError", "__version__"]

__version__ = "0.1.0.dev0"


def __dir__() -> list[str]:
    return __all__
