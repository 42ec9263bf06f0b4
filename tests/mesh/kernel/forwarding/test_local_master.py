"""A node accepts messages as the only master, as one of several, or as a backup."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.forwarding.local_master import LocalMaster
from mesh.wire.commands import Answer
from mesh.wire.envelope import HELD, PERSISTENT
from tests.mesh.envelopes import envelope
from tests.mesh.origins import CLIENT

WALL = 10**18
SITE = "/site/LON/node/x/client/y/session/1"
OK, NO = Answer("", 1, 1), Answer("", 1, 1, "QUEUE_FULL", text="full")


class Stage:
    """A master whose router is a mock."""

    def __init__(self, has_backups: bool = False) -> None:
        self.context, self.router, self.refused = Mock(), Mock(), Mock()
        self.context.clock.wall, self.context.me.name = WALL, "heron"
        self.here = LocalMaster(self.context, self.router, Mock(has_backups=has_backups), self.refused)

    @property
    def given(self) -> Any:
        return self.router.publish_here.call_args.args

    def answers(self, answer: Answer) -> Answer:
        """Return the answer that the origin gets if the router gives `answer`."""
        self.given[2](answer)
        told: Answer = self.refused.answer_origin.call_args.args[2]
        return told


@pytest.mark.parametrize(
    ("sent", "sender", "stamp"),
    [
        (WALL - 5, "", WALL - 5),
        (WALL + 10**15, "", 0),
        (WALL + 10**15, SITE, WALL + 10**15),
        (WALL - 5, SITE, WALL - 5),
    ],
)
def test_masters_and_sites_share_a_timestamp_unless_it_is_too_far_ahead(
    sent: int, sender: str, stamp: int
) -> None:
    assert Stage().here.shared_stamp(replace(envelope("k"), sent=sent, sender=sender)) == stamp


def test_only_a_copy_for_several_masters_has_the_timestamp_of_its_publisher() -> None:
    stage, e = Stage(), envelope("k", sent=WALL - 5)
    stage.here.accept_copy(e, CLIENT, Mock())
    assert stage.given[3] == WALL - 5
    stage.here.take_over(e, CLIENT, (), Mock())
    assert stage.given[3] == 0
    stage.here.take_over(replace(e, sender=SITE), CLIENT, (), Mock())
    assert stage.given[3] == WALL - 5
    stage.here.accept_envelope(e, CLIENT)
    assert stage.given[3] == 0


@pytest.mark.parametrize(
    ("stands_for", "answer", "text", "is_had"),
    [
        ((), OK, "", True), (("a", "b"), OK, "at heron, because a, b cannot be reached", True),
        ((), NO, "full", False), (("a",), NO, "full", False),
    ],
)  # fmt: skip
def test_a_backup_names_the_unreachable_masters_and_records_what_it_accepts(
    stands_for: tuple[str, ...], answer: Answer, text: str, is_had: bool
) -> None:
    stage = Stage(has_backups=True)
    stage.here.accept_envelope(envelope("k"), CLIENT, 0, stands_for)
    assert not stage.router.had.called, "not before it is accepted"
    told = stage.answers(answer)
    assert (told.state, told.text, stage.router.had.called) == (answer.state, text, is_had)


def test_a_direct_message_and_a_mesh_without_backups_need_no_record() -> None:
    for stage, e in (
        (Stage(), envelope("k")),
        (Stage(has_backups=True), replace(envelope("k"), to="client/joe")),
    ):
        stage.here.accept_envelope(e, CLIENT, 0, ("a",))
        assert stage.answers(OK) == OK
        assert not stage.router.had.called


def test_a_body_that_is_held_elsewhere_depends_on_the_connection_that_brought_it() -> None:
    stage, origin = Stage(), Mock()
    stage.here.accept_envelope(envelope("k", flags=HELD | PERSISTENT), origin)
    assert (stage.given[1].flags, stage.given[4]) == (PERSISTENT, origin.link.return_value)
    stage.here.accept_envelope(envelope("k"), origin)
    assert stage.given[4] is None
