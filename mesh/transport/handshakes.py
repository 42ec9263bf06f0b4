"""Failed handshakes, inbound and outbound, from ZeroMQ's events."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable

import zmq

from mesh.errors import Refused
from mesh.transport.monitor import Monitor, event_of
from mesh.transport.options import Socket, ZmqContext
from mesh.transport.unfinished import STRANGER
from mesh.transport.watch import TrafficWatch

FAILED = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
WATCHED = zmq.EVENT_ACCEPTED | FAILED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
MISMATCH = zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
WHY: dict[int, str] = {
    MISMATCH: "the other side has no keys",
    zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC: "the other side has other keys",
}
JOIN = "Run `mesh token` on a node of that mesh, and `mesh join` here."
GAVE_UP = "the other side aborted the handshake: it has no keys, or different ones"
OTHER_PROTOCOL = "the other side does not speak the protocol of the mesh"
NO_KEYS, NO_KEYS_THERE, WRONG_KEYS = "NO_KEYS", "NO_KEYS_THERE", "WRONG_KEYS"
SOON = 0.05  # s
# Seconds: ZeroMQ does not identify attempts, so of two reports the one with an address is used.
MOMENT = 1.0


class Doorman:
    """Watches a bound socket.

    `stranger` gets a line about a failed handshake, except refusals that the ZAP handler reports itself, and
    mere port checks. `accepted` and `gone` get the descriptor of each connection that begins or ends, and
    `left` is called a moment later, once for many that ended. `watch` checks all inbound connections.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: ZmqContext,
        watched: Socket,
        stranger: Callable[[str], None],
        left: Callable[[], None],
        accepted: Callable[[int], None],
        gone: Callable[[int], None],
        watch: TrafficWatch,
        role: str = STRANGER,
    ) -> None:
        self._loop = loop
        self._watch, self._role = watch, role
        self._accepted, self._gone = accepted, gone
        self._stranger = stranger
        self._left = left
        self._watched = watched
        self._new: set[int] = set()  # descriptors without a successful handshake yet
        self._failed: list[str] = []  # reasons until the descriptor follows; "": not reported
        self._addressed = float("-inf")  # time of the last line with an address
        self._unaddressed: set[str] = set()  # reasons that wait for such a line
        self._planned = False
        watch.reserve_descriptor()
        self._monitor = Monitor(loop, context, watched, WATCHED, self._note)

    def close(self) -> None:
        """Close the monitor. The watched socket must still be open."""
        self._monitor.close()

    def catch_up(self) -> None:
        self._monitor.catch_up()

    def _note(self, event: int, value: int) -> None:
        if event == zmq.EVENT_ACCEPTED:
            self._watch.add_connection(value, self._endpoint, self._role)
            self._new.add(value)
            self._accepted(value)
        elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self._new.clear()  # which one is unknown, so none is blamed
        elif event & FAILED:
            self._failed.append(_reason(event, value))
        elif event == zmq.EVENT_DISCONNECTED:
            self._on_ended(value)

    @property
    def _endpoint(self) -> str:
        return self._watched.getsockopt_string(zmq.LAST_ENDPOINT)

    def _on_ended(self, guest: int) -> None:
        address = self._watch.forget_connection(guest, self._endpoint)
        self._gone(guest)
        # For old or foreign protocols ZeroMQ reports no failure, only the end.
        reasons = self._failed or [OTHER_PROTOCOL] * (guest in self._new)
        # ZeroMQ's single thread reports a failure and its end without events in between.
        self._failed = []
        self._new.discard(guest)
        for why in filter(None, reasons):
            self._report_stranger(address, why)
        if not self._planned:  # once for many that end together
            self._planned = True
            self._loop.call_later(SOON, self._say_left)

    def _say_left(self) -> None:
        self._planned = False
        if not self._monitor.is_closed:
            self._left()

    def _report_stranger(self, address: str, why: str) -> None:
        if address:
            self._addressed = self._loop.time()
            self._stranger(f"a connection from {address} was refused: {why}")
        elif why not in self._unaddressed:
            self._unaddressed.add(why)
            self._loop.call_later(MOMENT, self._tell_unaddressed, why)

    def _tell_unaddressed(self, why: str) -> None:
        self._unaddressed.discard(why)
        # The same attempt may have been reported shortly before or after.
        if not self._monitor.is_closed and self._loop.time() - self._addressed > 2 * MOMENT:
            self._stranger(f"a connection was refused: {why}")


def _reason(event: int, value: int) -> str:
    if event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
        return WHY.get(value, OTHER_PROTOCOL)
    # A reset connection was only a port check, and the ZAP handler reports its own refusals.
    return GAVE_UP if event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL and value == errno.EPIPE else ""


def failure(events: list[list[bytes]], is_keyed: bool) -> Refused | None:
    """Return the reason why an outbound connection ended during ZeroMQ's handshake, or None."""
    for frames in events:
        event, value = event_of(frames)
        if event & FAILED:
            return _failure(event, value, frames[1].decode("utf-8", "replace"), is_keyed)
    return None


def _failure(event: int, value: int, address: str, is_keyed: bool) -> Refused | None:
    if event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and value == MISMATCH:
        if is_keyed:
            text = f"{address} was dialed with the keys of a mesh, but the node there runs without keys."
            hint = "The user of that node may have to run `mesh join`, and to restart the node."
            return Refused(text, hint=hint, code=NO_KEYS_THERE)
        text = f"{address} belongs to a mesh with keys, but was dialed without keys."
        return Refused(text, hint=JOIN, code=NO_KEYS)
    if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
        return Refused(f"{address} rejected the key with which it was dialed.", hint=JOIN, code=WRONG_KEYS)
    if is_keyed and value == errno.EPIPE:  # not a timeout: closed during the handshake
        # ZeroMQ closes the connection without a reason if a key is wrong, or if the ZAP handler defers it.
        why = "its mesh has other keys or none, it accepts no new connections now, or it was shutting down"
        text = f"{address} ended the handshake: {why}."
        return Refused(text, hint=f"`mesh events` of that node shows the cause. {JOIN}", code=WRONG_KEYS)
    return None
