from collections.abc import Callable

import pytest

from mesh.errors import LocalError
from mesh.links.backoff import Timing
from mesh.links.link import Link
from mesh.links.table import LINK_TABLE, LinkAction, LinkEvent, LinkState

PEER = b"p" * 16
DIAL, HANG_UP, RESUME, NOTE, PROBE = (
    LinkAction.DIAL,
    LinkAction.HANG_UP,
    LinkAction.RESUME,
    LinkAction.NOTE,
    LinkAction.PROBE,
)


def fresh(now: float = 0.0) -> Link:
    return Link(PEER, now, lambda: 0.5)


def dialling(now: float = 0.0) -> Link:
    link = fresh(now)
    assert link.wanted(now) == (DIAL,)
    return link


def logged_in(now: float = 0.0) -> Link:
    link = dialling(now)
    link.hello(now)
    return link


def refused(now: float = 0.0) -> Link:
    link = dialling(now)
    link.on_refused(now, "NAME_IN_USE", "heron is held by another node")
    return link


def fail(link: Link, times: int) -> None:
    """Leave `times` dials unanswered, each followed by another dial."""
    for _ in range(times):
        link.tick(link.deadline() or 0.0)
        link.tick(link.deadline() or 0.0)
    assert link.is_dialling


IN_STATE: dict[LinkState, Callable[[], Link]] = {
    LinkState.LOGGED_IN: logged_in,
    LinkState.POLLING: dialling,
    LinkState.NOT_ALLOWED: refused,
}
SAY: dict[LinkEvent, Callable[[Link, float], tuple[LinkAction, ...]]] = {
    LinkEvent.WANTED: Link.wanted,
    LinkEvent.UNWANTED: Link.unwanted,
    LinkEvent.HELLO: Link.hello,
    LinkEvent.REFUSED: lambda link, now: link.on_refused(now, "VERSION", "too old"),
    LinkEvent.DENIED: lambda link, now: link.denied(now, "REVOKED", "its key was revoked"),
    LinkEvent.ALLOWED: Link.allowed,
    LinkEvent.SILENCE: Link.silence,
    LinkEvent.BYE: Link.bye,
    LinkEvent.DISCONNECTED: Link.disconnected,
    LinkEvent.ADDRESS: Link.address,
    LinkEvent.RESTARTED: Link.restarted,
    LinkEvent.REACHED: Link.reached,
}
OWN = {LinkAction.BACK_OFF, LinkAction.RETRY_RARELY, LinkAction.FORGIVE, LinkAction.HASTEN}


@pytest.mark.parametrize("event", SAY)
@pytest.mark.parametrize("state", LinkState)
def test_a_link_does_what_each_cell_says(state: LinkState, event: LinkEvent) -> None:
    link = IN_STATE[state]()
    assert link.state is state
    actions = SAY[event](link, 1.0)
    target, listed = LINK_TABLE[state][event]
    assert link.state is target
    assert link.since == (0.0 if target is state else 1.0)
    # Within a second after a dial or a refusal, only a change allows a dial, and only one at a time.
    may_dial = LinkAction.FORGIVE in listed and (state is not LinkState.POLLING or HANG_UP in listed)
    assert actions == tuple(a for a in listed if a not in OWN and (a is not DIAL or may_dial))


@pytest.mark.parametrize("state", [LinkState.POLLING, LinkState.NOT_ALLOWED])
def test_a_link_dials_when_it_is_due(state: LinkState) -> None:
    link = IN_STATE[state]()
    link.disconnected(1.0)
    due = link.deadline()
    assert due is not None
    assert link.tick(due - 0.001) == ()
    assert link.tick(due) == (DIAL,)
    assert link.state is state
    assert link.is_dialling


def test_nothing_is_due_while_logged_in() -> None:
    link = logged_in()
    assert link.deadline() is None
    assert link.tick(1e9) == ()


def test_a_new_link_is_idle_and_dials_nobody() -> None:
    link = fresh()
    assert link.describe(0.0) == "polling (idle)"
    assert link.deadline() is None
    assert link.tick(1e9) == ()


def test_a_login_that_nobody_needs_is_not_dialled_again() -> None:
    link = logged_in()
    assert link.unwanted(1.0) == ()
    assert link.disconnected(2.0) == (HANG_UP, PROBE)
    assert link.describe(2.0) == "polling (idle)"
    assert link.deadline() is None


def test_a_login_that_is_needed_is_dialled_again_after_the_back_off() -> None:
    link = logged_in()
    assert link.disconnected(20.0) == (HANG_UP, PROBE)
    assert link.next_try == pytest.approx(20.15)
    assert link.tick(20.15) == (DIAL,)


