"""Lifetime of a ZeroMQ context: until `terminate`, or until Python collects its owner.

Without this module, pyzmq would terminate a forgotten context when Python collects it. Termination waits
until the last socket is closed, but the sockets are collected after the context, so the process would hang.
"""

from __future__ import annotations

import _thread
import os
import weakref
from typing import Any

import zmq

from mesh.transport.options import Socket

_KEPT: list[OwnedContext] = []  # never collected, since that would wait
SPARE = 16  # minimum of closed sockets before a cleanup


class OwnedContext(zmq.Context[Socket]):
    """A context that holds its sockets, so that they can be closed when all else is forgotten."""

    # Declared here, or pyzmq would take it for an option of ZeroMQ.
    held: set[Socket] = set()  # noqa: RUF012
    most: int = SPARE

    def __init__(self) -> None:
        super().__init__()
        self.held = set()

    def socket(self, *args: Any, **options: Any) -> Socket:
        """Return a new socket. Raises: ZMQError, if there are too many."""
        made: Socket = super().socket(*args, **options)
        self.held.add(made)
        if len(self.held) > self.most:
            self.held = {socket for socket in self.held if not socket.closed}
            self.most = SPARE + 2 * len(self.held)
        return made


class Lifetime:
    """A context that lives as long as its `owner`."""

    def __init__(self, owner: object) -> None:
        self.context = OwnedContext()
        self._forgotten = weakref.finalize(owner, let_go, self.context, os.getpid())
        # The end of the process frees everything, and a thread may use the context until then.
        self._forgotten.atexit = False

    def terminate(self) -> None:
        """Wait until the last messages are sent, within their linger time. All sockets must be closed."""
        self.context.term()
        self._forgotten.detach()  # last: Ctrl-C may come during the wait


def let_go(context: OwnedContext, process: int) -> None:
    """Close all sockets of a context without waiting, and terminate the context in a thread of its own.

    Garbage collection may call this in any thread. In a process other than `process`, which created the
    context, nothing is closed.
    """
    if os.getpid() != process:  # forked: the threads are in the other process
        _KEPT.append(context)
        return
    left = [socket for socket in context.held if not socket.closed]
    for socket in left:
        if socket.type != zmq.PAIR:
            socket.disable_monitor()  # an event for a closed monitor stops ZeroMQ's thread
    for socket in left:
        socket.close(linger=0)
    try:
        # Not threading.Thread: it takes locks that this thread may hold.
        _thread.start_new_thread(context.term, ())
    except RuntimeError:
        _KEPT.append(context)  # the interpreter is ending
