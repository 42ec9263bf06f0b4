"""Notifies systemd of readiness, end and liveness (sd_notify).

Outside systemd, nothing is sent. Datagrams go to a local socket whose address is in the environment. Sending
never blocks: a datagram that cannot be sent immediately is dropped.
"""

import contextlib
import os
import socket
import time
from collections.abc import Mapping

READY, STOPPING, ALIVE = "READY=1", "STOPPING=1", "WATCHDOG=1"


class Notifier:
    """Sends notifications to the service manager of this process, if there is one."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        self.interval = beat(environ, os.getpid()) if self._address else None

    def send_lines(self, *words: str) -> None:
        """Send the lines in one notification, which never blocks or fails."""
        if not self._address:
            return
        word = "\n".join(words).encode("utf-8", "backslashreplace")
        with (
            contextlib.suppress(OSError, ValueError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out,
        ):
            out.setblocking(False)
            out.sendto(word, place(self._address))

    def reloading(self) -> None:
        """Announce a reload.

        The caller sends READY when the reload is complete.
        """
        self.send_lines("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def place(address: str) -> str:
    """Return the address for the socket call: @ marks the abstract namespace."""
    return f"\0{address[1:]}" if address.startswith("@") else address


def beat(environ: Mapping[str, str], pid: int) -> float | None:
    """Return the seconds between two watchdog notifications: half of the limit that systemd has set.

    Return `None` without a limit for the process `pid`.
    """
    try:
        limit = int(environ.get("WATCHDOG_USEC", "0")) / 1e6
        is_meant = int(environ.get("WATCHDOG_PID", str(pid))) == pid
    except ValueError:
        return None
    return limit / 2 if is_meant and 0 < limit < 1e9 else None
