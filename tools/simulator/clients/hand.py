"""A client that manages queues and durable subscriptions, and also sends what a real client would not."""

from __future__ import annotations

from functools import partial
from typing import Any

from mesh.names import PUTS, SUBS
from mesh.wire import commands as c
from tools.simulator.clients.committer import Committer
from tools.simulator.clients.kept import Call
from tools.simulator.clients.taker import AGAIN

AGAIN_AND_AGAIN = ("queue_declare", "queue_remove", "durable", "durable_remove")


class Hand(Committer):
    """A client of queues, with calls about queues and with faulty commands."""

    # --- what the real client would not send --------------------------------------------------------------

    def say_stale(self, name: str) -> None:
        """Ack deliveries of the epoch before this one."""
        it = self.takers.get(name)
        if it is not None and it.taking._epoch > 1 and self.is_up:
            self.core.context.now = self.net.now
            self.history.met("an ack of another epoch")
            self.say(c.Settle(it.taking.number, it.taking._epoch - 1, (1, 2)))

    def claim(self, queue: str, other: bytes) -> None:
        """Claim messages that another producer put and this client never received, then stop consuming."""
        number, address = self.core.subscriptions.next_number(), PUTS + queue
        held = ((other, (1, 60)),)

        def begin(request: int) -> c.Consume:
            return c.Consume(request, number, address, 60, begun=0, held=held)

        with self.acting():
            pending = self.core.calls.send_command(
                begin, lambda: self._claimed(number, address, other, pending.parts)
            )
            pending.refused = lambda _: None

    def _claimed(self, number: int, address: str, other: bytes, parts: Any) -> None:
        said, void = parts[-1][0], set[int]()
        for first, last in zip(said["void"][::2], said["void"][1::2], strict=True):
            void.update(range(first, last + 1))
        self.history.met("something was claimed that nobody was given")
        kept = [f"{other.hex()} {address} {n}" for n in range(1, 61) if n not in void]
        self._opened(number, address, said["epoch"], kept)
        self.core.calls.send_command(lambda request: c.Consume(request, number, address, 0, begun=60))

    # --- asking -------------------------------------------------------------------------------------------

    def ask_queue(self, verb: str, **arguments: Any) -> None:
        """Call a verb of queues or durable subscriptions, such as `queue_declare`."""
        self.ask(lambda request: c.Call(request, verb, arguments))

    def ask_durable(self, name: str, pattern: str, domain: str) -> None:
        """Create a durable subscription.

        The later `durable` event means that all reachable nodes know the subscription.
        """
        query = "pattern" if any(letter in pattern for letter in "+#") else "exact", pattern, domain
        self.ask_queue("durable", name=name, queries=[query])

    def forget_node(self, name: str) -> None:
        self.ask(lambda request: c.Call(request, "peer", {"rm": name}))

    def concluded(self, call: Call, reply: c.Reply) -> None:
        super().concluded(call, reply)
        command = call.command
        if not isinstance(command, c.Call) or not command.verb.startswith(("queue_", "durable")):
            return
        if command.verb == "queue_move":
            self.history.met(f"moved by hand: {reply.code or 'OK'}")
        elif command.verb == "queue_drain":
            self.history.met(f"drain, {command.arguments['do']}: {reply.code or 'OK'}")
        if command.verb == "durable" and not reply.code:
            ((_, pattern, domain),) = command.arguments["queries"]
            queue = PUTS + SUBS + command.arguments["name"]
            self.event("durable", domain=queue, keys=(pattern,), text=domain)
        if reply.code and command.verb in AGAIN_AND_AGAIN and reply.code not in ("NO_QUEUE", "QUEUE_IN_USE"):
            again = partial(self.ask_queue, command.verb, **command.arguments)
            self.net.after(AGAIN, lambda: None if self.is_closed else again())
        elif command.verb == "queue_info" and not reply.code:
            row: Any = reply.value
            figures = ("ready", "out", "delayed", "bytes", "consumers")
            text = " ".join(f"{name} {row[name]}" for name in figures)
            self.event("queue info", domain=PUTS + row["name"], text=text)
