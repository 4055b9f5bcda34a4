"""Who gets in: holders of the run's key, and nobody else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from penstock.control.admin import AdminClient
from penstock.control.codec import encode
from penstock.control.keys import RunKeys
from penstock.control.numbering import Numbering
from penstock.control.protocol import AskStatus
from penstock.control.wire import connected_dealer
from penstock.errors import RunError
from tests.control.troupe import Troupe, troupe

Context = zmq.Context[zmq.Socket[bytes]]
FAILED = {
    zmq.Event.HANDSHAKE_FAILED_AUTH,
    zmq.Event.HANDSHAKE_FAILED_PROTOCOL,
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL,
    zmq.Event.DISCONNECTED,
}


def own(context: Context, run: Troupe) -> zmq.Socket[bytes]:
    return connected_dealer(
        context, endpoint=run.server.endpoint, server_public=run.keys.server.public, keys=run.keys.client
    )


def foreign_key(context: Context, run: Troupe) -> zmq.Socket[bytes]:
    return connected_dealer(
        context, endpoint=run.server.endpoint, server_public=run.keys.server.public, keys=RunKeys.make().client
    )


def servers_own_public_key(context: Context, run: Troupe) -> zmq.Socket[bytes]:
    """Knows everything that travels in the open, and made up a secret for it."""
    forged = RunKeys.make().client
    return connected_dealer(
        context,
        endpoint=run.server.endpoint,
        server_public=run.keys.server.public,
        keys=type(forged)(public=run.keys.client.public, secret=forged.secret),
    )


def wrong_server_key(context: Context, run: Troupe) -> zmq.Socket[bytes]:
    return connected_dealer(
        context, endpoint=run.server.endpoint, server_public=RunKeys.make().server.public, keys=run.keys.client
    )


def no_key(context: Context, run: Troupe) -> zmq.Socket[bytes]:
    dealer = context.socket(zmq.DEALER)
    dealer.linger = 0
    dealer.connect(run.server.endpoint)
    return dealer


@contextmanager
def monitored(dealer: zmq.Socket[bytes]) -> Iterator[zmq.Socket[bytes]]:
    """What ZeroMQ tells of a socket's connections. It must be told to stop before its listener may go."""
    with dealer.get_monitor_socket(zmq.EVENT_ALL) as monitor:
        try:
            yield monitor
        finally:
            dealer.disable_monitor()


def outcome_of_handshake(run: Troupe, connect: Callable[[Context, Troupe], zmq.Socket[bytes]]) -> str:
    """What becomes of a connection: "in" if a question is answered, "out" if the handshake fails."""
    with zmq.Context() as context, connect(context, run) as dealer, monitored(dealer) as monitor:
        try:
            dealer.send_multipart([Numbering().stamp(AskStatus()), encode(AskStatus())], zmq.NOBLOCK)
        except zmq.Again:  # the handshake failed before we could look
            return "out"
        poller = zmq.Poller()
        poller.register(dealer, zmq.POLLIN)
        poller.register(monitor, zmq.POLLIN)
        while ready := dict(poller.poll(60_000)):
            if dealer in ready:
                return "in"
            if recv_monitor_message(monitor)["event"] in FAILED:
                return "out"
        return "neither"


def test_the_runs_own_key_gets_in() -> None:
    with troupe() as run:
        assert outcome_of_handshake(run, own) == "in"


@pytest.mark.parametrize("connect", [foreign_key, servers_own_public_key, wrong_server_key, no_key])
def test_nobody_else_gets_in(connect: Callable[[Context, Troupe], zmq.Socket[bytes]]) -> None:
    with troupe() as run:
        assert outcome_of_handshake(run, connect) == "out"
        assert outcome_of_handshake(run, own) == "in"
        assert run.server.status().notices == ()


def test_the_key_of_another_run_does_not_open_this_one() -> None:
    with troupe() as one, troupe() as two:

        def neighbour(context: Context, run: Troupe) -> zmq.Socket[bytes]:
            return connected_dealer(
                context, endpoint=run.server.endpoint, server_public=run.keys.server.public, keys=two.keys.client
            )

        assert outcome_of_handshake(one, neighbour) == "out"


def test_the_command_line_with_a_foreign_key_is_told_so() -> None:
    keys = RunKeys.make()
    with (
        troupe() as run,
        AdminClient(endpoint=run.server.endpoint, server_public=run.keys.server.public, keys=keys.client) as admin,
        pytest.raises(RunError, match="does not accept these keys"),
    ):
        admin.ask(AskStatus(), timeout_s=0.1)


def test_keys_are_made_for_each_run() -> None:
    one, two = RunKeys.make(), RunKeys.make()

    assert len({one.server.secret, one.client.secret, two.server.secret, two.client.secret}) == 4
