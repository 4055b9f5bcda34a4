"""Under which address the driver reaches its workers, and they each other."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from penstock.control.wire import address_towards
from penstock.spark.session import is_connect
from penstock.spark.session_settings import SessionSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DriverAddress", "driver_address", "executor_address", "worker_address"]

_LOOPBACK = "127.0.0.1"


class DriverAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where the controller listens, and what workers are told."""

    bind_host: str
    public_host: str


def driver_address(spark: SparkSession) -> DriverAddress:
    """The address at which executors reach this process: the one that they reach Spark's driver at."""
    setting = SessionSettings(spark)
    if setting.text("spark.master").startswith("local") and not is_connect(spark):
        return DriverAddress(bind_host=_LOOPBACK, public_host=_LOOPBACK)
    if is_connect(spark):
        # Spark's driver is elsewhere. What leads there from here leads, on a common network, to executors too.
        own = address_towards(spark.client.host)
        return DriverAddress(bind_host=own, public_host=own)
    public = setting.text("spark.driver.host", _LOOPBACK)
    # Behind a service or a proxy the driver is known by a name that is not an address of this machine.
    bind = setting.text("spark.driver.bindAddress", public)
    return DriverAddress(bind_host=socket.gethostbyname(bind), public_host=public)


def worker_address(endpoint: str) -> str:
    """The address at which other workers reach this executor, given the controller's endpoint.

    What Spark was told for this machine holds; several nodes may share one machine. Else it is the address that this
    machine has on the way to the driver.
    """
    told = os.environ.get("SPARK_LOCAL_IP")
    if told and _is_own(told):
        return told
    driver = urlsplit(endpoint).hostname
    assert driver is not None, f"an endpoint has a host, got {endpoint!r}"
    return address_towards(driver)


def executor_address(executors: Sequence[str], own: int) -> str:
    """The address at which the others of these executors reach this one. Each is given as Spark knows it, host:port."""
    hosts = [urlsplit(f"//{address}").hostname or _LOOPBACK for address in executors]
    for known in (os.environ.get("SPARK_LOCAL_IP"), hosts[own]):
        if known and _is_own(known):
            return socket.gethostbyname(known)
    # Behind a proxy, Spark knows it by a name that is none of its addresses.
    others = [host for host in hosts if host != hosts[own]]
    return address_towards(others[0]) if others else _LOOPBACK


def _is_own(address: str) -> bool:
    """Whether one can listen there, and be found there: 0.0.0.0 is everywhere and nowhere."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)
            return str(probe.getsockname()[0]) not in ("0.0.0.0", "::")
    except OSError:
        return False
