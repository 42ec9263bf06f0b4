"""Applies the limits of `guard.py`: reads the kernel's figures of inbound connections, and closes some."""

from __future__ import annotations

import asyncio
import fcntl
import select
import socket
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from mesh.transport.guard import Allowance, Ending, Guard
from mesh.transport.guests import most_guests
from mesh.transport.unfinished import STRANGER
from mesh.transport.unread import CURVE_HEAD, FRAME_HEAD

TCP_INFO, RECEIVED = 11, 128  # Linux: option, and offset of `tcpi_bytes_received`
SOON, LATER = 0.01, 0.25  # s between checks: while bytes grow, and otherwise
RESET = struct.pack("ii", 1, 0)
SHARE = 100  # 1/SHARE of the time may query the kernel


class BorrowedSocket(socket.socket):
    """A socket of ZeroMQ, which is never closed here."""

    def __del__(self) -> None:
        self.detach()


class TrafficWatch:
    """Watches inbound connections.

    `take` reads waiting messages of all connections. `tell` gets a line for each connection that is closed
    for a reason. `heard` has the descriptors whose messages were read since the last check, `read` the bytes
    read of each connection since it began, and `emptied` the endpoints that had nothing left to read at
    some time since the last check.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        allowance: Allowance,
        take: Callable[[], None],
        tell: Callable[[str], None],
    ) -> None:
        self.heard: set[int] = set()
        self.read: dict[int, int] = {}
        self.emptied: set[str] = set()
        self._loop, self._take, self._tell = loop, take, tell
        room = min(allowance.connections, most_guests())
        self._guard = Guard(replace(allowance, connections=room))
        self._lines: dict[int, BorrowedSocket] = {}
        self._endpoints: dict[int, str] = {}  # where each was accepted
        self._growing: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._earliest = self._next_full = 0.0
        # Wakes the loop when bytes arrive. Without it, checks are made every LATER seconds.
        self._arrivals: select.epoll | None = None
        self._is_listening = False

    def close(self) -> None:
        for number in list(self._lines):
            self.forget_connection(number)
        if self._timer is not None:
            self._timer.cancel()
        if self._arrivals is not None:
            self._listen(False)
            self._arrivals.close()

    # --- arrival and departure ------------------------------------------------------------------------

    def reserve_descriptor(self) -> None:
        """Reserve the descriptor for epoll now, on Linux: a burst of connections may leave none."""
        if sys.platform == "linux" and self._arrivals is None:
            self._arrivals = select.epoll()

    def add_connection(self, number: int, endpoint: str, role: str = STRANGER) -> None:
        self.forget_connection(number)
        try:
            line = BorrowedSocket(fileno=number)  # no copy: there may be no descriptor
        except OSError:  # it has ended since
            return
        try:
            # The number may have been reused by now.
            is_ours = str(line.getsockname()[1]) == endpoint.rpartition(":")[2]
            peer = line.getpeername()
        except (OSError, IndexError):
            is_ours = False
        if not is_ours:
            line.detach()
            return
        self._lines[number], self._endpoints[number] = line, endpoint
        address = str(peer[0]).removeprefix("::ffff:")
        self._close_connections(self._guard.add_guest(number, peer, address, self._loop.time(), role))
        self._register(number)
        self._plan(max(self._earliest, self._loop.time() + SOON))

    def note_read(self, number: int, frames: list[bytes], is_keyed: bool) -> None:
        """Record a message that was read. The count is at least its bytes on the wire."""
        self.heard.add(number)
        head = FRAME_HEAD + CURVE_HEAD if is_keyed else FRAME_HEAD
        self.read[number] = self.read.get(number, 0) + sum(map(len, frames)) + head * len(frames)

    def mark_proven(self, number: int, role: str, user: str) -> None:
        self._close_connections(self._guard.proven(number, role, user))

    def unwanted(self, number: int) -> None:
        self._guard.unwanted(number, self._loop.time())

    def forget_connection(self, number: int, endpoint: str = "") -> str:
        """Forget an ended connection. Return its address, or "" if it was never seen.

        A connection of another endpoint is not forgotten: the descriptor may have been reused.
        """
        if endpoint and self._endpoints.get(number, endpoint) != endpoint:
            return ""
        line = self._lines.pop(number, None)
        if line is not None:
            line.detach()
        self._endpoints.pop(number, None)
        self._growing.discard(number)
        self.read.pop(number, None)
        return self._guard.forget_guest(number)

    # --- checks ---------------------------------------------------------------------------------------

    def _plan(self, due: float) -> None:
        if self._timer is not None:
            if self._due <= due:
                return
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._review)

    def _review(self) -> None:
        self._timer = None
        now = self._loop.time()
        is_full = now >= self._next_full
        numbers = list(self._lines) if is_full else [*(self._growing | self._arrived())]
        before = time.thread_time()  # CPU time: waiting for the processor is no work
        received = {number: self._received(number) for number in numbers}
        pause = SHARE * (time.thread_time() - before)
        endings, growing = self._guard.check_connections(
            received, self.heard, now, self.read, self._emptied(numbers)
        )
        if endings:  # after a delay of the loop, whole messages may wait
            self._take()
            endings, _ = self._guard.check_connections(
                received, self.heard, now, self.read, self._emptied(numbers)
            )
        self.emptied.clear()
        self.heard.difference_update(received)
        self._close_connections(endings)
        self._growing = growing
        if is_full:
            self._next_full = now + max(LATER, pause)
        self._earliest = now + min(max(SOON, pause), LATER)
        if growing:
            self._plan(self._earliest)
        elif self._lines:
            self._listen(True)
            self._plan(self._next_full)

    def _emptied(self, numbers: Iterable[int]) -> set[int]:
        return {number for number in numbers if self._endpoints.get(number) in self.emptied}

    def _received(self, number: int) -> int | None:
        """Return the bytes that ZeroMQ has read of a connection, or None if the system does not report them.

        Bytes in the kernel's buffer are not counted. They are queried second, so that bytes that arrive in
        between make the result too small and never too large.
        """
        if sys.platform != "linux":
            return None
        try:
            info = self._lines[number].getsockopt(socket.IPPROTO_TCP, TCP_INFO, RECEIVED + 8)
            waiting = fcntl.ioctl(number, termios.FIONREAD, bytes(4))
            return int(struct.unpack_from("=Q", info, RECEIVED)[0]) - int(struct.unpack("=i", waiting)[0])
        except (OSError, struct.error):  # gone, or a very old kernel
            return None

    # --- wakeup ---------------------------------------------------------------------------------------

    def _listen(self, wanted: bool) -> None:
        if self._arrivals is not None and wanted != self._is_listening:
            self._is_listening = wanted
            if wanted:
                self._loop.add_reader(self._arrivals.fileno(), self._wake)
            else:
                self._loop.remove_reader(self._arrivals.fileno())

    def _register(self, number: int) -> None:
        if self._arrivals is not None:
            with suppress(OSError):
                self._arrivals.register(number, select.EPOLLIN | select.EPOLLET)

    def _wake(self) -> None:
        # Not immediately: usually a whole message is arriving.
        self._listen(False)
        self._plan(max(self._earliest, self._loop.time() + SOON))

    def _arrived(self) -> set[int]:
        """Return the descriptors with bytes that arrived since the last call and are not read yet."""
        if self._arrivals is None:
            return set()
        return {number for number, _ in self._arrivals.poll(0) if number in self._lines}

    # --- closing --------------------------------------------------------------------------------------

    def _close_connections(self, endings: Iterable[Ending]) -> None:
        for ending in endings:
            self._guard.ending(ending.number)
            self._growing.discard(ending.number)
            line = self._lines.get(ending.number)
            with suppress(OSError):
                # The number may have been reused by now.
                if line is not None and line.getpeername() == ending.peer:
                    # A reset: otherwise a peer that cannot send, because nothing is read, would notice late.
                    if ending.why:
                        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    line.shutdown(socket.SHUT_RDWR)  # ZeroMQ then closes it
            if ending.why:
                self._tell(f"a connection from {ending.address} was closed: {ending.why}")
