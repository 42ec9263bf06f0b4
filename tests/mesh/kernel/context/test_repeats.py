"""Repeated refusals are counted by the minute instead of logged one by one."""

from mesh.kernel.context.repeats import OTHERS, SAY_AGAIN, TOLD, Repeats
from tests.mesh.kernel.stranger import Stranger
from tests.simulation import SimNetwork

KNOCKS = 200


def test_the_same_is_told_once_and_then_counted_by_the_minute() -> None:
    repeats = Repeats()
    told = [repeats.is_news("eve", "wrong key", at / 10) for at in range(300)]
    assert told == [True] + [False] * 299
    assert repeats.take_counts(59.0) == {}
    assert repeats.take_counts(0.1 + SAY_AGAIN) == {("eve", "wrong key"): 299}
    assert repeats.take_counts(1e9) == {}
    assert repeats.is_news("eve", "wrong key", SAY_AGAIN)


def test_crowds_of_names_are_counted_together_and_little_is_kept() -> None:
    repeats = Repeats()
    assert sum(repeats.is_news(f"eve{n}", "wrong key", 0.0) for n in range(TOLD + 5000)) == TOLD
    assert repeats.take_counts(SAY_AGAIN) == {OTHERS: 5000}


def knock(stranger: Stranger, speaks: bool) -> None:
    if speaks:
        stranger.as_client(stream=b"another's stream")
    else:
        stranger.put([b"no command"])


def lines(speaks: bool, said: str) -> tuple[list[str], int]:
    """Return the notes of a node about many refused connections, and its count of malformed frames."""
    net = SimNetwork()
    (a,) = net.mesh("a")
    before = len(a.notes)
    for _ in range(KNOCKS):
        knock(Stranger(a), speaks)
    net.run(2 * SAY_AGAIN)
    return [note for note in a.notes[before:] if said in note], a.core.parts.context.counters.values.get(
        "malformed", 0
    )


def test_trial_3_a_stranger_who_is_refused_again_and_again_gets_two_lines_a_minute() -> None:
    notes, _ = lines(True, "is not named after its key")
    assert len(notes) == 2 and "FORGED_STREAM" in notes[0], notes
    assert f"{KNOCKS - 1} more times in a minute" in notes[1], notes


def test_trial_3_nor_does_one_whom_nobody_can_read() -> None:
    notes, counted = lines(False, "MALFORMED")
    assert counted == KNOCKS and len(notes) == 2 and f"{KNOCKS - 1} more times in a minute" in notes[1], notes
