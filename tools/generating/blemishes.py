"""Errors in segments: malformed lines, duplicate lines and segments, and late segments."""

import random
import re
from collections.abc import Callable

# Law 1: no two malformed lines are equal, and none contains a line break, so each counts as one line.

Mutilate = Callable[[bytes, random.Random], bytes]


def _truncated(line: bytes, chance: random.Random) -> bytes:
    return line[: chance.randrange(len(line) // 2, len(line) - 1)]


def _binary(line: bytes, chance: random.Random) -> bytes:
    return b"\x00\xff" + chance.randbytes(200).replace(b"\n", b"\xfe").replace(b"\r", b"\xfe")


def _no_object(line: bytes, chance: random.Random) -> bytes:
    return b"[%d,%d]" % (chance.getrandbits(60), chance.getrandbits(60))


def _instead(pattern: bytes, replacement: bytes) -> Mutilate:
    """Return a function that replaces a field by a wrong one; `pattern` finds the field in every state."""

    def mutilated(line: bytes, chance: random.Random) -> bytes:
        text = replacement.replace(b"?", b"%d" % chance.getrandbits(60))
        found, count = re.subn(pattern, text, line, count=1)
        assert count, f"{pattern!r} is not in {line!r}"
        return found

    return mutilated


# reason -> the function that produces it
WAYS: dict[str, Mutilate] = {
    "truncated": _truncated,
    "binary": _binary,
    "no object": _no_object,
    "wrong type": _instead(rb'"line":\d+', b'"line":"line ?"'),
    "field missing": _instead(rb'"observer_uuid":"\w+"', b'"observed_by":"?"'),
    "unknown kind": _instead(rb'"kind":"\w+"', b'"kind":"weather-?"'),
    "out of range": _instead(rb'"cpu":[\d.]+', b'"cpu":1?.5'),
    "unreadable time": _instead(rb'"ts":"[^"]+"', b'"ts":"half past ?"'),
}
REASONS = tuple(WAYS)

# (every n-th segment, remainder) of each error. No segment is both bad and copied.
BAD, REPEATED, COPIED, LATE = (40, 7), (60, 3), (150, 11), (100, 13)


class Blemishes:
    """The errors of each segment, at fixed intervals.

    The kinds of malformed lines take turns. With `clean`, there are no malformed lines.
    """

    def __init__(self, chance: random.Random, clean: bool) -> None:
        self._chance = chance
        self._clean = clean
        self._segments = self._bad = 0

    def begin(self) -> None:
        self._segments += 1

    def bad(self, state: bytes) -> tuple[str, bytes] | None:
        """Return a reason and a malformed line made of `state`, or None if the segment has none."""
        if self._clean or not self._is_due(BAD):
            return None
        why = REASONS[self._bad % len(REASONS)]
        self._bad += 1
        return why, WAYS[why](state, self._chance)

    @property
    def repeats(self) -> bool:
        """Whether the last line is repeated."""
        return self._is_due(REPEATED)

    @property
    def is_copied(self) -> bool:
        """Whether another file has the same content."""
        return self._is_due(COPIED)

    @property
    def is_late(self) -> bool:
        """Whether the segment arrives long after its hour."""
        return self._is_due(LATE)

    def _is_due(self, when: tuple[int, int]) -> bool:
        every, remainder = when
        return self._segments % every == remainder
