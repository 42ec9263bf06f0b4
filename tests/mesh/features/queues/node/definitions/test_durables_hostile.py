"""Nodes that lie, and clients that race, on durable subscriptions. On simulated nodes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from mesh.features.queues.node.definitions import durables
from mesh.features.queues.node.parts import QueueParts
from mesh.kernel.routes.peer_calls import Replies
from mesh.shared.row import SharedRow
from mesh.wire.calls import Ask, AskRow, AskTakers
from mesh.wire.codec import pack
from mesh.wire.commands import Refuse
from mesh.wire.envelope import FIRST, SECOND
from mesh.wire.replies import ReplyValue, Takers
from tests.mesh.features.queues.node.reader import Reader, knows, waiting
from tests.simulation import SimNetwork, SimNode


@pytest.fixture
def net() -> SimNetwork:
    return SimNetwork()


@pytest.fixture
def pair(net: SimNetwork) -> tuple[SimNode, SimNode]:
    a, b = net.mesh("a", "b")
    return a, b


def ask(a: SimNode, b: SimNode, question: Ask, says: Any = ReplyValue) -> Any:
    """Return what b answers to a."""
    replied: list[Replies[Any]] = []
    a.core._at(a.net.now, a.net.wall)
    parts = a.core.parts
    peer = parts.neighbours.peers[b.uuid]
    parts.questions.ask_all(
        [peer], question, says, lambda r, _: replied.append(r), by=parts.neighbours.liveness.send_question
    )
    a._carry_out_all()
    a.net.until(lambda: replied)
    return replied[0][b.uuid]


def row(a: SimNode, name: str, value: bytes, **other: Any) -> AskRow:
    parts = a.core.parts
    told = SharedRow("durable", name, parts.shared.stamp("durable", name), value, a.uuid, 1)
    return AskRow(row=to_builtins(replace(told, **other), builtin_types=(bytes,)))


def value(*queries: Any) -> bytes:
    return pack({"queries": queries, "later": 1})


GOOD = ("exact", "k", "")


def test_a_row_of_a_later_release_counts_as_far_as_it_is_known(pair: tuple[SimNode, SimNode]) -> None:
    a, b = pair
    assert ask(a, b, row(a, "audit", value(GOOD, ("xpath", "//a", "")))).code == ""
    assert knows(b) and Reader(b, "joe").published(b"1", keys=("k",)) == "OK"
    assert waiting(b) == {"b": 1}


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [
        ("sub/x", value(GOOD), "BAD_NAME"),
        ("", value(GOOD), "BAD_NAME"),
        ("x" * 197, value(GOOD), "BAD_NAME"),
        ("x", b"\xc1", "BAD_ROW"),
        ("x", pack({}), "BAD_ROW"),
        ("x", value(), "BAD_ROW"),
        ("x", value(("xpath", "//a", "")), "BAD_QUERY"),
        ("x", value(("exact", "a\n", "")), "BAD_KEY"),
        ("x", value(("pattern", "__sys__dead/#", "")), "BAD_QUERY"),
        ("x", value(("exact", 5, "")), "BAD_ROW"),
        ("x", value(*[("exact", f"{n}", "") for n in range(65)]), "BAD_ROW"),
        ("x", pack({"queries": [["exact", b"\xff", ""]]}), "BAD_ROW"),
        ("x", b"\x81\xa7queries\x91\x93\xa5exact\xa1\xff\xa0", "BAD_ROW"),
    ],
)
def test_a_row_that_defines_none_is_refused_and_nobody_hangs_up(
    pair: tuple[SimNode, SimNode], name: str, said: bytes, code: str
) -> None:
    a, b = pair
    assert ask(a, b, row(a, name, said)).code == code
    assert b.metric("durable_subscriptions") == 0 and b.metric("malformed") == 0
    assert ask(a, b, row(a, "audit", value(GOOD))).code == "" and knows(b)


@pytest.mark.parametrize("said", [None, 5, [], ["durable"], {"kind": "durable"}, "x" * 1000])
def test_what_is_no_row_is_refused(pair: tuple[SimNode, SimNode], said: object) -> None:
    assert ask(*pair, AskRow(row=said)).code == "BAD_ROW"


def test_what_is_of_a_kind_that_nobody_knows_or_of_the_future_changes_nothing(
    pair: tuple[SimNode, SimNode],
) -> None:
    a, b = pair
    assert ask(a, b, row(a, "x", value(GOOD), kind="colours")).code == ""
    assert ask(a, b, row(a, "x", value(GOOD), stamp=2**62)).code == "CLOCK_AHEAD"
    assert b.metric("durable_subscriptions") == 0


def test_a_node_that_declares_without_end_is_stopped(
    pair: tuple[SimNode, SimNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    monkeypatch.setattr(durables, "TAKEN", 3)
    codes = [ask(a, b, row(a, f"n{n}", value(GOOD))).code for n in range(5)]
    assert codes == ["", "", "", "TOO_MANY_ROWS", "TOO_MANY_ROWS"]
    assert ask(a, b, row(a, "n1", value(("exact", "other", "")))).code == ""
    assert ask(a, b, row(a, "n2", b"")).code == "" and b.metric("durable_subscriptions") == 2


def test_takers_of_whatever_is_asked_are_counted(pair: tuple[SimNode, SimNode]) -> None:
    a, b = pair
    for name in ("", "sub/audit", "x" * 200):
        assert ask(a, b, AskTakers(queue=name), Takers).value == Takers(0, 0)


@pytest.mark.parametrize("mark", [FIRST, SECOND, FIRST | SECOND])
def test_a_client_cannot_set_marks(net: SimNetwork, pair: tuple[SimNode, SimNode], mark: int) -> None:
    joe = Reader(pair[0], "joe")
    joe.posts(b"1", flags=mark)
    net.until(lambda: any(isinstance(said, Refuse) for said in joe.heard))
    assert joe.state(1) == ""


def test_what_is_removed_while_somebody_declares_it_is_told_to_both(
    net: SimNetwork, pair: tuple[SimNode, SimNode]
) -> None:
    a, _ = pair
    joe, sue = Reader(a, "joe"), Reader(a, "sue")
    net.cut("a", "b")
    request = joe.asks("durable", name="audit", queries=[GOOD])
    net.until(lambda: knows(a))
    net.run(1)
    assert joe.said(request) is None, "as b has not answered yet"
    assert sue.ask("durable_remove", name="audit", if_unused=False).code == ""
    net.until(lambda: joe.said(request))
    reply = joe.said(request)
    assert reply is not None and reply.code in ("", "NO_QUEUE")
    assert a.stop is None and not knows(a)


def test_what_is_gone_when_it_could_be_answered_is_no_queue(
    net: SimNetwork, pair: tuple[SimNode, SimNode]
) -> None:
    a, _ = pair
    joe = Reader(a, "joe")
    net.cut("a", "b")
    request = joe.asks("durable", name="audit", queries=[GOOD])
    net.until(lambda: knows(a))
    a.core._at(net.now, net.wall)
    a.core.parts[QueueParts].durables.remove_durable("audit", "somebody")
    a._carry_out_all()
    net.until(lambda: joe.said(request))
    reply = joe.said(request)
    assert reply is not None and reply.code == "NO_QUEUE" and a.stop is None