def test_who_is_reached_anew_is_dialled_at_once_and_after_that_as_late_as_before() -> None:
    link = dialling()
    fail(link, 6)
    link.disconnected(1000.0)
    attempt, wait = link.attempt, (link.next_try or 0.0) - 1000.0
    assert wait > 5.0
    assert link.reached(1000.1) == (DIAL,)
    assert link.reached(1000.2) == (), "it is dialled already"
    link.disconnected(1000.3)
    assert link.attempt == attempt + 1
    assert (link.next_try or 0.0) - 1000.3 > wait


def test_a_login_that_shows_its_end_after_the_peer_was_reached_anew_is_dialled_soon() -> None:
    link = dialling()
    fail(link, 6)
    link.hello(1000.0)
    assert link.reached(1001.0) == ()
    assert link.disconnected(1002.0) == (HANG_UP, PROBE)
    assert link.next_try == pytest.approx(1002.15), "though it did not stand for long"


def test_nobody_is_dialled_for_being_reached_whom_nobody_needs_or_who_is_denied() -> None:
    assert fresh().reached(1.0) == ()
    link = refused()
    assert link.reached(1.0) == ()
    assert link.state is LinkState.NOT_ALLOWED


def test_wanting_twice_dials_once() -> None:
    link = dialling()
    assert link.wanted(0.1) == ()
    link.disconnected(0.2)
    assert link.wanted(0.2) == ()


def test_wanting_by_turns_does_not_get_round_the_back_off() -> None:
    link = dialling()
    for attempt in range(1, 9):
        link.disconnected(link.deadline() or 0.0)
        now = (link.next_try or 0.0) - 0.01
        link.unwanted(now)
        assert link.next_try is None
        assert link.wanted(now) == ()
        assert link.attempt == attempt + 1
        assert link.tick(now + 0.01) == (DIAL,)


def test_a_dial_that_nobody_answers_counts_as_disconnected() -> None:
    link = dialling()
    assert link.deadline() == 5.0
    assert link.tick(4.99) == ()
    assert link.tick(5.0) == (HANG_UP,)
    assert link.next_try == pytest.approx(5.15)
    assert link.attempt == 2


def test_a_dial_that_nobody_needs_any_more_is_given_up() -> None:
    link = dialling()
    assert link.unwanted(1.0) == (HANG_UP,)
    assert link.deadline() is None


def test_each_failure_waits_longer() -> None:
    link = dialling()
    waits = []
    for _ in range(10):
        failed_at = link.deadline() or 0.0
        link.tick(failed_at)
        waits.append(round((link.next_try or 0.0) - failed_at, 6))
        assert link.tick(link.next_try or 0.0) == (DIAL,)
    assert waits == [0.15, 0.25, 0.45, 0.85, 1.65, 3.25, 6.45, 12.85, 15.05, 15.05]


def test_one_failure_told_twice_counts_once() -> None:
    link = logged_in()
    link.silence(20.0)
    link.disconnected(20.01)
    assert link.attempt == 2


@pytest.mark.parametrize(("stood", "attempt"), [(9.9, 4), (10.0, 2)])
def test_only_a_login_that_stood_starts_the_back_off_anew(stood: float, attempt: int) -> None:
    link = dialling()
    fail(link, 2)
    assert link.attempt == 3
    link.hello(100.0)
    link.disconnected(100.0 + stood)
    assert link.attempt == attempt


@pytest.mark.parametrize("change", [Link.address, Link.restarted])
def test_a_peer_that_moved_or_restarted_is_dialled_at_once(
    change: Callable[[Link, float], tuple[LinkAction, ...]],
) -> None:
    link = dialling()
    link.disconnected(1.0)
    assert DIAL in change(link, 1.01)
    assert link.attempt == 1


def test_a_dial_to_the_old_address_is_cut_but_one_to_a_restarted_process_goes_on() -> None:
    assert dialling().address(1.0) == (HANG_UP, DIAL)
    assert dialling().restarted(1.0) == ()


def test_the_peers_no_is_asked_again_rarely_and_ever_more_so() -> None:
    link = refused()
    waits, asked = [], 0.0
    for _ in range(8):
        due = link.deadline() or 0.0
        waits.append(due - asked)
        assert link.tick(due) == (DIAL,)
        assert link.state is LinkState.NOT_ALLOWED
        link.on_refused(due, "NAME_IN_USE", "still")
        asked = due
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert link.reason == "still"


