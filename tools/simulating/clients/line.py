"""How does a client come to its node, stay there, and come back? Hellos, pings, and connections anew."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mesh.links.backoff import delay
from mesh.names import SessionName
from mesh.proof import prove, same, stream_text
from mesh.security.streamkey import STREAM_SEED, StreamKey
from mesh.streams.link import LinkReceiver
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from mesh.wire.limits import VERSION_MAX, VERSION_MIN
from tools.simulating.world.network import SECRET, End, Network, Pipe

PING, SILENCE, HANDSHAKE, REDIAL = 2.0, 6.0, 5.0, 2.0


class Line:
    """The connection to a node, made anew until it is closed. `end` hears what comes by it."""

    def __init__(
        self,
        net: Network[Any],
        end: End,
        address: str,
        name: str,
        session: int = 0,
        secret: bytes = SECRET,
        is_named: bool = True,
    ) -> None:
        self.net, self.address = net, address
        self.rng = net.chance(name)
        self.key = StreamKey(2 * self.rng.randbytes(STREAM_SEED // 2))
        self.is_up = self.is_closed = False
        self.session_name = ""
        self.boot = 0  # of its node
        self.have = LinkReceiver()  # items of this session
        self.pipe: Pipe | None = None
        self._end, self._secret, self._is_named = end, secret, is_named
        self._hello = (name, session)
        self._token = b""
        self._nonces = (b"", b"")
        self._key = self._attempt = 0
        self._heard = 0.0

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        if self.is_up:
            self._put(write(command, envelopes))

    def _put(self, frames: list[bytes]) -> None:
        if self.pipe is not None and self.pipe.is_open:
            self.pipe.send(0, frames)

    def dial(self) -> None:
        if self.is_closed:
            return
        self._key += 1
        self._heard = self.net.now
        self._nonces = (self.rng.randbytes(16), b"")
        self.pipe = self.net.connect(self._end, self._key, self.address)
        self._put(write(self._greeting()))
        self._watch(self._key)

    def _greeting(self, proof: bytes = b"", signature: bytes = b"") -> c.Hello:
        client, session = self._hello
        return c.Hello(
            (VERSION_MIN, VERSION_MAX), c.CLIENT, "", self._nonces[0], proof, client=client, session=session,
            stream=self.key.id, token=self._token, boot_seen=self.boot, have=self.have.have,
            key=self.key.public, signature=signature, named=self._is_named,
        )  # fmt: skip

    def challenged(self, command: c.Challenge) -> None:
        """Prove that it knows the secret, and whose stream it is."""
        self._nonces = (self._nonces[0], command.nonce)
        proof = prove(self._secret, "dialler", *self._nonces, self.address)
        text = stream_text(*self._nonces, self.address, command.uuid)
        self._put(write(self._greeting(proof, self.key.sign(text))))

    def entered(self, w: c.Welcome) -> bool:
        """It is up. Does the session begin anew?"""
        if self._nonces[1]:
            assert same(w.proof, prove(self._secret, "listener", *self._nonces, self.address))
        is_new = w.node.boot != self.boot or w.next <= self.have.have
        if is_new:
            self.have = LinkReceiver()
        self.session_name, self._token, self.boot = w.session, w.token, w.node.boot
        self._hello = (self._hello[0], SessionName.parse(w.session).session or 0)
        self.is_up, self._attempt = True, 0
        return is_new

    def hears(self, key: Hashable) -> bool:
        """Does this come by the connection that it has now?"""
        if key != self._key or self.is_closed:
            return False
        self._heard = self.net.now
        return True

    def _watch(self, key: int) -> None:
        self.net.after(PING if self.is_up else HANDSHAKE, lambda: self._time(key))

    def _time(self, key: int) -> None:
        if key != self._key or self.is_closed:
            return
        if self.net.now - self._heard > (SILENCE if self.is_up else HANDSHAKE - 0.1):
            self.lose()
            return
        self.say(c.Ping(1))
        self._watch(key)

    def gone(self, key: Hashable) -> None:
        if key == self._key:
            self.lose()

    def lose(self) -> None:
        """It is broken; dial again after a while."""
        if self.is_up:
            self._attempt = 0
        self.is_up = False
        self._key += 1  # nothing of the old one is listened to
        if self.pipe is not None:
            self.pipe.end(self._end)
        self._attempt += 1
        wait = delay(self._attempt, self.rng.random(), low=0.05, high=REDIAL)
        self.net.after(wait, self.dial)

    def move(self, address: str) -> None:
        """To another node, as a new session."""
        self.address, self._token = address, b""
        self._hello = (self._hello[0], 0)
        if self.is_up:
            self.lose()

    def close(self) -> None:
        """Without a word."""
        self.is_closed, self.is_up = True, False
        if self.pipe is not None:
            self.pipe.end(self._end)
