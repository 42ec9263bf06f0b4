"""Questions for shared rows, and the steps after their replies."""

from typing import Any
from unittest.mock import Mock

import msgspec
import pytest

from mesh.discovery.state import Summary
from mesh.errors import LocalError, MeshError
from mesh.kernel.peers.facts import PeerForgotten
from mesh.kernel.sharing.authors import UnknownAuthor
from mesh.kernel.sharing.row_exchange import AT_ONCE, REJECTED, RowExchange
from mesh.shared.row import SharedRow
from mesh.wire.calls import AskRows
from mesh.wire.limits import SHARED
from mesh.wire.replies import RowsTold

KIND, UUID = "rules", b"f" * 16


def row(stamp: int) -> SharedRow:
    return SharedRow(KIND, f"row{stamp}", stamp, b"value", UUID, 1)


class Stage:
    """A node with rows up to the timestamp 10; frodo announces others."""

    def __init__(self) -> None:
        self.context: Any = Mock(clock=Mock(now=100.0))
        self.peer: Any = Mock(speaks=(SHARED,))
        self.peer.node.uuid, self.peer.node.name, self.peer.reach.question = UUID, "frodo", None
        self.table: Any = Mock(summary=Summary(KIND, 10, b"ours"))
        self.table.__len__ = lambda table: 5
        self.accepted: list[int] = []
        self.errors: dict[int, MeshError] = {}
        self.questions: Any = Mock()
        self.exchange = RowExchange(
            self.context, Mock(peers={UUID: self.peer}), self.questions, {KIND: self.table}, self._accept
        )

    def _accept(self, row: SharedRow, kind: str, place: tuple[int, str], peer: Any) -> tuple[int, str]:
        assert (kind, peer) == (KIND, self.peer) and row.place > place
        if row.stamp in self.errors:
            raise self.errors[row.stamp]
        self.accepted.append(row.stamp)
        return row.place

    def announces(self, stamp: int, digest: bytes = b"theirs", kind: str = KIND) -> int | None:
        """Return the timestamp after which frodo is asked for rows after this announcement, or `None`."""
        before = self.questions.ask_all.call_count
        fact: Any = Mock()
        fact.known.state.uuid, fact.known.state.shared = UUID, [Summary(kind, stamp, digest)]
        self.exchange.on_state(fact)
        return self.asked() if self.questions.ask_all.call_count > before else None

    def asked(self) -> int:
        ask: AskRows = self.questions.ask_all.call_args.args[1]
        return ask.stamp

    def replies(self, *stamps: int) -> None:
        """Answer the last question with rows that have the timestamps `stamps`."""
        rows = [msgspec.to_builtins(row(stamp), builtin_types=(bytes,)) for stamp in stamps]
        came = self.questions.ask_all.call_args.args[3]
        came(Replied(RowsTold(rows=rows)), [])

    def is_silent(self) -> None:
        self.questions.ask_all.call_args.args[3](Replied(), [])


class Replied(list[Any]):
    """Replies to one question."""

    def __init__(self, *values: Any) -> None:
        super().__init__(values)

    def values(self) -> list[Any]:
        return [Mock(value=value) for value in self]


@pytest.mark.parametrize(
    ("stamp", "digest", "since", "asked"),
    [
        (12, b"theirs", 0.0, 9), (12, b"theirs", 99.0, 9), (10, b"ours", 99.0, None),
        (8, b"theirs", 0.0, None),
        (8, b"theirs", 99.0, -1), (12, b"", 99.0, None),
    ],
)  # fmt: skip
def test_a_node_is_asked_for_newer_rows_or_for_all_once_ours_are_settled(
    stamp: int, digest: bytes, since: float, asked: int | None
) -> None:
    stage = Stage()
    stage.exchange.changed[KIND] = stage.context.clock.now - since
    assert stage.announces(stamp, digest) == asked


def test_unknown_kinds_and_nodes_of_earlier_releases_are_not_asked() -> None:
    stage = Stage()
    assert stage.announces(12, kind="of a later release") is None
    stage.peer.speaks = ()
    assert stage.announces(12) is None


def test_a_node_is_asked_one_thing_at_a_time_and_once_for_each_announcement() -> None:
    stage = Stage()
    assert stage.announces(12) == 9
    assert stage.announces(13) is None, "the question is open"
    stage.replies()
    assert stage.announces(12) is None and stage.announces(13) == 9
    stage.peer.reach.question = Mock()
    stage.replies()
    assert stage.announces(14) is None


def test_an_announcement_is_followed_up_again_if_the_node_did_not_answer() -> None:
    stage = Stage()
    stage.announces(12)
    stage.is_silent()
    assert stage.announces(12) == 9


def test_rows_are_asked_for_until_none_is_left() -> None:
    stage = Stage()
    stage.announces(15)
    stage.replies(11, 12)
    assert stage.asked() == 12
    stage.replies(15)
    assert stage.asked() == 15
    questions = stage.questions.ask_all.call_count
    stage.replies()
    assert stage.accepted == [11, 12, 15] and stage.questions.ask_all.call_count == questions


def test_a_row_of_an_unknown_author_does_not_keep_the_others_away() -> None:
    stage = Stage()
    stage.errors[11] = UnknownAuthor("unknown")
    stage.announces(15)
    stage.replies(11, 12)
    assert stage.accepted == [12] and stage.asked() == 12


def test_an_invalid_row_is_left_out_and_reported_once_for_each_node() -> None:
    """A later release may have rows that this one does not understand."""
    stage = Stage()
    stage.errors[11] = LocalError("bad")
    for stamp, expected in ((15, 1), (16, 1), (17, 2)):
        stage.announces(stamp)
        stage.replies(11, 12)
        assert (stage.accepted.pop(), stage.accepted, stage.context.event.call_count) == (12, [], expected)
        stage.replies()
        if stamp == 16:
            stage.exchange.on_peer_forgotten(PeerForgotten(stage.peer))


def test_a_node_with_nothing_but_invalid_rows_is_not_asked_for_ever() -> None:
    stage = Stage()
    stage.errors = {stamp: LocalError("bad") for stamp in range(11, 2000)}
    stage.announces(2000)
    questions = stage.questions.ask_all
    for first in range(11, 2000, AT_ONCE):
        asked = questions.call_count
        stage.replies(*range(first, first + AT_ONCE))
        if questions.call_count == asked:
            break
    assert questions.call_count == REJECTED // AT_ONCE + 1


def test_a_reply_has_few_rows_and_none_of_an_unknown_kind() -> None:
    stage = Stage()
    stage.table.behind.side_effect = lambda stamp, name: iter([row(n) for n in range(stamp + 1, stamp + 500)])
    for kind, count in ((KIND, AT_ONCE), ("other", 0)):
        asked: Any = Mock(ask=AskRows(kind=kind, stamp=7, name=""))
        stage.exchange.on_rows(asked)
        (told,) = asked.reply.call_args.args
        assert len(told.rows) == count
