"""What was sent on towards its master, or waits to be, until its last word? In order for each next node."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

# Law 1: an entry stays until every one of its numbers has a final answer, from each node that it goes to.
# Law 2: what goes to one node leaves in the order in which it came, and again in that order when the
#        connection breaks: so whatever a publisher sent arrives in its order, repeats aside.
# Law 3: of each line at most a window of unanswered entries is under way; the rest waits here.
# Law 4: to several masters it goes in several lines, each at its own pace; it is stored once.

HERE = "*"  # instead of a node's name: this one, as one of several masters. It stands in no line


@dataclass(slots=True, eq=False)
class Entry:
    """An envelope without its last word. `source`: the peer that brought it, b"" = a client of this node."""

    envelope: Envelope
    source: bytes
    arrived: float
    serial: int
    lacking: dict[str, Ranges] = field(default_factory=dict)  # next node -> numbers without its last word
    said: list[tuple[str, Answer]] = field(default_factory=list)  # last words, while others are lacking
    why: str = ""
    was_sent: bool = False  # so it may be there, answered or not
    warned: bool = False  # its publisher knows that it waits
    position: int = 0  # in the store
    is_storing: bool = False  # on its way there
    is_done: bool = False  # nobody here waits for anything any more
    was_divided: bool = False  # it went to several masters, so that OK of one is not the last word

    @property
    def hops(self) -> list[str]:
        """The other nodes it goes to, or waits for; "" = nobody knows."""
        return [hop for hop, numbers in self.lacking.items() if numbers and hop != HERE]

    @property
    def open(self) -> Ranges:
        """Numbers without their final answer."""
        if len(self.lacking) == 1:
            return next(iter(self.lacking.values()))
        together = Ranges()
        for numbers in self.lacking.values():
            for first, last in numbers:
                together.add(first, last)
        return together

    @property
    def key(self) -> tuple[bytes, str]:
        return self.envelope.stream, self.envelope.domain

    @property
    def track(self) -> tuple[str, str]:
        """Domain, and the node that it is addressed to: one master away holds up no other."""
        parts = self.envelope.to.split("/", 3)
        return self.envelope.domain, parts[2] if parts[0] == "" and len(parts) > 2 else ""

    def is_beside(self, other: Entry) -> bool:
        """Do both stand in one line?"""
        return self.track == other.track and not set(self.hops).isdisjoint(other.hops)

    @property
    def size(self) -> int:
        return len(self.envelope.body) + 64 * self.envelope.count

    @property
    def messages(self) -> int:
        return self.open.count()


@dataclass(slots=True)
class Line:
    """What goes to one node for one domain, or for one node behind it."""

    # Taken from the front, which a dict would look for ever longer.
    waiting: OrderedDict[Entry, None] = field(default_factory=OrderedDict)
    flight: dict[Entry, None] = field(default_factory=dict)
    flight_bytes: int = 0
    # Of all in it, so that nobody has to look at each of very many:
    messages: int = 0  # those without this node's last word,
    bytes: int = 0  # and the sizes of the entries
    progress: float = 0.0  # when it last answered something
    is_mixed: bool = False  # `waiting` has an older one behind a newer one

    def __contains__(self, entry: Entry) -> bool:
        return entry in self.waiting or entry in self.flight

    def entries(self) -> list[Entry]:
        """All of them, in the order of their arrival."""
        return sorted((*self.flight, *self.waiting), key=lambda entry: entry.serial)


class Onward:
    """Entries by stream, and by the node they go to. A window is bytes and envelopes."""

    def __init__(self, window_bytes: int, window_count: int) -> None:
        self._window = (window_bytes, window_count)
        self._entries: dict[int, Entry] = {}  # by serial
        self._lanes: dict[tuple[bytes, str], OrderedDict[int, Entry]] = {}
        self._lines: dict[str, dict[tuple[str, str], Line]] = {}  # by next node, and track
        self._serial = 0
        self.bytes = 0
        self.messages = 0

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> list[Entry]:
        """All of them, in the order of their arrival."""
        return list(self._entries.values())

    def entry(self, serial: int) -> Entry | None:
        """None: it has had its last word."""
        return self._entries.get(serial)

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
        self._entries[entry.serial] = entry
        lane = self._lanes.setdefault(entry.key, OrderedDict())
        is_late = bool(lane) and next(reversed(lane)) > envelope.first
        lane[envelope.first] = entry
        if is_late:  # sent again, in front of what came before
            self._lanes[entry.key] = OrderedDict(sorted(lane.items()))
        self.bytes += entry.size
        self.messages += envelope.count
        entry.lacking[""] = Ranges()
        entry.lacking[""].add(envelope.first, envelope.last)
        self._put_in(entry, "")
        return entry

    def assign(self, entry: Entry, hops: Collection[str], why: str) -> None:
        """It goes to these nodes now, in its place among those that came before and after. Whoever has had
        his last word keeps it, and a new one is asked for what is open."""
        entry.why = why
        entry.was_divided |= len(hops) > 1
        if entry.lacking.keys() == set(hops):
            return
        open_numbers = entry.open
        for hop in entry.lacking.keys() - set(hops):
            self._take_out(entry, hop)
            del entry.lacking[hop]
        entry.said = [(hop, answer) for hop, answer in entry.said if hop in entry.lacking]
        for hop in hops:
            if hop not in entry.lacking:
                entry.lacking[hop] = open_numbers.copy()
                if hop != HERE:
                    self._put_in(entry, hop)

    def _put_in(self, entry: Entry, hop: str) -> None:
        line = self._lines.setdefault(hop, {}).setdefault(entry.track, Line())
        line.is_mixed |= bool(line.waiting) and next(reversed(line.waiting)).serial > entry.serial
        line.messages += entry.lacking[hop].count()
        line.bytes += entry.size
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

    def settle(self, entry: Entry, hop: str, first: int, last: int) -> list[tuple[int, int]]:
        """That node has had its last word on these numbers; returns those of which it was the last of all."""
        left, taken = entry.lacking[hop].without(first, last)
        entry.lacking[hop] = left
        line = self.line_of(entry, hop)
        if line is not None and entry in line:
            line.messages -= sum(b - a + 1 for a, b in taken)
        if not left:
            self._take_out(entry, hop)
        others = entry.open if len(entry.lacking) > 1 else left
        final = [part for a, b in taken for part in others.missing(a, b)] if others else taken
        if not entry.is_done:
            self.messages -= sum(b - a + 1 for a, b in final)
        if not others:
            self.remove(entry)
        return final

    def remove(self, entry: Entry) -> None:
        """It is somebody else's business now."""
        if entry.is_done:
            return
        entry.is_done = True
        del self._entries[entry.serial]
        lane = self._lanes[entry.key]
        del lane[entry.envelope.first]
        if not lane:
            del self._lanes[entry.key]
        for hop in entry.hops:
            self._take_out(entry, hop)
        self.bytes -= entry.size
        self.messages -= entry.messages

    def is_under_way(self, entry: Entry, hop: str) -> bool:
        """Was it sent to that node, on a connection that stands?"""
        line = self.line_of(entry, hop)
        return line is not None and entry in line.flight

    def line_of(self, entry: Entry, hop: str) -> Line | None:
        """Where it stands, unless that node has had its last word."""
        return self._lines.get(hop, {}).get(entry.track)

    def lines(self, hop: str) -> list[Line]:
        """What goes to that node."""
        return list(self._lines.get(hop, {}).values())

    def hops(self) -> list[str]:
        """Nodes to which something goes, or for which it waits."""
        return list(self._lines)

    def _is_open(self, line: Line) -> bool:
        return line.flight_bytes < self._window[0] and len(line.flight) < self._window[1]

    def _take_out(self, entry: Entry, hop: str) -> None:
        line = self.line_of(entry, hop)
        if line is None or entry not in line:
            return
        line.messages -= entry.lacking[hop].count()
        line.bytes -= entry.size
        if entry in line.flight:
            del line.flight[entry]
            line.flight_bytes -= entry.size
        else:
            del line.waiting[entry]
        if not line.flight and not line.waiting:
            del self._lines[hop][entry.track]
            if not self._lines[hop]:
                del self._lines[hop]
