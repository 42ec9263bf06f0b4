"""Do the numbers hold together that somebody says who takes from a queue?"""

from __future__ import annotations

from collections.abc import Sequence

from mesh.wire.limits import QUEUE_CREDIT


def check_held(held: Sequence[tuple[bytes, Sequence[int]]]) -> None:
    """The messages that somebody still has: of each stream ranges that grow, and no more of all together than
    may be out. ValueError."""
    count = 0
    for _, numbers in held:
        if not numbers or len(numbers) % 2:
            raise ValueError(f"{len(numbers)} ends of ranges are held")
        before = 0
        for first, last in zip(numbers[::2], numbers[1::2], strict=True):
            if not before < first <= last:
                raise ValueError(f"numbers {first}..{last} are held after {before}")
            count += last - first + 1
            before = last
    if count > QUEUE_CREDIT:
        raise ValueError(f"{count} messages are held, at most {QUEUE_CREDIT} can be")


def check_settled(entries: Sequence[tuple[int, int, int, int, str]]) -> None:
    """The counts of what did not just end well: each entry is a range of them. ValueError."""
    for first, last, *_ in entries:
        if not 1 <= first <= last:
            raise ValueError(f"counts {first} to {last} are settled")
