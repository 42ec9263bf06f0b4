"""A node that sends arbitrary numbers to other nodes in well-formed commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from random import Random
from typing import Any

import msgspec

from mesh.errors import RemoteError
from mesh.wire import commands as c
from mesh.wire.commands import decode, encode
from tools.simulator.world.forging import Forger
from tools.simulator.world.node import SimNode

TWISTED, INVENTED, WRONG = 0.3, 0.2, 0.4  # of a change, an addition, each number
GREETING = 0.1  # probability of a wrong greeting
KEPT = 100  # messages that it may repeat to another node
# These stay unchanged: wrong frames would only break the connection, and the node keeps its identity.
TRUE = ("frames", "sizes", "versions", "node", "session", "nonce", "proof", "signature", "text", "address")
STATES = {c.Rumour: ("alive", "suspect", "dead", "left"), c.Answer: ("OK", "FORWARD_WARNING", "EXPIRED")}
DATA = (c.Items, c.Ack, c.Interest, c.Interested, c.Forward, c.Outcomes)  # commands on data connections
ALONE = (c.Bye, c.Refuse, c.Who, c.Challenge)  # commands that stay true


class Liar:
    """Replaces the output of `node`, whose core is honest.

    `streams` returns the streams of real clients, for forged messages.
    """

    def __init__(
        self, node: SimNode, dice: Random, streams: Callable[[], Collection[bytes]], forger: Forger
    ) -> None:
        self._node, self._dice, self._streams, self._forger = node, dice, streams, forger
        self._said: deque[list[bytes]] = deque(maxlen=KEPT)

    def said(self, frames: list[bytes]) -> list[list[bytes]]:
        """Return the messages that the node sends instead of `frames`."""
        command = decode(frames[0])
        if isinstance(command, c.Hello | c.Welcome | c.Challenge | c.Refuse):
            return [self._twisted(frames) if self._dice.random() < GREETING else frames]
        self._said.append(frames)
        found = [self._twisted(frames) if self._dice.random() < TWISTED else frames]
        if self._dice.random() < INVENTED:
            found.append(self._twisted(self._dice.choice(self._said)))
        if self._dice.random() < INVENTED:
            found.append([encode(self._invented())])
        if isinstance(command, DATA) and self._dice.random() < INVENTED:
            found.append(self._forger.said(sorted(self._streams()), self._number()))
        return found

    def _twisted(self, frames: list[bytes]) -> list[bytes]:
        command = decode(frames[0])
        if isinstance(command, ALONE):
            return frames
        first = encode(self._wrong(command))
        try:
            decode(first)
        except RemoteError:
            return frames  # the peer would only close the connection
        return [first, *frames[1:]]

    def _wrong(self, value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            states = STATES.get(type(value), ())
            fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in TRUE}
            wrong = {name: self._wrong(one) for name, one in fields.items()}
            if states and self._dice.random() < WRONG:
                wrong["state"] = self._dice.choice(states)
            return msgspec.structs.replace(value, **wrong)
        if isinstance(value, tuple | list):
            return type(value)(map(self._wrong, value))
        if isinstance(value, dict):
            return {name: self._wrong(one) for name, one in value.items()}
        if self._dice.random() >= WRONG or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return self._number(value)
        return self._dice.choice(self._uuids()) if value in self._uuids() else value

    def _number(self, near: int = 0) -> int:
        """Return a number that fits its field, often a plausible one."""
        dice = self._dice
        return dice.choice(
            [
                0,
                1,
                max(0, near - 1),
                near + 1,
                near + dice.randint(2, 2000),
                near + (1 << 40),
                dice.randint(1, 9) << 40,
                dice.getrandbits(20),
                2**32 - 1,
                2**62,
                2**63 - 1,
            ]
        )

    def _uuids(self) -> list[bytes]:
        return [node.uuid for node in self._node.net.nodes.values()]

    def _places(self) -> tuple[tuple[bytes, int], ...]:
        return tuple((uuid, self._number()) for uuid in self._uuids())

    def _invented(self) -> c.Command:
        """Return a command that the node has no reason to send."""
        n, dice = self._number, self._dice
        me = self._node.core.parts.context.me
        others = [p.node for p in self._node.core.parts.neighbours.peers.values()] or [me]
        node = dice.choice(others)
        streams = sorted(self._streams()) or [bytes(16)]
        said = tuple(
            c.Answer("", first, first + dice.randint(0, 9), dice.choice(STATES[c.Answer]))
            for first in range(1, dice.randint(2, 200), 10)
        )
        rumours = (c.Rumour(node, n(), dice.choice(STATES[c.Rumour]), me.uuid),)
        later = msgspec.structs.replace(node, boot=node.boot + dice.choice([0, 1, 3, 1 << 19]))
        possible: tuple[Callable[[], c.Command], ...] = (
            lambda: c.Ack(n(), ((0, n()),), self._places()),
            lambda: c.Interest(n(), False, positions=self._places()),
            lambda: c.Interested(n()),
            lambda: c.Items(n(), ()),
            lambda: c.Outcomes(tuple(c.Outcome(dice.choice(streams), answer) for answer in said)),
            lambda: c.Rumours(rumours),
            lambda: c.Rumours((c.Rumour(later, n(), dice.choice(STATES[c.Rumour]), me.uuid),)),
            lambda: c.Peers((later,)),
            lambda: c.Census(tuple(self._uuids())),
            lambda: c.Ways(names=(node.name,)),
            lambda: c.Login(),
            lambda: c.Hear(dice.random() < 0.5),
            lambda: c.Probe(n(), node.uuid, n()),
            lambda: c.ProbeFor(n(), node),
            lambda: c.Probed(n(), dice.random() < 0.5, rumours),
            lambda: c.PieceAck(n()),
            lambda: c.Reply(dice.randint(1, 50), {"hops": n(), "erased": True, "away": [], "more": n() % 2}),
            lambda: c.Call(
                n() >> 1,
                dice.choice(["get", "where", "weights", "state"]),
                {"kind": "exact", "text": "a", "node": node.name, "within": float(n()) - 5.0},
            ),
        )
        return dice.choice(possible)()
