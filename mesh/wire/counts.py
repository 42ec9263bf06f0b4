"""Checks the numbers and columns in commands."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.errors import RemoteError
from mesh.values import messages
from mesh.wire.header import u16
from mesh.wire.limits import QUEUE_CREDIT

MOST_TOLD = 511  # 255 failed deliveries, plus 256: perhaps one more


def check_held(held: Sequence[tuple[bytes, Sequence[int]]]) -> None:
    """Check the messages that a consumer still has: increasing ranges by stream.

    Raises: ValueError for other ranges, or more than QUEUE_CREDIT messages.
    """
    count = 0
    for _, numbers in held:
        if not numbers or len(numbers) % 2:
            raise ValueError(f"the held ranges have {len(numbers)} ends; an even number above 0 is required")
        before = 0
        for first, last in zip(numbers[::2], numbers[1::2], strict=True):
            if not before < first <= last:
                raise ValueError(f"the held numbers {first}..{last} follow {before}, but must increase")
            count += last - first + 1
            before = last
    if count > QUEUE_CREDIT:
        raise ValueError(f"{count} messages are held; the limit is {QUEUE_CREDIT}")


def check_settled(entries: Sequence[tuple[int, int, int, int, str]]) -> None:
    """Check the tag ranges of nacks, rejects and lease extensions. Raises: ValueError."""
    for first, last, *_ in entries:
        if not 1 <= first <= last:
            raise ValueError(f"the settled tags {first} to {last} are invalid")


def check_moving(entries: Sequence[tuple[int, bool, int, bytes]]) -> None:
    """Check the numbers and delivery counts of envelopes that move to another node. Raises: ValueError."""
    before = 0
    for number, _, _, tries in entries:
        if number <= before:
            raise ValueError(f"move {number} follows move {before}, but the numbers must increase")
        if len(tries) % 2 or any(each > MOST_TOLD for each in memoryview(tries).cast("H")):
            raise ValueError(f"the delivery counts of move {number} are invalid")
        before = number


def check_ranges(numbers: Sequence[int]) -> None:
    """Check that ranges increase. Raises: ValueError."""
    if len(numbers) % 2:
        raise ValueError(f"the ranges have an odd number of ends, {len(numbers)}")
    before = 0
    for first, last in zip(numbers[::2], numbers[1::2], strict=True):
        if not before < first <= last:
            raise ValueError(f"the numbers {first}..{last} follow {before}, but must increase")
        before = last


def check_targets(targets: Sequence[tuple[int, bytes]], tries: Sequence[int], count: int) -> None:
    """Check the columns about an envelope of `count` messages. Raises: RemoteError.

    Each subscription lists the indices of its messages; an empty list means all. Delivery counts require a
    single subscription, with one count for each of its messages.
    """
    for subscription, column in targets:
        if len(column) % 2 or max(u16(column), default=0) >= count:
            raise RemoteError(
                f"the indices for subscription {subscription} do not fit {messages(count)}", code="MALFORMED"
            )
    if not tries:
        return
    named = [len(column) // 2 or count for _, column in targets]
    if named != [len(tries)]:
        raise RemoteError(
            f"there are {len(tries)} delivery counts, but the numbers of messages by target are {named}",
            code="MALFORMED",
        )
