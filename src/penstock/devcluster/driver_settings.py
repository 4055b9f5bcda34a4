"""What a driver has to be told to use a cluster in a box: as settings, and as a folder that SPARK_CONF_DIR leads to."""

from __future__ import annotations

from pathlib import Path

from penstock.devcluster.daemons import FAST_START
from penstock.devcluster.settings import DevClusterSettings

__all__ = ["driver_settings", "write_defaults"]


def driver_settings(
    settings: DevClusterSettings, *, master_url: str, driver_address: str, temporary: Path
) -> dict[str, str]:
    """Spark settings of a driver at an address that nodes can reach."""
    check_s = max(1, round(settings.lost_after_s / 4))
    return {
        "spark.master": master_url,
        "spark.driver.host": driver_address,
        "spark.driver.bindAddress": driver_address,
        "spark.driver.extraJavaOptions": FAST_START,
        "spark.executor.memory": f"{settings.executor_memory_mib}m",
        "spark.executor.extraJavaOptions": f"{FAST_START} -Djava.io.tmpdir={temporary}",
        # An executor that cannot be heard is lost after this long, and not after two minutes, looked at once a minute.
        "spark.network.timeout": f"{max(2, round(settings.lost_after_s))}s",
        "spark.network.timeoutInterval": f"{check_s}s",
        "spark.executor.heartbeatInterval": f"{check_s}s",
    }


def write_defaults(folder: Path, settings: dict[str, str]) -> None:
    """Writes them so that any Spark program takes them that is started with SPARK_CONF_DIR set to the folder."""
    lines = [f"{key} {value}\n" for key, value in settings.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
