"""What was sent on towards its master, or waits to be, until its last word? In order for each next node."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from mesh.streams.ranges import Ranges
from mesh.wire.envelope import Envelope

# Law 1: an entry stays until every one of its numbers has a final answer, whoever carries it.
# Law 2: what goes to one node leaves in the order in which it came, and again in that order when the
#        connection breaks: so whatever a publisher sent arrives in its order, repeats aside.
# Law 3: of each line at most a window of unanswered entries is under way; the rest waits here.


@dataclass(slots=True, eq=False)
class Entry:
    """An envelope without its last word. `source`: the peer that brought it, b"" = a client of this node."""

    envelope: Envelope
    source: bytes
    arrived: float
    serial: int
    hop: str = ""  # the node it goes to, or waits for; "" = nobody knows
    why: str = ""
    was_sent: bool = False  # so it may be there, answered or not
    warned: bool = False  # its publisher knows that it waits
    position: int = 0  # in the store
    is_done: bool = False  # nobody here waits for anything any more
    open: Ranges = field(default_factory=Ranges)  # numbers without their final answer

    @property
    def key(self) -> tuple[bytes, str]:
        return self.envelope.stream, self.envelope.domain

    @property
    def line(self) -> tuple[str, str, str]:
        """Next node, domain, and the node that it is addressed to: one master away holds up no other."""
        parts = self.envelope.to.split("/", 3)
        return self.hop, self.envelope.domain, parts[2] if parts[0] == "" and len(parts) > 2 else ""

    @property
    def size(self) -> int:
        return len(self.envelope.body) + 64 * self.envelope.count

    @property
    def messages(self) -> int:
        return sum(last - first + 1 for first, last in self.open)


@dataclass(slots=True)
class Line:
    """What goes to one node for one domain, or for one node behind it."""

    # Taken from the front, which a dict would look for ever longer.
    waiting: OrderedDict[Entry, None] = field(default_factory=OrderedDict)
    flight: dict[Entry, None] = field(default_factory=dict)
    flight_bytes: int = 0
    progress: float = 0.0  # when it last answered something
    is_mixed: bool = False  # `waiting` has an older one behind a newer one

    def entries(self) -> list[Entry]:
        """All of them, in the order of their arrival."""
        return sorted((*self.flight, *self.waiting), key=lambda entry: entry.serial)


class Onward:
    """Entries by stream, and by the node they go to. A window is bytes and envelopes."""

    def __init__(self, window_bytes: int, window_count: int) -> None:
        self._window = (window_bytes, window_count)
        self._lanes: dict[tuple[bytes, str], OrderedDict[int, Entry]] = {}
        self._lines: dict[str, dict[tuple[str, str, str], Line]] = {}  # by next node
        self._serial = 0
        self.bytes = 0
        self.messages = 0

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def entries(self) -> list[Entry]:
        """All of them, in the order of their arrival."""
        return sorted((e for lane in self._lanes.values() for e in lane.values()), key=lambda e: e.serial)

    def covering(self, envelope: Envelope) -> tuple[list[Entry], list[tuple[int, int]]]:
        """(entries that hold some of its numbers, the ranges of it that none holds)."""
        lane = self._lanes.get((envelope.stream, envelope.domain))
        if not lane or lane[next(reversed(lane))].envelope.last < envelope.first:
            return [], [(envelope.first, envelope.last)]
        first, last = envelope.first, envelope.last
        found = [e for e in lane.values() if e.envelope.first <= last and e.envelope.last >= first]
        held = Ranges()
        for entry in found:
            held.add(entry.envelope.first, entry.envelope.last)
        return found, held.missing(envelope.first, envelope.last)

    def holds(self, stream: bytes, domain: str) -> bool:
        """Does anything of that stream wait here?"""
        return (stream, domain) in self._lanes

    def add(self, envelope: Envelope, source: bytes, now: float) -> Entry:
        """A new one, that goes nowhere yet."""
        self._serial += 1
        entry = Entry(envelope, source, now, self._serial)
        entry.open.add(envelope.first, envelope.last)
        lane = self._lanes.setdefault(entry.key, OrderedDict())
        is_late = bool(lane) and next(reversed(lane)) > envelope.first
        lane[envelope.first] = entry
        if is_late:  # sent again, in front of what came before
            self._lanes[entry.key] = OrderedDict(sorted(lane.items()))
        self.bytes += entry.size
        self.messages += envelope.count
        self._line(entry).waiting[entry] = None
        return entry

    def assign(self, entry: Entry, hop: str, why: str) -> None:
        """It goes to that node now, in its place among those that came before and after."""
        entry.why = why
        if hop == entry.hop:
            return
        self._take_out(entry)
        entry.hop = hop
        line = self._line(entry)
        line.is_mixed |= bool(line.waiting) and next(reversed(line.waiting)).serial > entry.serial
        line.waiting[entry] = None  # put in order when something leaves: often many are moved at once

    def depart(self, hop: str) -> Iterator[Entry]:
        """What may leave for that node now, in order; each counts as under way."""
        for line in list(self._lines.get(hop, {}).values()):
            while line.waiting and self._is_open(line):
                if line.is_mixed:
                    line.waiting = OrderedDict.fromkeys(sorted(line.waiting, key=lambda e: e.serial))
                    line.is_mixed = False
                entry, _ = line.waiting.popitem(last=False)
                line.flight[entry] = None
                line.flight_bytes += entry.size
                entry.was_sent = True
                yield entry

    def broken(self, hop: str) -> list[Entry]:
        """The connection to a node is gone: all that was under way goes again. Returns that."""
        again: list[Entry] = []
        for line in self._lines.get(hop, {}).values():
            again += line.flight
            line.waiting, line.is_mixed = OrderedDict.fromkeys(line.entries()), False
            line.flight, line.flight_bytes = {}, 0
        return sorted(again, key=lambda entry: entry.serial)

    def answered(self, stream: bytes, domain: str, first: int, last: int) -> list[tuple[Entry, int, int]]:
        """Which entries is an answer about, and which part of each (with what was answered before)?"""
        lane = self._lanes.get((stream, domain))
        before = takewhile(lambda e: e.envelope.first <= last, lane.values() if lane else ())
        return [
            (e, max(first, e.envelope.first), min(last, e.envelope.last))
            for e in before
            if e.envelope.last >= first
        ]

    def settle(self, entry: Entry, first: int, last: int) -> list[tuple[int, int]]:
        """These numbers have their last word; returns those that had none before."""
        before, kept, fresh = entry.messages, Ranges(), []
        for a, b in entry.open:
            if a < first:
                kept.add(a, min(b, first - 1))
            if b > last:
                kept.add(max(a, last + 1), b)
            if max(a, first) <= min(b, last):
                fresh.append((max(a, first), min(b, last)))
        entry.open = kept
        if not entry.is_done:
            self.messages -= before - entry.messages
        if not kept:
            self.remove(entry)
        return fresh

    def remove(self, entry: Entry) -> None:
        """It is somebody else's business now."""
        if entry.is_done:
            return
        entry.is_done = True
        lane = self._lanes[entry.key]
        del lane[entry.envelope.first]
        if not lane:
            del self._lanes[entry.key]
        self._take_out(entry)
        self.bytes -= entry.size
        self.messages -= entry.messages

    def is_under_way(self, entry: Entry) -> bool:
        """Was it sent, on a connection that stands?"""
        line = self.line_of(entry)
        return line is not None and entry in line.flight

    def line_of(self, entry: Entry) -> Line | None:
        """Where it stands, unless it is done."""
        return self._lines.get(entry.hop, {}).get(entry.line)

    def lines(self, hop: str) -> list[Line]:
        """What goes to that node."""
        return list(self._lines.get(hop, {}).values())

    def hops(self) -> list[str]:
        """Nodes to which something goes, or for which it waits."""
        return list(self._lines)

    def _line(self, entry: Entry) -> Line:
        return self._lines.setdefault(entry.hop, {}).setdefault(entry.line, Line())

    def _is_open(self, line: Line) -> bool:
        return line.flight_bytes < self._window[0] and len(line.flight) < self._window[1]

    def _take_out(self, entry: Entry) -> None:
        line = self._line(entry)
        if entry in line.flight:
            del line.flight[entry]
            line.flight_bytes -= entry.size
        line.waiting.pop(entry, None)
        if not line.flight and not line.waiting:
            del self._lines[entry.hop][entry.line]
            if not self._lines[entry.hop]:
                del self._lines[entry.hop]
