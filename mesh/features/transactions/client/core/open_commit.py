"""Open transactions of a client, and the order in which envelopes are sent with them."""

# Law 1: everything is sent again in the order in which it was sent first.
# Law 2: while the outcome of a transaction is in doubt and awaited, later messages of its domains wait, and
#   so do transactions with such messages, and later messages of their domains.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct, field

from mesh.client.core.cautious_resend import Unit
from mesh.client.core.client_context import Promise
from mesh.client.core.delivered_envelope import Some
from mesh.errors import MeshError
from mesh.features.transactions.wire import Settled
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

Ended = list[Answer] | MeshError
Held = dict[str, int]  # by domain: messages with this number and higher ones wait


class DeliveryHolder(Protocol):
    """The settlements of one consumer."""

    def hold(self, some: Some) -> None:
        """Keep messages that a transaction settles, so that they are listed after a reconnect."""

    def release(self, some: Some, is_done: bool) -> None:
        """Keep messages no longer, as their transaction is answered."""


HeldDelivery = tuple[DeliveryHolder, Some]


class OpenCommit(Struct, eq=False):
    """A transaction without an outcome. The promises resolve with the answer to each envelope.

    `transmit` sends it if there is a connection.
    """

    number: int
    settles: tuple[Settled, ...]
    held: Sequence[HeldDelivery]  # settled by it
    envelopes: list[Envelope]
    before: dict[str, int]  # by domain: the numbers below were used before
    transmit: Callable[[OpenCommit], None]
    node: bytes = b""  # uuid of its node
    site: str = ""
    name: str = ""  # if it is only prepared
    promises: list[Promise] = field(default_factory=list)
    sent_on: int = 0  # the connection on which it was sent last
    is_doubtful: bool = False  # the session is at another node, or was
    is_awaited: bool = True  # its call has not failed with InDoubt
    ended: Ended | None = None

    @property
    def promise(self) -> Promise:
        """The promise of its first caller."""
        return self.promises[0]

    @property
    def is_answered(self) -> bool:
        return self.ended is not None

    def send(self) -> None:
        self.transmit(self)

    def end(self, ended: Ended) -> None:
        """Resolve the promises."""
        self.ended = ended
        for promise in self.promises:
            resolve(promise, ended)


def resolve(promise: Promise, ended: Ended) -> None:
    if promise.done():
        return
    if isinstance(ended, MeshError):
        promise.set_exception(ended)
    else:
        promise.set_result(ended)


def held_back(commits: Iterable[OpenCommit]) -> Held:
    """Return the messages that wait for outcomes. `commits` are in the order of their numbers."""
    held: Held = {}
    for it in commits:
        if (it.is_doubtful and it.is_awaited) or (not it.is_doubtful and is_held(it, held)):
            for e in it.envelopes:
                held.setdefault(e.domain, e.first)
    return held


def is_held(unit: Unit, held: Held) -> bool:
    """Return whether an envelope or a transaction waits."""
    envelopes = unit.envelopes if isinstance(unit, OpenCommit) else [unit]
    return any(isinstance(e, Envelope) and e.first >= held.get(e.domain, e.first + 1) for e in envelopes)


def in_order(commits: Iterable[OpenCommit], plain: Iterable[Envelope]) -> list[Unit]:
    """Return transactions and other envelopes in the order in which they were sent first."""
    units, left = list[Unit](), list(plain)
    for it in commits:
        units += [*(e for e in left if e.first < it.before.get(e.domain, 1)), it]
        left = [e for e in left if e.first >= it.before.get(e.domain, 1)]
    return [*units, *left]
