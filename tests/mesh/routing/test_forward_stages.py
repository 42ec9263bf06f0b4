"""The legal transitions between stages of a pending forward."""

from itertools import product

import pytest

from mesh.routing.forward_stages import DONE, KEEPING_AFTER, TRANSIT_AFTER, Keeping, Transit
from mesh.routing.pending_forward import PendingForward
from tests.mesh.envelopes import envelope
from tests.mesh.origins import CLIENT

# This table is written by hand, to find slips in the tables of the code: + is legal, - is illegal.
TRANSIT = """
                UNSENT  SENT  SENT_AGAIN  DONE
UNSENT               -     +           -     +
SENT                 +     -           +     +
SENT_AGAIN           +     -           -     +
DONE                 -     -           -     -
"""
KEEPING = """
                PASSING  PASSING_WARNED  KEPT  KEPT_WARNED  STORING  STORED  COMMITTING
PASSING               -               +     +            -        -       -           -
PASSING_WARNED        -               -     +            -        -       -           -
KEPT                  -               -     -            +        +       +           +
KEPT_WARNED           -               -     -            -        -       -           -
STORING               -               -     +            -        -       +           -
STORED                -               -     -            -        -       -           -
COMMITTING            -               -     -            +        -       +           -
"""


def pending(transit: Transit = Transit.UNSENT, keeping: Keeping = Keeping.PASSING) -> PendingForward:
    return PendingForward(envelope("k"), CLIENT, 0.0, 1, keeping, transit)


def legal(drawn: str) -> dict[tuple[str, str], bool]:
    head, *rows = (line.split() for line in drawn.strip().splitlines())
    return {(row[0], to): sign == "+" for row in rows for to, sign in zip(head, row[1:], strict=True)}


@pytest.mark.parametrize(("start", "to"), [*product(Transit, repeat=2)])
def test_transit_changes_only_as_the_table_allows(start: Transit, to: Transit) -> None:
    entry = pending(transit=start)
    if legal(TRANSIT)[start.name, to.name]:
        entry.change_transit(to)
        assert entry.transit is to
    else:
        with pytest.raises(AssertionError):
            entry.change_transit(to)
        assert entry.transit is start


@pytest.mark.parametrize(("start", "to"), [*product(Keeping, repeat=2)])
def test_keeping_changes_only_as_the_table_allows(start: Keeping, to: Keeping) -> None:
    entry = pending(keeping=start)
    if legal(KEEPING)[start.name, to.name]:
        entry.change_keeping(to)
        assert entry.keeping is to
    else:
        with pytest.raises(AssertionError):
            entry.change_keeping(to)
        assert entry.keeping is start


def test_nothing_follows_the_final_answer_and_everything_leads_to_it() -> None:
    assert not TRANSIT_AFTER[DONE]
    assert all(DONE in after for stage, after in TRANSIT_AFTER.items() if stage is not DONE)


def test_this_node_never_hands_back_the_duty_to_keep_an_entry() -> None:
    kept = [(stage, to) for stage, after in KEEPING_AFTER.items() if stage.is_kept for to in after]
    assert kept and all(to.is_kept for _, to in kept)


@pytest.mark.parametrize(
    ("stage", "presumed", "taken_back"),
    [
        (Transit.UNSENT, Transit.SENT, Transit.UNSENT),
        (Transit.SENT, Transit.SENT, Transit.UNSENT),
        (Transit.SENT_AGAIN, Transit.SENT_AGAIN, Transit.UNSENT),
    ],
)
def test_an_entry_is_presumed_sent_and_taken_back(
    stage: Transit, presumed: Transit, taken_back: Transit
) -> None:
    entry = pending(transit=stage)
    entry.presume_sent()
    assert entry.transit is presumed and entry.was_sent
    entry = pending(transit=stage)
    entry.take_back()
    assert entry.transit is taken_back and not entry.was_sent and not entry.may_be_there


def test_an_answered_entry_is_not_taken_back() -> None:
    with pytest.raises(AssertionError):
        pending(transit=DONE).take_back()


@pytest.mark.parametrize("stage", [*Keeping])
def test_a_stage_says_whether_this_node_keeps_the_entry_and_its_publisher_was_warned(stage: Keeping) -> None:
    entry = pending(keeping=stage)
    assert entry.is_kept is (stage.name.partition("_")[0] != "PASSING")
    assert entry.warned is (stage.name not in ("PASSING", "KEPT"))
