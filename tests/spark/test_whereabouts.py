"""On which node a process is, and at which address."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any

import pytest

from penstock.spark.addresses import DriverAddress, driver_address, worker_address
from penstock.spark.node import NODE_VARIABLE, node_identity
from tests.spark.settled import settled

ASK = "from penstock.spark.node import node_identity; print(node_identity())"


def identity_of_another_process(*wrapper: str) -> str:
    command = [*wrapper, sys.executable, "-c", ASK]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def can_unshare(what: str) -> bool:
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    return subprocess.run([unshare, what, "true"], capture_output=True, check=False).returncode == 0


def test_processes_next_to_each_other_are_on_one_node() -> None:
    assert identity_of_another_process() == node_identity()


@pytest.mark.parametrize("namespace", ["--net", "--user"])
def test_a_namespace_that_keeps_memory_apart_is_another_node(namespace: str) -> None:
    if not can_unshare(namespace):
        pytest.skip(f"may not unshare {namespace} here")
    assert identity_of_another_process("unshare", namespace) != node_identity()


@pytest.mark.parametrize("namespace", ["--mount", "--ipc"])
def test_a_namespace_that_does_not_is_the_same_node(namespace: str) -> None:
    if not can_unshare(namespace):
        pytest.skip(f"may not unshare {namespace} here")
    assert identity_of_another_process("unshare", namespace) == node_identity()


def test_what_the_node_is_called_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NODE_VARIABLE, "rack-7")
    assert node_identity() == "rack-7"


@pytest.mark.parametrize(
    ("session", "bind_host", "public_host"),
    [
        (settled("local[4]", driver_host="192.0.2.7"), "127.0.0.1", "127.0.0.1"),
        (settled("spark://host:7077", driver_host="127.0.0.1"), "127.0.0.1", "127.0.0.1"),
        (settled("spark://host:7077", driver_host="localhost"), "127.0.0.1", "localhost"),
        (settled("k8s://h", driver_host="driver.svc", driver_bindAddress="127.0.0.9"), "127.0.0.9", "driver.svc"),
    ],
)
def test_workers_are_told_the_address_that_executors_reach_the_driver_at(
    session: Any, bind_host: str, public_host: str
) -> None:
    assert driver_address(session) == DriverAddress(bind_host=bind_host, public_host=public_host)


def test_a_worker_is_where_spark_was_told_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.3")
    assert worker_address("tcp://127.0.0.1:4000") == "127.0.0.3"


@pytest.mark.parametrize("told", [None, "0.0.0.0", "203.0.113.1", "no.such.host.invalid"])
def test_else_it_is_on_the_way_to_the_driver(monkeypatch: pytest.MonkeyPatch, told: str | None) -> None:
    if told is None:
        monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    else:
        monkeypatch.setenv("SPARK_LOCAL_IP", told)
    assert worker_address("tcp://127.0.0.1:4000") == "127.0.0.1"


def test_a_driver_that_is_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert worker_address("tcp://localhost:4000") in ("127.0.0.1", "::1")
