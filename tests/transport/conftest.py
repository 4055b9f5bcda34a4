"""Links are received by a thread in C++, or by one of Python where pyzmq's libzmq is out of reach."""

import pytest

from penstock.transport import link_thread


@pytest.fixture
def thread_in_cpp() -> None:
    """Fails where the thread would be one of Python."""
    assert link_thread._zeromq_of_pyzmq() is not None


@pytest.fixture
def thread_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_thread, "_zeromq_of_pyzmq", lambda: None)


@pytest.fixture(params=["thread_in_cpp", "thread_in_python"])
def both_ways(request: pytest.FixtureRequest) -> None:
    """Whoever uses it is run with each of them."""
    request.getfixturevalue(request.param)
