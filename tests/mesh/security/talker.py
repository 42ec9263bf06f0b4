"""A peer that holds keys, and sends what a test wants."""

import secrets
from typing import Any

from mesh.proof import curve_place, prove, stream_text
from mesh.security.keys import Keys
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from mesh.wire.frames import read, write
from tests.mesh.meshes import eventually
from tests.mesh.transport.ends import End


class Talker(End):
    """A connection with keys, on which a test sends any command."""

    def __init__(self, keys: Keys) -> None:
        super().__init__(keys)
        self.keys = keys
        self.nonce = secrets.token_bytes(16)
        self.stream = StreamKey(secrets.token_bytes(32))

    def say(self, command: c.Command) -> None:
        self.sockets.send(1, write(command))

    async def hear(self) -> Any:
        """Return the next command."""
        await eventually(lambda: self.received or self.gone)
        assert self.received, "the connection ended without a word"
        return read(self.received.pop(0)[1])[0]

    def hello(self, role: str = c.CLIENT, **more: Any) -> c.Hello:
        return c.Hello(
            (1, 1), role, "", self.nonce, client="eve", stream=self.stream.id, key=self.stream.public, **more
        )

    async def challenged(self, address: str, hello: c.Hello | None = None) -> c.Challenge:
        self.sockets.dial(1, address)
        self.say(hello or self.hello())
        challenge = await self.hear()
        assert isinstance(challenge, c.Challenge)
        return challenge

    @property
    def where(self) -> str:
        return curve_place(self.keys.mine.public, self.keys.server.public)

    def proof(self, secret: bytes, challenge: c.Challenge) -> bytes:
        return prove(secret, "dialler", self.nonce, challenge.nonce, self.where)

    def signature(self, challenge: c.Challenge) -> bytes:
        """Return the signature by the key of its stream."""
        return self.stream.sign(stream_text(self.nonce, challenge.nonce, self.where, challenge.uuid))
