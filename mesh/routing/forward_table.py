"""Published entries without a final answer: in flight toward their master, or waiting to be sent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from mesh.routing.forward_stages import DONE, SENT, SENT_AGAIN, UNSENT, Keeping
from mesh.routing.hop_queue import HopQueue
from mesh.routing.origin import Origin
from mesh.routing.pending_forward import HERE, PendingForward
from mesh.streams.ranges import Ranges
from mesh.wire.envelope import Envelope

# Law 1: an entry stays until each of its numbers has a final answer from each node that it is sent to.
# Law 2: entries to one node leave in order of arrival, and again in that order after a reconnect. A
# publisher's messages therefore arrive in its order, apart from repetitions.
# Law 3: at most a window of unanswered entries of each queue is in flight. The rest waits here.
# Law 4: later entries may pass a deferred entry, which waits again after `requeue`.
# Law 5: an entry to several masters is in several queues, each at its own pace, and stored once.
# Law 6: an entry has a serial for each of its numbers, so its parts keep its place in order of arrival.

KEPT, PASSING, COMMITTING = Keeping.KEPT, Keeping.PASSING, Keeping.COMMITTING
FORMER = 16  # former next hops of an entry that are remembered


class ForwardTable:
    """The entries without a final answer, by stream and by next hop. The window of each queue is limited."""

    def __init__(self, window_bytes: int, window_count: int) -> None:
        self._window = (window_bytes, window_count)
        self._entries: dict[int, PendingForward] = {}  # by serial
        self._lanes: dict[tuple[bytes, str], OrderedDict[int, PendingForward]] = {}
        self._lines: dict[str, dict[tuple[str, str], HopQueue]] = {}  # by next hop, then track
        self._serial = 0
        self.bytes = 0
        self.messages = 0

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> list[PendingForward]:
        """Return all entries in order of arrival."""
        return sorted(self._entries.values(), key=lambda entry: entry.serial)

    def entry(self, serial: int) -> PendingForward | None:
        """Return the entry with this serial number, or None after its final answer."""
        return self._entries.get(serial)

    def split_known(self, envelope: Envelope) -> tuple[list[PendingForward], list[tuple[int, int]]]:
        """Return the entries with numbers of the envelope, and its ranges that no entry contains."""
        lane = self._lanes.get((envelope.stream, envelope.domain))
        if not lane or lane[next(reversed(lane))].envelope.last < envelope.first:
            return [], [(envelope.first, envelope.last)]
        first, last = envelope.first, envelope.last
        found = [e for e in lane.values() if e.envelope.first <= last and e.envelope.last >= first]
        held = Ranges()
        for entry in found:
            held.add(entry.envelope.first, entry.envelope.last)
        return found, held.missing(envelope.first, envelope.last)

    def lowest(self, key: tuple[bytes, str]) -> int:
        """Return the lowest first number of the stream and domain, which must have entries."""
        return next(iter(self._lanes[key]))

    def lane(self, key: tuple[bytes, str]) -> list[PendingForward]:
        """Return the entries of one stream and domain, by number."""
        return list(self._lanes.get(key, {}).values())

    def before(self, e: Envelope) -> Iterator[PendingForward]:
        """Iterate over the entries of the envelope's stream with lower numbers, lowest first."""
        lane = self._lanes.get((e.stream, e.domain), OrderedDict())
        return takewhile(lambda entry: entry.envelope.first < e.first, lane.values())

    def sent_after(self, e: Envelope) -> int:
        """Return the timestamp of the stream's next higher number that has an entry, or 0."""
        lane = self._lanes.get((e.stream, e.domain))
        if not lane or next(reversed(lane)) <= e.last:
            return 0
        return next(entry.envelope.sent for first, entry in lane.items() if first > e.last)

    def holds(self, stream: bytes, domain: str) -> bool:
        return (stream, domain) in self._lanes

    def add(self, envelope: Envelope, origin: Origin, now: float) -> PendingForward:
        """Add and return an entry that has no next hop yet."""
        keeping = KEPT if origin.is_local else PASSING
        entry = PendingForward(envelope, origin, now, self._serial + 1, keeping)
        self._serial += envelope.last - envelope.first + 1
        self._insert(entry, "")
        return entry

    def split(self, entry: PendingForward, parts: Iterable[Envelope]) -> list[PendingForward]:
        """Replace an undivided entry by one for each of `parts`, which contain its open numbers.

        The new entries are not in flight.
        """
        assert not entry.was_divided
        (hop,), transit = entry.hops, entry.transit
        self.remove_entry(entry)
        entries = [
            replace(
                entry, envelope=part, serial=entry.serial + part.first - entry.envelope.first,
                transit=transit, lacking={}, said=[], told=[], ruling=None, course=None,
            )
            for part in parts
        ]  # fmt: skip
        for each in entries:
            self._insert(each, hop)
        return entries

    def _insert(self, entry: PendingForward, hop: str) -> None:
        envelope = entry.envelope
        self._entries[entry.serial] = entry
        lane = self._lanes.setdefault(entry.key, OrderedDict())
        is_late = bool(lane) and next(reversed(lane)) > envelope.first
        lane[envelope.first] = entry
        if is_late:  # resent, before later messages
            self._lanes[entry.key] = OrderedDict(sorted(lane.items()))
        self.bytes += entry.size
        self.messages += envelope.count
        entry.lacking[hop] = Ranges()
        entry.lacking[hop].add(envelope.first, envelope.last)
        self._put_in(entry, hop)

    def set_next_hops(
        self, entry: PendingForward, hops: Collection[str], why: str, is_asking: bool = False
    ) -> None:
        """Set the next hops of an entry, which keeps its place in order of arrival.

        The answers of a node that stays in `hops` are kept, those of other nodes are dropped. A new node owes
        a final answer on the numbers that are open.
        """
        entry.why, entry.is_asking = why, is_asking
        entry.was_divided |= len(hops) > 1
        if entry.lacking.keys() == set(hops):
            return
        open_numbers = entry.open
        for hop in entry.lacking.keys() - set(hops):
            self._take_out(entry, hop)
            del entry.lacking[hop]
            if hop and hop != HERE and hop not in entry.former:
                entry.former = (*entry.former, hop)[-FORMER:]
        entry.said = [(hop, answer) for hop, answer in entry.said if hop in entry.lacking]
        for hop in hops:
            if hop not in entry.lacking:
                entry.lacking[hop] = open_numbers.copy()
                if hop != HERE:
                    self._put_in(entry, hop)

    def _put_in(self, entry: PendingForward, hop: str) -> None:
        line = self._lines.setdefault(hop, {}).setdefault(entry.track, HopQueue())
        line.messages += entry.lacking[hop].count()
        line.bytes += entry.size
        line.insert(entry)

    def next_to_send(
        self,
        hop: str,
        may_leave: Callable[[PendingForward], bool] = lambda entry: True,
        is_aside: Callable[[PendingForward], bool] = lambda entry: False,
    ) -> Iterator[PendingForward]:
        """Yield the entries that may be sent to the node now, in order, and count each as in flight.

        A queue stops at the first entry that `may_leave` rejects, or whose transaction is not committed. An
        entry that `is_aside` selects is deferred, and later ones pass it.
        """
        for line in list(self._lines.get(hop, {}).values()):
            while self._is_open(line) and (entry := line.oldest()) is not None:
                if entry.keeping is COMMITTING or not may_leave(entry):
                    break
                line.drop(entry)
                if is_aside(entry):
                    line.aside[entry] = None
                    continue
                line.flight[entry] = None
                line.flight_bytes += entry.size
                if entry.transit is UNSENT:
                    entry.transit = SENT
                else:
                    assert entry.transit is not DONE
                    entry.transit = SENT_AGAIN
                yield entry

    def record_gateway(self, entry: PendingForward, hop: str, gateway: bytes) -> None:
        """Record by which gateway an entry in flight to another site has left."""
        self._lines[hop][entry.track].flight[entry] = gateway

    def gateways_of(self, stream: bytes, hop: str) -> Iterator[bytes]:
        """Yield the gateway of each entry of the stream that is in flight to the site `hop`."""
        for line in self._lines.get(hop, {}).values():
            yield from (way for entry, way in line.flight.items() if way and entry.envelope.stream == stream)

    def put_aside(self, entry: PendingForward, hop: str) -> None:
        """Defer an entry in flight that the node did not accept now."""
        line = self.line_of(entry, hop)
        if line is not None and entry in line.flight:
            line.remove_in_flight(entry)
            line.aside[entry] = None

    def requeue(self, hop: str, entries: Iterable[PendingForward]) -> None:
        """Requeue the deferred entries in `entries` for the node, in order of arrival."""
        for entry in entries:
            line = self.line_of(entry, hop)
            if line is not None and entry in line.aside:
                line.requeue(entry)

    def requeue_in_flight(self, hop: str) -> list[PendingForward]:
        """Requeue all entries in flight to the node, and return them in order of arrival."""
        again = [entry for line in self._lines.get(hop, {}).values() for entry in line.requeue_in_flight()]
        return sorted(again, key=lambda entry: entry.serial)

    def find_answered(
        self, stream: bytes, domain: str, first: int, last: int
    ) -> list[tuple[PendingForward, int, int]]:
        """Return the entries that an answer concerns, each with its part of the range."""
        lane = self._lanes.get((stream, domain))
        before = takewhile(lambda e: e.envelope.first <= last, lane.values() if lane else ())
        return [
            (e, max(first, e.envelope.first), min(last, e.envelope.last))
            for e in before
            if e.envelope.last >= first
        ]

    def settle(self, entry: PendingForward, hop: str, first: int, last: int) -> list[tuple[int, int]]:
        """Record the node's final answer on the numbers `first` to `last`.

        Return the ranges on which all nodes have now given their final answer. The entry is removed when no
        number is open any longer.
        """
        left = entry.lacking[hop]
        taken = left.remove(first, last)
        line = self.line_of(entry, hop)
        if line is not None and entry in line:
            line.messages -= sum(b - a + 1 for a, b in taken)
        if not left:
            self._take_out(entry, hop)
        others = entry.open if len(entry.lacking) > 1 else left
        final = [part for a, b in taken for part in others.missing(a, b)] if others else taken
        if entry.transit is not DONE:
            self.messages -= sum(b - a + 1 for a, b in final)
        if not others:
            self.remove_entry(entry)
        return final

    def remove_entry(self, entry: PendingForward) -> None:
        if entry.transit is DONE:
            return
        entry.transit = DONE
        del self._entries[entry.serial]
        lane = self._lanes[entry.key]
        del lane[entry.envelope.first]
        if not lane:
            del self._lanes[entry.key]
        if entry.ruling is not None:
            del entry.ruling.entries[entry.serial]
        for hop in entry.hops:
            self._take_out(entry, hop)
        self.bytes -= entry.size
        self.messages -= entry.messages

    def is_under_way(self, entry: PendingForward, hop: str) -> bool:
        """Return whether the entry was sent to the node on the current connection."""
        line = self.line_of(entry, hop)
        return line is not None and entry in line.flight

    def line_of(self, entry: PendingForward, hop: str) -> HopQueue | None:
        """Return the queue to the node for the entry's track, or None if there is none."""
        return self._lines.get(hop, {}).get(entry.track)

    def lines(self, hop: str) -> list[HopQueue]:
        return list(self._lines.get(hop, {}).values())

    def hops(self) -> list[str]:
        """Return the next hops of all entries; "" stands for entries without one."""
        return list(self._lines)

    def _is_open(self, line: HopQueue) -> bool:
        return line.flight_bytes < self._window[0] and len(line.flight) < self._window[1]

    def _take_out(self, entry: PendingForward, hop: str) -> None:
        line = self.line_of(entry, hop)
        if line is None or entry not in line:
            return
        size = entry.size
        line.messages -= entry.lacking[hop].count()
        line.bytes -= size
        if entry in line.flight:
            line.remove_in_flight(entry)
        else:
            line.drop(entry)
        if not (line.waiting or line.flight or line.aside or line.late):
            del self._lines[hop][entry.track]
            if not self._lines[hop]:
                del self._lines[hop]
