"""How long does a ZeroMQ context live? Until `end`, or until nobody has its owner; then nobody waits.

Left alone, pyzmq terminates a forgotten context where Python happens to collect it. That waits until its last
socket is closed, and those are garbage as well, behind it in the same line: the process stood for ever.
"""

from __future__ import annotations

import _thread
import os
import weakref
from typing import Any

import zmq

from mesh.transport.options import Socket

_KEPT: list[OwnedContext] = []  # never to be collected, since that would wait
SPARE = 16  # closed sockets, at least, that may be remembered before they are looked for


class OwnedContext(zmq.Context[Socket]):
    """A context that holds its sockets, so that somebody can still close them when all else is forgotten."""

    # Named here, or pyzmq would take it for an option of ZeroMQ's.
    held: set[Socket] = set()  # noqa: RUF012
    most: int = SPARE

    def __init__(self) -> None:
        super().__init__()
        self.held = set()

    def socket(self, *args: Any, **options: Any) -> Socket:
        """A new socket of it; ZMQError when there are too many."""
        made: Socket = super().socket(*args, **options)
        self.held.add(made)
        if len(self.held) > self.most:
            self.held = {socket for socket in self.held if not socket.closed}
            self.most = SPARE + 2 * len(self.held)
        return made


class Lifetime:
    """A context for as long as its `owner` lives, and no longer."""

    def __init__(self, owner: object) -> None:
        self.context = OwnedContext()
        self._forgotten = weakref.finalize(owner, let_go, self.context, os.getpid())
        # With the process all of it ends anyway, and until then a thread may be using it.
        self._forgotten.atexit = False

    def end(self) -> None:
        """All of its sockets are closed: wait until the last words are out, no longer than they linger."""
        self.context.term()
        self._forgotten.detach()  # not before: Ctrl-C may come while we wait


def let_go(context: OwnedContext, process: int) -> None:
    """Close all and wait for nothing: this runs wherever Python collects garbage, in any thread."""
    if os.getpid() != process:  # forked off: ZeroMQ's threads belong to the other process
        _KEPT.append(context)
        return
    left = [socket for socket in context.held if not socket.closed]
    for socket in left:
        if socket.type != zmq.PAIR:
            socket.disable_monitor()  # first: an event for a closed monitor stops ZeroMQ's thread for ever
    for socket in left:
        socket.close(linger=0)
    try:
        # Not threading.Thread: it takes locks, which this thread may hold already.
        _thread.start_new_thread(context.term, ())
    except RuntimeError:
        _KEPT.append(context)  # the interpreter is ending
