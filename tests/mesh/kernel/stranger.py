"""Somebody who says what he likes on a connection, and keeps what he hears."""

from collections.abc import Hashable
from typing import Any

from msgspec.structs import replace

from mesh.proof import stream_of
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from tests.simulation import SimNode

KEY = b"x" * 32  # public, of a client
STREAM = stream_of(KEY)


class Stranger:
    """Connected to a node's local socket."""

    def __init__(self, node: SimNode) -> None:
        self.net = node.net
        self.name = "stranger"
        self.heard: list[c.Command] = []
        self.is_gone = False
        self._pipe = self.net.connect(self, 1, node.ipc)

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        self.put(write(command, envelopes))

    def put(self, frames: list[bytes]) -> None:
        """Frames of any kind."""
        assert self._pipe is not None
        self._pipe.send(0, frames)
        self.net.run(0.1)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        self.heard.append(read(frames)[0])

    def on_closed(self, key: Hashable) -> None:
        self.is_gone = True

    @property
    def refusal(self) -> str:
        """Code of the last REFUSE; "" without any."""
        codes = [command.code for command in self.heard if isinstance(command, c.Refuse)]
        return codes[-1] if codes else ""

    def as_client(
        self, key: bytes = KEY, name: str = "stranger", session: int = 0, token: bytes = b"", **more: Any
    ) -> None:
        """The owner of this public key, as far as the hash of it tells."""
        hello = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client=name, session=session, token=token, key=key)
        self.say(replace(hello, **{"stream": stream_of(key), **more}))

    def as_node(self, role: str = c.NODE_DATA, name: str = "stranger", boot: int = 1, **more: Any) -> None:
        node = c.Introduction(b"S" * 16, name, boot, "")
        self.say(replace(c.Hello((1, 1), role, "default", b"n" * 16, node=node), **more))
