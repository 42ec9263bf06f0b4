"""A client's connection to its node, which may come and go while the session stays."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Any

from mesh.client.access import Access
from mesh.errors import MeshError, NodeNotFound, Refused, RemoteError, SlowConsumer
from mesh.links.backoff import delay
from mesh.names import SessionName
from mesh.proof import stream_text
from mesh.security.streamkey import StreamKey
from mesh.streams.link import LinkReceiver
from mesh.transport import NO_KEYS, NO_KEYS_THERE, Sockets
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, read, write
from mesh.wire.limits import FRAME, FRAMES, PIECES, VERSION_MAX, VERSION_MIN
from mesh.wire.pieces import Cutter, Gatherer, is_short
from mesh.wire.spoken import UNKNOWN_IS_TOLD, Seldom, agreed, in_common

PING = 2.0  # s between signs of life
SILENCE = 6.0  # s after which a silent node counts as gone
PATIENCE = 5.0  # s for a handshake
STEADY = 10.0  # s after which a connection counts as good, and what came before it is forgotten
REDIAL_MAX = 2.0  # s: a client waits for its node, so it looks often
SPEAKS = (PIECES,)  # what a client understands beyond its version of the wire
OURS = frozenset((c.Welcome, c.Challenge, c.Refuse, c.Who, c.Bye))  # commands, of the connection itself


class Session:
    """Dials, says HELLO, and dials again. What to do with what arrives is the client's business."""

    def __init__(
        self,
        client: str,
        session: int,
        named: bool,
        stream: StreamKey,
        find: Callable[[], Access],
        welcomed: Callable[[c.Welcome, bool], None],
        owner: Callable[[], Any],
        received: Callable[[Any, c.AnyCommand, list[Envelope]], None],
        changed: Callable[[str, str], None],
        objected: Callable[[c.Refuse], None],
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.name = ""
        self.is_up = False
        self.inlet = LinkReceiver()
        self.max_content = 0
        self.version = VERSION_MIN  # of the wire, that the node speaks as well,
        self.speaks: frozenset[str] = frozenset()  # and the words that both say
        self._unknown = Seldom()
        self._hello = (client, session, stream)
        self._named = named
        self._token, self._boot = b"", 0
        self._find = find
        self._welcomed, self._received, self._changed = welcomed, received, changed
        self._owner = owner  # the client, or None: what it hears goes to it without another call between
        self._objected = objected  # hears that the node hung up over something that we said
        self._strikes = 0  # times it has, one soon after the other
        self._entered = 0.0
        self._sockets = Sockets(
            self.loop, lambda *_: None, self._frames, self._gone, lambda: None, failed=self._failed
        )
        self._key = 0  # number of the connection in use; 0 = none
        self._dials = 0
        self._access = Access("")
        self._why: MeshError | None = None  # what prevented the last dial or handshake
        self._waits = False
        self._nonces = (b"", b"")
        self._asked_by = b""  # uuid of the node that wants proof
        self._heard = 0.0
        self._attempt = 0
        self._timer: asyncio.TimerHandle | None = None
        self._cutter: Cutter | None = None
        self._gatherer = Gatherer(0)
        self.moved = float("-inf")  # when a part of a long message went, or came
        self._first: asyncio.Future[None] = self.loop.create_future()
        self._closed = False

    async def open(self, patience: float, waits: bool = False) -> None:
        """Until the node has said WELCOME; raises what prevents it, unless it `waits` for a node to come."""
        self._waits = waits
        self._dial()
        try:
            async with asyncio.timeout(patience):
                await asyncio.shield(self._first)
        except TimeoutError:
            if self._why is not None:
                raise self._why from None
            raise NodeNotFound(
                f"{self._access.address} did not answer within {patience:g} s.",
                hint="Is the node running? See `mesh ls`, or start one with `mesh up`.",
            ) from None

    def send(self, command: c.Command, envelopes: tuple[Envelope, ...] = ()) -> bool:
        """False while there is no connection: what matters is sent again after the next WELCOME."""
        if not self.is_up:
            return False
        frames, cutter = write(command, envelopes), self._cutter
        # As a rule it is short, and nothing is before it: that must be found at a glance.
        if cutter is None or (not cutter.is_busy and (not envelopes or is_short(frames))):
            self._sockets.send(self._key, frames)
        else:
            self._put(cutter.send(frames))
        return self.is_up

    def _put(self, messages: Iterable[list[bytes]]) -> None:
        for frames in messages:
            self._sockets.send(self._key, frames)

    def piece(self, piece: c.Piece) -> None:
        """A part of a message that is too long to come at once."""
        self.moved = self._heard
        frames = self._gatherer.take(piece)
        self.send(c.PieceAck(self._gatherer.taken))
        owner = self._owner()
        if frames is not None and owner is not None:
            self._received(owner, *read(frames))

    def piece_acked(self, ack: c.PieceAck) -> None:
        """The node has so much of what went in pieces."""
        self.moved = self._heard
        if self._cutter is not None:
            self._put(self._cutter.acked(ack.taken))

    def publish(self, envelope: Envelope) -> bool:
        return self.send(c.Publish((body_frames(envelope),)), (envelope,))

    @property
    def is_closed(self) -> bool:
        return self._closed

    def look(self) -> None:
        """Take what has arrived."""
        if self._key:
            self._sockets.look(self._key)

    def close(self) -> None:
        """Say goodbye and let go."""
        if self._closed:
            return
        # Also when the answer to our HELLO is still under way: else the node keeps the session for us.
        if not self.send(c.Bye("done")) and self._key:
            self._sockets.send(self._key, write(c.Bye("done")))
        self._closed = True
        self.is_up = False
        if self._timer is not None:
            self._timer.cancel()
        if not self._first.done():
            self._first.cancel()
        self._sockets.close()

    # --- dialling -------------------------------------------------------------------------------------

    def _dial(self) -> None:
        self._timer = None
        try:
            self._access = self._find()
        except MeshError as error:
            if self._waits and error.code == NodeNotFound.code:
                self._why = error
            elif not self._first.done():
                self._first.set_exception(error)
            self._again()
            return
        if isinstance(self._why, NodeNotFound):
            self._why = None  # it is there now
        self._dials += 1
        self._key = self._dials
        self._heard = self.loop.time()
        self._nonces = (random.randbytes(16), b"")
        self._sockets.dial(self._key, self._access.address, self._access.curve)
        self._sockets.send(self._key, write(self._greeting()))
        self._watch(PATIENCE)

    def _greeting(self, proof: bytes = b"", signature: bytes = b"") -> c.Hello:
        client, session, stream = self._hello
        return c.Hello(
            (VERSION_MIN, VERSION_MAX), c.CLIENT, "", self._nonces[0], proof, client=client, session=session,
            stream=stream.id, token=self._token, boot_seen=self._boot, have=self.inlet.have,
            passwd=self._access.passwd, key=stream.public, signature=signature, speaks=SPEAKS,
            named=self._named,
        )  # fmt: skip

    def _again(self) -> None:
        """Dial again after a while."""
        if not self._closed:
            self._attempt += 1
            wait = delay(max(self._attempt, self._strikes), random.random(), low=0.05, high=REDIAL_MAX)
            self._timer = self.loop.call_later(wait, self._dial)

    def _watch(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._time)

    def _time(self) -> None:
        """Nothing heard for long, or time for a ping."""
        limit = SILENCE if self.is_up else PATIENCE - 0.1
        if self.loop.time() - self._heard > limit:
            self._lose("silent")
            return
        self.send(c.Ping(int(self.loop.time() * 1e6)))
        self._watch(PING)

    def _gone(self, key: Any) -> None:
        if key == self._key and not self._closed:
            self._lose("disconnected")

    def _failed(self, key: Any, error: Refused) -> None:
        """No handshake of ZeroMQ: keys are missing or wrong, on this side or on that."""
        if key != self._key or self._closed:
            return
        self._why = error
        if not self._first.done() and error.code in (NO_KEYS, NO_KEYS_THERE):  # anything else may pass
            self._first.set_exception(error)
        self._changed("refused", f"{error.what} [{error.code}]")

    def _lose(self, why: str) -> None:
        was_up, self.is_up = self.is_up, False
        key, self._key = self._key, 0
        self._sockets.hang_up(key)
        if self._timer is not None:
            self._timer.cancel()
        if was_up:
            self._attempt = 0
            if self.loop.time() - self._entered > STEADY:
                self._strikes = 0
            self._changed("disconnected", why)
        self._again()

    # --- hearing ----------------------------------------------------------------------------------------

    def _frames(self, key: Any, frames: list[bytes]) -> None:
        if key != self._key or self._closed:
            return
        self._heard = self.loop.time()
        try:
            command, envelopes = read(frames)
            if type(command) in OURS:  # of a hundred commands perhaps one
                self._heed(command)
            elif self.is_up and (owner := self._owner()) is not None:
                self._received(owner, command, envelopes)
        except RemoteError as error:
            if not isinstance(error, c.UnknownCommand) or not self._is_unknown(error):
                self._lose(str(error))

    def _is_unknown(self, command: c.UnknownCommand) -> bool:
        """Is that what a later release may say? Then the node is told so, and nothing else comes of it."""
        if not self.is_up or self.version < UNKNOWN_IS_TOLD:
            return False
        if self._unknown.allows(self._heard):
            self.send(c.Unknown(command.tag, command.field))
        return True

    def _heed(self, command: c.AnyCommand) -> None:
        """Of this connection itself. RemoteError when it is not the time for it."""
        match command:
            case c.Welcome() if not self.is_up:
                self._enter(command)
            case c.Challenge() if not self.is_up:
                self._prove(command)
            case c.Refuse():
                self._refused(command)
            case c.Who() | c.Bye():
                self._lose("the node went away")
            case _:
                raise RemoteError(f"a node sent {type(command).__name__} to a client that is in")

    def _prove(self, challenge: c.Challenge) -> None:
        it = self._access
        if it.curve is None and challenge.endpoint != it.address:
            raise RemoteError(f"{it.address} says that it is {challenge.endpoint}: not who was dialled")
        self._nonces, self._asked_by = (self._nonces[0], challenge.nonce), challenge.uuid
        stream = self._hello[2]
        signature = stream.sign(stream_text(*self._nonces, it.where, challenge.uuid))
        self._sockets.send(self._key, write(self._greeting(it.proof(*self._nonces), signature)))

    def _enter(self, w: c.Welcome) -> None:
        is_other = bool(self._nonces[1]) and w.node.uuid != self._asked_by  # somebody passes words on
        if is_other or not self._access.is_proven(w.proof, *self._nonces):
            self._refused(c.Refuse(*self._access.impostor, final=True))
            return
        code, reason, hint = self._access.doubt(w.node, w.signature, *self._nonces)
        if code:
            self._refused(c.Refuse(code, reason, hint, final=True))
            return
        self.version = agreed(w.version, w.version)
        self.speaks = in_common(self.version, w.speaks, SPEAKS)
        if not self.version:
            text = f"{w.node.name} speaks wire version {w.version}, which this client does not know"
            self._refused(c.Refuse("VERSION", text, "Bring both to the same release.", final=True))
            return
        is_new = w.node.boot != self._boot or w.next <= self.inlet.have
        if is_new:
            self.inlet = LinkReceiver()
        self.name, self._token, self._boot = w.session, w.token, w.node.boot
        # A node that was killed may have forgotten the number that it gave: the token holds for this one.
        client, _, stream = self._hello
        self._hello = (client, SessionName.parse(w.session).session or 0, stream)
        self.max_content = w.max_content
        self._cutter = Cutter() if PIECES in self.speaks else None
        self._gatherer = Gatherer(FRAMES * FRAME)
        self.is_up = True
        self._attempt, self._entered = 0, self.loop.time()
        self._watch(PING)
        self._welcomed(w, is_new)
        if not self._first.done():
            self._first.set_result(None)

    def _refused(self, r: c.Refuse) -> None:
        hint = r.hint
        if not self._first.done() and r.final:
            self._first.set_exception(
                Refused(f"{self._access.address} refused: {r.reason}.", hint=hint, code=r.code)
            )
        self._changed("refused", f"{r.reason} [{r.code}]")
        if self.is_up and r.code != SlowConsumer.code:
            self._strikes += 1
            self._objected(r)
        self._lose(r.reason)
