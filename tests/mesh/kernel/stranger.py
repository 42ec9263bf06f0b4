"""A connection on which a test sends anything, and what the node sends there."""

from collections.abc import Hashable
from typing import Any

from msgspec.structs import replace

from mesh.proof import stream_of
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from tests.simulation import SimNode

KEY = b"x" * 32  # public key of a client
STREAM = stream_of(KEY)


class Stranger:
    """A connection to a node's local socket, on which a test sends anything."""

    def __init__(self, node: SimNode) -> None:
        self.net = node.net
        self.name = "stranger"
        self.heard: list[c.Command] = []
        self.is_gone = False
        self._pipe = self.net.connect(self, 1, node.ipc)

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        self.put(write(command, envelopes))

    def put(self, frames: list[bytes]) -> None:
        """Send frames of any kind."""
        assert self._pipe is not None
        self._pipe.send(0, frames)
        self.net.run(0.1)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        self.heard.append(read(frames)[0])

    def on_closed(self, key: Hashable) -> None:
        self.is_gone = True

    @property
    def refusal(self) -> str:
        """The code of the last REFUSE, or an empty text without one."""
        codes = [command.code for command in self.heard if isinstance(command, c.Refuse)]
        return codes[-1] if codes else ""

    def as_client(
        self, key: bytes = KEY, name: str = "stranger", session: int = 0, token: bytes = b"", **more: Any
    ) -> None:
        """Send HELLO as the owner of this public key, whose hash is the stream."""
        hello = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client=name, session=session, token=token, key=key)
        self.say(replace(hello, **{"stream": stream_of(key), **more}))

    def as_node(self, role: str = c.NODE_DATA, name: str = "stranger", boot: int = 1, **more: Any) -> None:
        node = c.Introduction(b"S" * 16, name, boot, "")
        self.say(replace(c.Hello((1, 1), role, "default", b"n" * 16, node=node), **more))
