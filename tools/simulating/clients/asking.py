"""What has a client asked, and what was it told?"""

from __future__ import annotations

from collections.abc import Callable

from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tools.simulating.clients.kept import Call
from tools.simulating.clients.line import Line


class Asking:
    """The open questions of one client in `calls`, by the numbers of their requests."""

    def __init__(self, line: Line) -> None:
        self.calls: dict[int, Call] = {}
        self.requests = 0  # so far
        self._line = line

    def ask(self, make: Callable[[int], c.Command]) -> Call:
        self.requests += 1
        call = self.calls[self.requests] = Call(make(self.requests))
        self._line.say(call.command)
        return call

    def again(self) -> None:
        """On a new connection."""
        for call in self.calls.values():
            call.found.clear()
            self._line.say(call.command)

    def replied(self, reply: c.Reply, envelopes: list[Envelope]) -> Call | None:
        """The question, if that was all of its reply."""
        call = self.calls.get(reply.request)
        if call is None:
            return None
        call.found += envelopes
        if isinstance(reply.value, dict) and reply.value.get("more"):
            return None
        call.reply = reply
        return self.calls.pop(reply.request)
