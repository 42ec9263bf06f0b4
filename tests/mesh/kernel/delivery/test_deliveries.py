"""The delivery and the answer of accepted envelopes, also of those that could not be stored."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.errors import MeshError, NotAvailable, StoreFull
from mesh.kernel.delivery.deliveries import Deliveries
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.stream_log import Accepted, StreamLog
from mesh.wire.commands import Answer
from tests.mesh.envelopes import envelope


class Reader:
    """A sink that records the numbers of its messages."""

    key, owner, paces = b"", "", False
    floors: dict[bytes, int] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.got: list[int] = []
        self.expected = 0

    def offer(self, slice_: Any, now: float) -> None:
        self.got.append(slice_.stored.envelope.first)

    def expect(self, stored: Any, sign: int) -> None:
        self.expected += sign


class Stage:
    """Envelopes of one stream that wait for the disk, each for one reader."""

    def __init__(self, count: int) -> None:
        self.log, self.context, self.disks = Mock(), Mock(), Mock()
        self.log.passes.return_value = False
        self.disks.__getitem__ = lambda disks, store: Mock(commit=lambda ops, then: self.commits.append(then))
        self.commits: list[Any] = []
        self.deliveries = Deliveries(self.context, self.log, self.disks, Mock())
        self.lane = StreamLog(Mock())
        self.reader = Reader()
        self.answers: list[tuple[int, str]] = []
        reader: Any = self.reader
        for n in range(1, count + 1):
            stored = StoredEnvelope(replace(envelope("k", first=n), to="client/joe"))
            accepted = Accepted([(stored, [(reader, None)])], Answer("", n, n), [], stored=False)
            self.lane.waiting.append(accepted)
        self.all = list(self.lane.waiting)

    def answered(self, answer: Answer) -> None:
        self.answers.append((answer.first, answer.state))

    def ends(self, number: int, error: MeshError | None = None) -> None:
        """End the commit of one envelope."""
        self.deliveries.on_committed(self.lane, self.all[number - 1], "joe", self.answered, error)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_stored_envelopes_are_delivered_and_answered_in_the_order_of_their_stream(
    order: tuple[int, ...],
) -> None:
    stage = Stage(3)
    for number in order:
        stage.ends(number)
    assert stage.reader.got == [1, 2, 3]
    assert stage.answers == [(1, "OK"), (2, "OK"), (3, "OK")]
    assert not stage.lane.waiting


def test_nothing_is_delivered_before_an_earlier_commit_has_ended() -> None:
    stage = Stage(3)
    stage.ends(2)
    stage.ends(3)
    assert (stage.reader.got, stage.answers) == ([], [])


def test_a_failed_commit_is_refused_in_order_and_delivered_to_nobody() -> None:
    stage = Stage(3)
    stage.ends(2, NotAvailable("broken"))
    assert stage.answers == []
    stage.ends(1)
    stage.ends(3)
    assert stage.reader.got == [1, 3]
    assert stage.answers == [(1, "OK"), (2, NotAvailable.code), (3, "OK")]
    assert [call.args[1] for call in stage.log.refuse_accepted.call_args_list] == [stage.all[1]]


def test_the_refusal_of_a_full_store_is_stored_before_it_is_answered() -> None:
    stage = Stage(1)
    stage.ends(1, StoreFull("full"))
    assert stage.answers == []
    stage.commits.pop()(None)
    assert stage.answers == [(1, StoreFull.code)]


def test_an_envelope_is_expected_at_its_sinks_until_its_commit_has_ended() -> None:
    stage = Stage(2)
    stage.reader.expected = 2
    stage.ends(1)
    assert stage.reader.expected == 1
    stage.ends(2, NotAvailable("broken"))
    assert stage.reader.expected == 0


@pytest.mark.parametrize("error", [None, NotAvailable("broken")])
def test_each_source_that_asked_meanwhile_is_answered(error: MeshError | None) -> None:
    stage, others = Stage(1), list[str]()
    stage.all[0].also = [lambda answer: others.append(answer.state)]
    stage.ends(1, error)
    assert [state for _, state in stage.answers] == others == ["OK" if error is None else error.code]


def test_a_message_with_records_is_answered_after_they_are_stored() -> None:
    stage = Stage(1)
    stage.log.passes.return_value = True
    stage.ends(1)
    assert stage.reader.got == [1] and stage.answers == []
    ops, then = stage.disks.own.commit.call_args.args
    assert ops == ()
    then(None)
    assert stage.answers == [(1, "OK")]
