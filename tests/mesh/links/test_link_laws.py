import random

from hypothesis import given
from hypothesis import strategies as st

from mesh.links.link import Link
from mesh.links.table import LinkAction, LinkEvent, LinkState
from tests.mesh.links.test_link import OWN, SAY

CHANGES = {LinkEvent.ADDRESS, LinkEvent.RESTARTED, LinkEvent.ALLOWED, LinkEvent.REACHED}
SCENARIO = st.lists(st.tuples(st.sampled_from([*SAY, LinkEvent.DUE]), st.floats(0, 100)), max_size=60)


def tell(link: Link, event: LinkEvent, now: float) -> tuple[LinkAction, ...]:
    if event is LinkEvent.DUE:
        return link.tick(now)
    if event is LinkEvent.HELLO and link.by in ("me", "both"):
        return ()  # the node refuses such a HELLO itself
    return SAY[event](link, now)


def check(link: Link) -> None:
    assert bool(link.by) == bool(link.code) == (link.state is LinkState.NOT_ALLOWED)
    is_waiting = link.state is not LinkState.LOGGED_IN and link.is_wanted and not link.is_dialling
    assert (link.next_try is not None) == (is_waiting and link.by in ("", "peer"))
    if link.is_dialling:
        assert link.is_wanted
        assert link.state is not LinkState.LOGGED_IN
        assert link.by in ("", "peer")
    assert link.attempt >= 1


@given(SCENARIO, st.integers())
def test_whatever_happens_the_laws_of_a_link_hold(scenario: list[tuple[LinkEvent, float]], seed: int) -> None:
    now = 0.0
    link = Link(b"p" * 16, now, random.Random(seed).random)
    for event, passed in scenario:
        now += passed
        next_try, was_dialling, was_in = link.next_try, link.is_dialling, link.state
        actions = tell(link, event, now)
        check(link)
        assert not OWN & set(actions)
        assert (LinkAction.RESUME in actions) == (
            event is LinkEvent.HELLO and link.state is LinkState.LOGGED_IN
        )
        if LinkAction.DIAL in actions:
            assert link.is_dialling
            assert not was_dialling or LinkAction.HANG_UP in actions
            is_due = next_try is not None and now >= next_try
            was_idle = next_try is None and event is LinkEvent.WANTED
            assert is_due or was_idle or event in CHANGES
        if was_in is LinkState.LOGGED_IN and link.state is not was_in:
            assert LinkAction.HANG_UP in actions


@given(SCENARIO, st.integers())
def test_a_dial_that_is_due_always_comes_and_time_never_stands_still(
    scenario: list[tuple[LinkEvent, float]], seed: int
) -> None:
    now = 0.0
    link = Link(b"p" * 16, now, random.Random(seed).random)
    for event, passed in scenario:
        now += passed
        tell(link, event, now)
    for _ in range(20):
        deadline = link.deadline()
        if deadline is None:
            break
        now = max(now, deadline)
        assert link.tick(now) in ((LinkAction.DIAL,), (LinkAction.HANG_UP,))
        assert link.deadline() is not None
        assert (link.deadline() or 0.0) > now


@given(SCENARIO, st.integers())
def test_from_everywhere_a_peer_that_answers_is_logged_in_again(
    scenario: list[tuple[LinkEvent, float]], seed: int
) -> None:
    now = 0.0
    link = Link(b"p" * 16, now, random.Random(seed).random)
    for event, passed in scenario:
        now += passed
        tell(link, event, now)
    if link.by in ("me", "both"):
        link.allowed(now)
    link.wanted(now)
    for _ in range(3):  # give up a hanging dial, wait, dial
        if link.is_dialling or link.state is LinkState.LOGGED_IN:
            break
        now = max(now, link.deadline() or now)
        link.tick(now)
    if link.state is not LinkState.LOGGED_IN:
        assert link.is_dialling
        link.hello(now)
    assert link.state is LinkState.LOGGED_IN