def test_the_peers_no_is_not_asked_again_while_nobody_needs_the_login() -> None:
    link = refused()
    link.unwanted(1.0)
    assert link.deadline() is None
    assert link.wanted(2.0) == ()
    assert link.deadline() == 60.0


def test_a_refused_link_that_cannot_even_connect_waits_rarely_too() -> None:
    link = refused()
    link.tick(60.0)
    assert link.tick(65.0) == (HANG_UP,)
    assert link.deadline() == 65.0 + 120.0


@pytest.mark.parametrize("change", [Link.address, Link.restarted])
def test_the_peers_no_is_asked_again_at_once_when_the_peer_changed(
    change: Callable[[Link, float], tuple[LinkAction, ...]],
) -> None:
    link = refused()
    assert DIAL in change(link, 1.0)
    assert link.state is LinkState.NOT_ALLOWED
    link.on_refused(1.5, "NAME_IN_USE", "still")
    assert link.deadline() == 61.5


def test_our_own_no_is_never_tried_again_by_itself() -> None:
    link = logged_in()
    assert link.denied(1.0, "REVOKED", "its key was revoked") == (HANG_UP, NOTE)
    assert link.describe(1.0) == "not allowed by me: REVOKED"
    assert link.wanted(2.0) == ()
    assert link.address(3.0) == (HANG_UP,)
    assert link.restarted(4.0) == ()
    assert link.tick(1e9) == ()
    assert link.deadline() is None


def test_allowing_a_denied_peer_dials_it_at_once_if_it_is_needed() -> None:
    link = logged_in()
    link.denied(1.0, "REVOKED", "")
    assert link.allowed(2.0) == (DIAL,)
    assert link.by == ""


def test_allowing_a_denied_peer_that_nobody_needs_leaves_it_idle() -> None:
    link = fresh()
    link.denied(1.0, "REVOKED", "")
    assert link.allowed(2.0) == ()
    assert link.describe(2.0) == "polling (idle)"


def test_two_noes_are_shown_as_both_and_allowing_asks_the_peer_again() -> None:
    link = refused()
    link.denied(1.0, "REVOKED", "its key was revoked")
    assert link.describe(1.0) == "not allowed by both: REVOKED, NAME_IN_USE"
    assert link.reason == "its key was revoked; heron is held by another node"
    assert link.deadline() is None
    assert link.allowed(2.0) == (DIAL,)
    assert link.on_refused(2.1, "NAME_IN_USE", "") == (HANG_UP, NOTE)
    assert link.describe(2.1) == "not allowed by peer: NAME_IN_USE"


def test_the_noes_add_up_in_either_order() -> None:
    link = fresh()
    link.denied(0.0, "REVOKED", "")
    link.on_refused(0.0, "VERSION", "")
    assert link.by == "both"


def test_a_hello_from_a_peer_that_we_deny_is_our_own_fault() -> None:
    link = fresh()
    link.denied(0.0, "REVOKED", "")
    with pytest.raises(LocalError, match="REVOKED") as caught:
        link.hello(1.0)
    assert caught.value.code == "LINK_EVENT"
    assert link.state is LinkState.NOT_ALLOWED


def test_a_peer_that_changes_its_mind_and_dials_us_is_logged_in() -> None:
    link = refused()
    assert link.hello(1.0) == (RESUME,)
    assert link.describe(1.0) == "logged in"
    assert (link.by, link.code, link.reason) == ("", "", "")


def test_a_login_that_the_peer_opened_needs_nobody_here() -> None:
    link = fresh()
    assert link.hello(1.0) == (RESUME,)
    assert not link.is_wanted


def test_a_link_says_in_words_how_it_stands() -> None:
    link = dialling()
    assert link.describe(0.0) == "polling (dialing, attempt 1)"
    fail(link, 3)
    link.disconnected(20.0)
    assert link.describe(20.25) == "polling (next try in 0.6 s, attempt 5)"
    assert link.describe(99.0) == "polling (next try in 0.0 s, attempt 5)"


def test_the_waiting_times_can_be_set() -> None:
    link = Link(PEER, 0.0, lambda: 0.0, Timing(low=2.0, rare=7.0, connect_limit=1.0))
    link.wanted(0.0)
    link.tick(1.0)
    assert link.deadline() == 3.0
    link.on_refused(3.0, "VERSION", "")
    assert link.deadline() == 10.0


@pytest.mark.parametrize(
    "field", ["state", "since", "is_wanted", "is_dialling", "attempt", "next_try", "by", "code", "reason"]
)
def test_nobody_else_can_change_a_link(field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(fresh(), field, None)
