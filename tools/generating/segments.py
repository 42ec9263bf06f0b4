"""The segments of generated nodes, in the format of real ones; see docs/spark.md."""

from collections import Counter
from pathlib import Path

from mesh.snapshots.line import STATE
from tools.generating.blemishes import Blemishes
from tools.generating.cast import HOUR, SECOND, Machine
from tools.generating.truth import Truth
from tools.generating.wording import heads, moment, second


class Shelf:
    """The directory of all segments, and the counts and errors there."""

    def __init__(self, place: Path, late: Path, truth: Truth, blemishes: Blemishes) -> None:
        self.truth = truth
        self.blemishes = blemishes
        self._place = place
        self._late = late
        self._made: set[Path] = set()

    def put(self, name: str, opened: int, content: bytes, late: bool = False) -> None:
        """Write one file, into the hour of the time (µs) at which its writer opened it."""
        text = second(opened // SECOND)
        folder = (self._late if late else self._place) / f"date={text[:10]}" / f"hour={text[11:13]}"
        if folder not in self._made:
            folder.mkdir(parents=True, exist_ok=True)
            self._made.add(folder)
        with open(folder / name, "xb") as file:
            file.write(content)


class Log:
    """The log of one boot of a node.

    `add` receives the fields after the number of a line.
    """

    def __init__(self, machine: Machine, boot: int, shelf: Shelf, began: int) -> None:
        self.line = 0
        self.offset = machine.clock.offset(began, began)  # µs by which its clock is ahead
        self.lonely = 0  # unfinished states without another writer
        self._name = f"{machine.name}-{machine.uuid[:8]}-{boot}"
        self._heads = heads(machine, boot)
        self._state = self._heads[STATE]
        self._shelf = shelf
        self._number = 0
        self._last_state = ""
        self._clock, self._ts = 0, ""  # time and text at the last `add`
        self._begin(began)

    def add_state(self, at: int, rest: str) -> None:
        """Add a state of the true time `at`, in µs."""
        self.line += 1
        self._states += 1
        seconds, micros = divmod(at + self.offset, SECOND)
        self._last_state = f'{self._state}{self.line},"ts":"{second(seconds)}{micros:06}Z",{rest}'
        self._lines.append(self._last_state)

    def add(self, kind: str, at: int, rest: str) -> None:
        """Add a line of another kind.

        The text of its time is kept, because many lines have the same time.
        """
        self.line += 1
        self._kinds[kind] += 1
        clock = at + self.offset
        if clock != self._clock:
            self._clock, self._ts = clock, moment(clock)
        self._lines.append(f'{self._heads[kind]}{self.line},"ts":"{self._ts}",{rest}')

    def close(self, now: int) -> None:
        """Close the open segment, and open the next one at the true time `now` (µs)."""
        if self._lines:
            self._put()
        self._begin(now)

    def abandon(self) -> None:
        """Leave the open segment unfinished and cut off, as its node is killed for good."""
        truth = self._shelf.truth
        content = self._content()
        self._shelf.put("_" + self._next(), self._opened, content[:-100])
        truth.unfinished.update(segments=1, lines=len(self._lines))
        truth.states -= self.lonely

    def _begin(self, now: int) -> None:
        self._opened = now + self.offset
        self._lines: list[str] = []
        self._kinds: Counter[str] = Counter()
        self._states = self.lonely = 0

    def _next(self) -> str:
        self._number += 1
        return f"{self._name}-{self._number}.jsonl"

    def _content(self) -> bytes:
        return ("\n".join(self._lines) + "\n").encode()

    def _put(self) -> None:
        """Write the segment with its errors; see blemishes.py."""
        shelf, truth = self._shelf, self._shelf.truth
        blemishes = shelf.blemishes
        blemishes.begin()
        name, content = self._next(), self._content()
        truth.unique.update(self._kinds)
        truth.unique[STATE] += self._states
        if blemishes.repeats:
            content += self._lines[-1].encode() + b"\n"
            truth.doubled += 1
        bad = blemishes.bad(self._last_state.encode())
        if bad is not None:
            why, line = bad
            middle = content.index(b"\n", len(content) // 2) + 1
            content = content[:middle] + line + b"\n" + content[middle:]
            truth.bad[why] += 1
        if blemishes.is_late:
            truth.late.update(segments=1, lines=content.count(b"\n"))
        shelf.put(name, self._opened, content, blemishes.is_late)
        truth.segments += 1
        truth.bytes += len(content)
        if blemishes.is_copied:
            shelf.put(name, self._opened + HOUR, content)
            truth.segments += 1
            truth.bytes += len(content)
            truth.doubled += content.count(b"\n")
