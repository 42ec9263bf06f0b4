"""The leash of a leader: the time for which a majority of voters lets it act."""

# Law 1: a leader acts until LEASH s after the sending of heartbeats that a majority of the voters answered.
#        The time counts from the sending, as an answer may be slow.
# Law 2: a voter helps to replace the leader only SILENCE s after the last heartbeat that it answered, and
#        after its own start, as it does not remember earlier ones. From then on it answers no heartbeat.
# Assumed: the rates of two clocks differ by less than 20 %, so a leash ends before a silence.

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Time = TypeVar("Time", int, float)

BEAT, LEASH, SILENCE = 2.0, 8.0, 10.0  # s


def is_majority(answers: int, nodes: int) -> bool:
    return 2 * answers > nodes


def leash_left(leash: Time, age: Time) -> Time:
    """Return the rest of a leash when a majority has answered a heartbeat that was sent `age` ago."""
    return leash - age


def answered_since(sent: Iterable[float], nodes: int) -> float:
    """Return the latest time from which on a majority of the voters has answered, or -inf.

    `sent` has, for each voter that has answered, the time at which the last answered heartbeat was sent.
    """
    times = sorted(sent, reverse=True)
    need = nodes // 2 + 1
    return times[need - 1] if len(times) >= need else float("-inf")


def may_serve(is_home: bool, has_voters: bool, leash: float) -> bool:
    """Return whether a node acts as the leader."""
    return is_home and (not has_voters or leash > 0)


def silence_left(last: float, began: float, now: float) -> float:
    """Return the rest of the time after which a voter helps to replace a leader.

    `last` is the time of the last answered heartbeat, `began` that of the voter's own start.
    """
    return max(0.0, max(last, began) + SILENCE - now)


def may_grant_claim(claimed: int, promised: int, silence: float, is_handed_over: bool) -> bool:
    """Return whether a voter helps to begin the generation `claimed`.

    `silence` is the rest of the time after which it does so without the leader (Law 2).
    """
    return claimed > promised and (silence == 0 or is_handed_over)
