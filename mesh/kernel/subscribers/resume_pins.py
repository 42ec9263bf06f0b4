"""The pins of this node's log for subscriptions that moved: in memory, at the log, and as rows."""

# Law 1: a pin ends when the client has acknowledged all of it, when it was not used for long, or when the
#        node of the session names all open subscriptions, and its own is not among them.
# Law 2: a first question that arrives again, late, neither makes its pin again nor keeps it from ending.

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec

from mesh.flow.bounded import Bounded
from mesh.kernel.context.component import Beginning
from mesh.kernel.context.disk import Disk
from mesh.kernel.subscribers.session import feed_key
from mesh.operations import Delete, Put
from mesh.wire.calls import ResumeRow
from mesh.wire.codec import pack, reader
from mesh.wire.commands import Certificate

ENDED = 10_000  # ended pins whose attach and pin numbers are known


class PinRow(msgspec.Struct, frozen=True, array_like=True):
    """The stored form of a pin."""

    certificate: Certificate
    first: int
    last: int


_read_row = reader(PinRow, 64 * 1024)


@dataclass(slots=True)
class Pin:
    """A pinned part of the log, for one subscription of a session at another node or here."""

    certificate: Certificate
    subscription: int
    first: int
    last: int
    used: float  # time of the last question
    number: int = 0  # of ResumeRow; 0: the pin was restored

    @property
    def key(self) -> bytes:
        """The key of its row in the table of feeds."""
        return b"r" + feed_key(self.certificate.stream, self.subscription)[1:]


class ResumePins:
    """The pins of one node, by stream and subscription."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._pins: dict[bytes, dict[int, Pin]] = {}
        self._ended = Bounded[tuple[bytes, int], tuple[int, int]](ENDED)  # by stream and subscription
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def start(self, beginning: Beginning, now: float) -> Iterator[Certificate]:
        """Restore the stored pins, and yield their certificates."""
        for key, row in beginning.rows("feed").items():
            if key[:1] == b"r":
                known = _read_row(row)
                self._keep(Pin(known.certificate, int.from_bytes(key[-4:]), known.first, known.last, now))
                yield known.certificate

    def find(self, stream: bytes, subscription: int) -> Pin | None:
        return self._pins.get(stream, {}).get(subscription)

    def has_ended(self, certificate: Certificate, row: ResumeRow) -> bool:
        """Return whether the pin of a first question has ended: the question arrived once more, late."""
        ended = self._ended.get((certificate.stream, row.subscription))
        return row.number > 0 and ended == (certificate.attach, row.number)

    def add_pin(self, pin: Pin) -> Put:
        """Add a pin, in place of an earlier one of the subscription, and return its row."""
        self._keep(pin)
        row = PinRow(pin.certificate, pin.first, pin.last)
        put = Put("feed", pin.key, pack(msgspec.to_builtins(row, builtin_types=(bytes,))))
        self._disk.shelf.supersede((put,))
        return put

    def _keep(self, pin: Pin) -> None:
        of_stream = self._pins.setdefault(pin.certificate.stream, {})
        self._count += pin.subscription not in of_stream
        of_stream[pin.subscription] = pin
        self._disk.shelf.pins.pin(pin.key, pin.first, pin.last)

    def settle(self, pin: Pin, done: int) -> None:
        """Release the pinned positions up to `done`."""
        pin.first = rest_of_pin(pin.first, pin.last, done)
        if pin.first > pin.last:
            self.end(pin.certificate.stream, pin.subscription)
        else:
            self._disk.shelf.pins.pin(pin.key, pin.first, pin.last)

    def end(self, stream: bytes, subscription: int) -> None:
        """End the pin of a subscription, if there is one."""
        of_stream = self._pins.get(stream, {})
        pin = of_stream.pop(subscription, None)
        if pin is None:
            return
        self._ended.keep((stream, subscription), (pin.certificate.attach, pin.number))
        self._count -= 1
        if not of_stream:
            del self._pins[stream]
        self._disk.shelf.pins.pin(pin.key, 1, 0)
        self._disk.later("feed", pin.key, Delete("feed", pin.key))

    def end_others(self, stream: bytes, attach: int, subscriptions: Collection[int]) -> None:
        """End the pins of a session that its visit `attach`, with these subscriptions, does not need."""
        for pin in list(self._pins.get(stream, {}).values()):
            if not is_needed(pin.certificate.attach, pin.subscription, attach, subscriptions):
                self.end(stream, pin.subscription)

    def end_unused(self, oldest: float) -> None:
        """End the pins that were used before the time `oldest` only."""
        unused = [pin for pins in self._pins.values() for pin in pins.values() if pin.used < oldest]
        for pin in unused:
            self.end(pin.certificate.stream, pin.subscription)


def rest_of_pin(first: int, last: int, done: int) -> int:
    """Return the first pinned position after those up to `done`; above `last`: nothing is left."""
    return max(first, min(done, last) + 1)


def is_its_question(pin: Pin, certificate: Certificate, row: ResumeRow) -> bool:
    """Return whether a later question is about a pin.

    A first question that arrived twice has moved the end of the pin. The last question still ends it.
    """
    is_release = row.done >= row.end and 0 < row.number == pin.number
    return pin.certificate == certificate and (pin.last == row.end or is_release)


def is_needed(pinned_at: int, subscription: int, attach: int, subscriptions: Collection[int]) -> bool:
    """Return whether a pin of the visit `pinned_at` stays: its subscription is open at the visit `attach`.

    A later visit may have further subscriptions.
    """
    return subscription in subscriptions or pinned_at > attach
