"""A session's settings, read with their types. The same for classic and Connect, where there is no SparkConf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SessionSettings"]


class SessionSettings:
    """Reads settings of a session. One that is not set, or refers to another, is given as the default."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def is_set(self, key: str) -> bool:
        """Whether there is a value."""
        return bool(self.text(key))

    def text(self, key: str, default: str = "") -> str:
        """The value as it is."""
        value = self._of_context(key)
        if value is None:
            value = self._spark.conf.get(key, None)  # Spark would check our default too, and refuse it
        # The default of some settings is to have none, or another one's value, which Spark does not look up for us.
        return default if value is None or value.startswith("<") else str(value)

    def _of_context(self, key: str) -> str | None:
        """What the application was started with.

        A session may have been told otherwise since, as ``builder.master("local[3]").getOrCreate()`` does where there
        is one already; that changes nothing.
        """
        if is_connect(self._spark) or key.startswith("spark.sql."):
            return None
        found: str | None = self._spark.sparkContext.getConf().get(key)
        return found

    def number(self, key: str, default: float) -> float:
        """The value as a number."""
        return float(self.text(key, str(default)))

    def flag(self, key: str, *, default: bool = False) -> bool:
        """The value as a flag."""
        return self.text(key, str(default)).lower() == "true"

    def mebibytes(self, key: str, default: float) -> float:
        """The value as a size; a bare number means MiB, as it does for all settings of memory."""
        text = self.text(key, f"{default}m").strip().lower().removesuffix("b")
        factors = {"k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0 * 1024.0}
        return float(text[:-1]) * factors[text[-1]] if text[-1] in factors else float(text)
