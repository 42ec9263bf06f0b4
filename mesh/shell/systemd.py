"""The word of a service to systemd: it is ready, it ends, it lives (sd_notify). Without it nothing is said.

Datagrams over a socket of this machine, whose address systemd puts into the environment. None of them waits:
what cannot be said at once is lost, and nobody else suffers.
"""

import contextlib
import os
import socket
import time
from collections.abc import Mapping

READY, STOPPING, ALIVE = "READY=1", "STOPPING=1", "WATCHDOG=1"


class Notifier:
    """Says it to whoever started this process, if that wants to hear it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        self.interval = beat(environ, os.getpid()) if self._address else None

    def say(self, *words: str) -> None:
        """Those lines, as one word. It never waits, and never fails."""
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
        """The settings are read again; READY follows."""
        self.say("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def place(address: str) -> str:
    """The address as the system takes it: one that begins with @ is in no file system."""
    return f"\0{address[1:]}" if address.startswith("@") else address


def beat(environ: Mapping[str, str], pid: int) -> float | None:
    """The seconds between two signs of life: half of those after which it gives up. None: it wants none."""
    try:
        limit = int(environ.get("WATCHDOG_USEC", "0")) / 1e6
        is_meant = int(environ.get("WATCHDOG_PID", str(pid))) == pid
    except ValueError:
        return None
    return limit / 2 if is_meant and 0 < limit < 1e9 else None
