"""The resume of one master's log: its questions from the first page to the release, and malformed pages."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.kernel.subscribers.pull import Pull, check_page
from mesh.wire.calls import AskResume, ResumeRow
from mesh.wire.commands import Certificate, Query
from mesh.wire.replies import ResumedPage
from tests.mesh.envelopes import envelope

PROOF = Certificate("client/joe", b"k" * 32, 2, b"n" * 16, b"s" * 64)
HEAD = AskResume(certificate=PROOF)
FIRST = ResumeRow(1, Query("exact", "k"), 5)
KEPT = envelope("k", persistent=True)


def pull(ask: ResumeRow = FIRST) -> Pull:
    return Pull(Mock(), Mock(), b"m" * 16, HEAD, ask, b"resume", is_started=True)


def state(it: Pull) -> tuple[bool, bool, bool, bool]:
    return it.is_confirmed, it.is_complete, it.is_read, it.can_ask


def test_a_pull_is_confirmed_by_its_first_page_complete_with_its_last_and_read_when_all_is_acknowledged() -> (
    None
):
    it = pull()
    assert state(it) == (False, False, False, True)
    it.open[6] = None
    it.turn_page(ResumedPage(end=9, next=7, positions=[6]))
    assert (state(it), it.ask.at, it.done) == ((True, False, False, True), 7, 5)
    it.turn_page(ResumedPage(end=9, next=10, positions=[]))
    assert state(it) == (True, True, False, False), "the client is to acknowledge 6 first"
    it.open.clear()
    assert (state(it), it.done) == ((True, True, True, True), 9)
    it.ask_release()
    assert (it.ask.at, it.ask.done) == (10, 9)


@pytest.mark.parametrize("change", [{"is_started": False}, {"is_asking": True}, {"is_ended": True}])
def test_no_question_is_sent_before_the_start_twice_or_after_the_end(change: dict[str, bool]) -> None:
    it = pull()
    for name, value in change.items():
        setattr(it, name, value)
    assert not it.can_ask


@pytest.mark.parametrize(("open_", "at"), [([], 8), ([6, 7], 6)])
def test_a_lost_pin_begins_anew_at_the_first_message_that_the_client_lacks(open_: list[int], at: int) -> None:
    it = pull(replace(FIRST, at=8, end=9, done=5))
    it.open = dict.fromkeys(open_)
    it.begin_anew(2)
    assert (it.ask.at, it.ask.end, it.ask.done, it.is_confirmed) == (at, 0, 0, False)


@pytest.mark.parametrize(
    ("page", "envelopes"),
    [
        ({"end": 9, "next": 10, "positions": [4]}, [KEPT]),  # before the question
        ({"end": 9, "next": 10, "positions": [7, 6]}, [KEPT, KEPT]),
        ({"end": 9, "next": 6, "positions": [6]}, [KEPT]),  # the same again
        ({"end": 9, "next": 11, "positions": [6]}, [KEPT]),
        ({"end": 9, "next": 10, "positions": [6]}, []),
        ({"end": 9, "next": 10, "positions": [6]}, [envelope("k")]),  # transient
        ({"end": 9, "next": 10, "positions": [6]}, [replace(KEPT, to="joe")]),
    ],
)
def test_a_page_that_no_correct_master_sends_is_malformed(page: dict[str, Any], envelopes: list[Any]) -> None:
    check_page(FIRST, ResumedPage(end=9, next=10, positions=[6, 9]), [KEPT, KEPT])
    with pytest.raises(RemoteError, match="malformed"):
        check_page(FIRST, ResumedPage(**page), envelopes)


def test_the_end_of_a_pin_does_not_change() -> None:
    with pytest.raises(RemoteError, match="malformed"):
        check_page(replace(FIRST, end=9), ResumedPage(end=10, next=10, positions=[6]), [KEPT])


def test_a_page_without_an_end_would_be_asked_for_without_an_end() -> None:
    with pytest.raises(RemoteError, match="malformed"):
        check_page(replace(FIRST, at=0), ResumedPage(end=0, next=1), [])
