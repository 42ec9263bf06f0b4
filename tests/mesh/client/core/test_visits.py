"""The first node of a client that continues the session of an earlier one."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mesh.client.core.client_handshake import ClientHandshake, SiteSession
from mesh.client.core.visits import ClientVisits
from mesh.security.streamkey import StreamKey
from mesh.wire.calls import AskAttach
from mesh.wire.commands import Introduction
from mesh.wire.limits import VISITS

KEY, SESSION = StreamKey(b"k" * 32), "/node/heron/client/outbox/session/-1"
WORDS = frozenset((VISITS,))


class Calls:
    """Notes the ATTACHes of a client."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send_command(self, make: Any, then: Any) -> None:
        self.sent.append(make(1))


def node(uuid: bytes, boot: int = 1) -> Introduction:
    return Introduction(uuid * 16, "heron", boot, "tcp://127.0.0.1:1")


@pytest.mark.parametrize("first", [0, 700])
def test_the_first_node_is_a_visit_above_those_of_earlier_clients(first: int) -> None:
    calls = Calls()
    visits = ClientVisits(cast("Any", calls), KEY, list)
    if first:
        visits.begin_at(first)
    assert visits.on_welcome(node(b"a"), SESSION, WORDS) is (first > 0)
    assert (visits.attach, len(calls.sent)) == (first, int(first > 0))
    assert visits.on_welcome(node(b"b"), SESSION, WORDS)
    assert visits.attach == first + 1
    assert list(visits.former) == [b"a" * 16]
    assert calls.sent[-1].verb == AskAttach.verb


def test_the_session_of_an_earlier_client_is_presented() -> None:
    handshake = ClientHandshake(("outbox", 0, True), KEY)
    session = SiteSession(-1, "heron", b"token", attach=700)
    handshake.restore_session(session)
    assert handshake.session is session
    hello = handshake.hello(0)
    assert (hello.session, hello.home, hello.token, hello.attach) == (-1, "heron", b"token", 700)
