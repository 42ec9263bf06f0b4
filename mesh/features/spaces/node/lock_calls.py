"""The verbs of locks, which are passed on to the home of their space."""

# Law 1: a request, a renewal or a release counts only with the signature of its client. So no node ends or
#        extends the locks of a client, whether the client is there, has moved on, or never was there.
# Law 2: the home answers a request before the nodes on the way stop waiting.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mesh.errors import BadArgument, LocalError, MeshError, RemoteError
from mesh.features.spaces.lock_proof import ask_text, release_text, renew_text, since_of, ticket
from mesh.features.spaces.model.definition import LOCK, check_space, check_space_key
from mesh.features.spaces.model.locks import Answer, Claim, Lock, Request
from mesh.features.spaces.node.declaring import Declaring
from mesh.features.spaces.node.home_relay import HomeRelay
from mesh.features.spaces.node.lock_homes import LockHomes
from mesh.features.spaces.node.lock_rows import MAX_LEASE
from mesh.features.spaces.node.spaces import Spaces
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import page
from mesh.kernel.context.settings import CONFIRM
from mesh.proof import stream_of
from mesh.wire.calls import AskLock, AskLockRelease, AskLockRenew, AskLocks
from mesh.wire.properties import decode_properties
from mesh.wire.replies import LockAnswer, LockRow, LockRows, LocksRenewed, R, ReplyValue

LEAST_LEASE = 1.0  # s
HOLD = 1 / 3  # of a lease: longest time until the answer to a request that waits
OF_WITHIN = 0.8  # of the time that the asking node waits
SHOWN = 8  # names of waiting clients in a row


class LockCalls(Component):
    """Component with the verbs of locks."""

    def __init__(
        self, context: NodeContext, relay: HomeRelay, spaces: Spaces, declaring: Declaring, locks: LockHomes
    ) -> None:
        self._context = context
        self._relay = relay
        self._spaces = spaces
        self._when_defined = declaring.when_defined
        self._locks = locks

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskLock, self._on_ask, Right.WRITE),
            answer(AskLockRenew, self._on_renew, Right.WRITE),
            answer(AskLockRelease, self._on_release, Right.WRITE),
            answer(AskLocks, self._on_list),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskLock, self._on_ask),
            answer(AskLockRenew, self._on_renew),
            answer(AskLockRelease, self._on_release),
            answer(AskLocks, self._on_list),
        )

    # --- requests ---------------------------------------------------------------------------------------

    def _on_ask(self, asked: IncomingCall[AskLock]) -> None:
        ask = asked.ask
        check_space_key(ask.key)
        lease = ask.lease / 1000
        if not LEAST_LEASE <= lease <= MAX_LEASE:
            raise BadArgument(f"The lease of a lock is {LEAST_LEASE:g} s to {MAX_LEASE:g} s.")
        try:
            decode_properties(ask.props)
        except RemoteError as error:
            raise BadArgument(f"The properties of the value cannot be read: {error.what}.") from None
        hold = min(ask.hold / 1000, lease * HOLD)
        within = hold / OF_WITHIN * 4 / 3 + CONFIRM  # three quarters of it reach the home
        self._at_home(
            asked, ask.space, ask_text(ask), lambda: self._ask(asked, lease, hold), LockAnswer, within
        )

    def _ask(self, asked: IncomingCall[AskLock], lease: float, hold: float) -> None:
        ask, secret = asked.ask, self._context.settings.secret
        value = (ask.content, ask.props) if ask.is_election else None
        request = Request(stream_of(ask.writer), ask.number)
        since = since_of(secret, ask) or self._context.clock.stamp()
        claim = Claim(request, lease, ask.client, value, since)

        def then(found: Answer | MeshError) -> None:
            if isinstance(found, MeshError):
                asked.fail(LocalError(found.what, hint=found.hint, code=found.code))
                return
            since = claim.since
            asked.reply(
                LockAnswer(
                    code=found.code,
                    token=found.token,
                    waiting=found.waiting,
                    since=since,
                    ticket=ticket(secret, ask, since),
                )
            )

        self._locks.ask(
            ask.space, ask.key, claim, ask.count, ask.can_wait, min(hold, ask.within * OF_WITHIN), then
        )

    def _on_renew(self, asked: IncomingCall[AskLockRenew]) -> None:
        ask = asked.ask
        self._at_home(asked, ask.space, renew_text(ask), lambda: self._renew(asked), LocksRenewed)

    def _renew(self, asked: IncomingCall[AskLockRenew]) -> None:
        ask, now = asked.ask, self._context.clock.now
        locks, stream = self._locks.table(ask.space).locks, stream_of(ask.writer)
        found = [locks.renew(key, stream, token, ask.count, now) for key, token in ask.held]
        asked.reply(LocksRenewed(waiting=[-1 if each.code else each.waiting for each in found]))

    def _on_release(self, asked: IncomingCall[AskLockRelease]) -> None:
        ask = asked.ask
        self._at_home(asked, ask.space, release_text(ask), lambda: self._release(asked), ReplyValue)

    def _release(self, asked: IncomingCall[AskLockRelease]) -> None:
        ask = asked.ask

        def then(found: Answer | MeshError) -> None:
            if isinstance(found, MeshError):
                asked.fail(LocalError(found.what, hint=found.hint, code=found.code))
            else:
                asked.reply(ReplyValue())

        self._locks.release(ask.space, ask.key, Request(stream_of(ask.writer), ask.number), then)

    # --- lists ------------------------------------------------------------------------------------------

    def _on_list(self, asked: IncomingCall[AskLocks]) -> None:
        self._at_home(asked, asked.ask.space, b"", lambda: self._list(asked), LockRows)

    def _list(self, asked: IncomingCall[AskLocks]) -> None:
        ask, me = asked.ask, self._context.me.name
        held = dict(self._locks.held(ask.space))
        if ask.key:
            rows = [self._row(ask.key, held[ask.key])] if ask.key in held else []
            asked.reply(LockRows(locks=rows, home=me))
        else:
            found, after = page(held, lambda name: self._row(name, held[name]), ask)
            asked.reply(LockRows(locks=found, next=after, home=me))

    def _row(self, name: str, lock: Lock) -> LockRow:
        assert lock.owner is not None, "only held locks are listed"
        left = max(0.0, lock.ends - self._context.clock.now)
        return LockRow(
            key=name,
            client=lock.owner.client,
            stream=lock.owner.request.stream,
            token=lock.token,
            lease=round(lock.owner.lease * 1000),
            left=round(left * 1000),
            waiting=len(lock.waiting),
            next=[each.client for each in lock.waiting[:SHOWN]],
        )

    # --- the home ---------------------------------------------------------------------------------------

    def _at_home(
        self,
        asked: IncomingCall[Any],
        space: str,
        text: bytes,
        work: Callable[[], None],
        says: type[R],
        within: float = CONFIRM,
    ) -> None:
        """Call `work` if this node is the home, or pass the question on. `text` is what its client signed."""
        if check_space(space).partition("/")[0] != LOCK:
            raise BadArgument(f"{space!r} is no space of locks.")
        if text and not self._context.settings.verify(asked.ask.writer, asked.ask.signature, text):
            what = "The signature of the request is invalid, so its client did not send it."
            raise LocalError(what, code="FORGED_STREAM")

        def at_home() -> None:
            if not self._spaces.is_home(space):
                self._relay.pass_on(asked, space, says, within=within)
                return
            try:
                work()
            except LocalError as error:
                asked.fail(error)

        self._when_defined(space, asked, at_home)
