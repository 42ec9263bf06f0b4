"""Planted bugs of clients that move between nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from mesh.client.core import visits
from mesh.client.core.subscriptions import Subscriptions
from mesh.kernel.forwarding.peer_sender import PeerSender
from mesh.kernel.subscribers.resume_source import ResumeSource
from mesh.kernel.subscribers.resuming import Resuming
from mesh.kernel.subscribers.visit import settle_master
from mesh.kernel.subscribers.visiting import Visiting
from mesh.routing.visits import Visits
from mesh.streams.seen import SeenMessages

Patch = tuple[Any, str, Any]


def resumes_from_now() -> list[Patch]:
    begin = ResumeSource._begin

    def from_now(self: Any, row: Any, *rest: Any) -> Any:
        return begin(self, replace(row, at=self._disk.shelf.next_position), *rest)

    return [(ResumeSource, "_begin", from_now)]


def released_after_one_master() -> list[Patch]:
    confirmed = Resuming.confirmed

    def all_with_one(self: Any, stream: bytes) -> Any:
        some, is_all = confirmed(self, stream)
        return (set(self._arrivals[stream].masters), True) if some else (some, is_all)

    return [(Resuming, "confirmed", all_with_one)]


def settles_when_it_learns_of_the_move() -> list[Patch]:
    leave = Visiting.leave

    def at_once(self: Any, certificate: Any) -> None:
        leave(self, certificate)
        session = self._clients.sessions.get(certificate.stream)
        for master in self._resuming.masters_of(session) if session is not None else ():
            settle_master(session, master, self._context.me.uuid, self._disk)

    return [(Visiting, "leave", at_once)]


def names_only_the_last_node() -> list[Patch]:
    return [(visits, "FORMER", 1)]


def forgets_what_it_had() -> list[Patch]:
    resubscribe = Subscriptions.resubscribe

    def anew(self: Any, is_new: bool, *rest: Any) -> None:
        for intake in self._all.values() if is_new else ():
            intake._seen = SeenMessages()
        resubscribe(self, is_new, *rest)

    return [(Subscriptions, "resubscribe", anew)]


def checks_no_certificate() -> list[Patch]:
    init = Visits.__init__
    return [(Visits, "__init__", lambda self, verify, *rest: init(self, lambda *_: True, *rest))]


def drops_the_certificate() -> list[Patch]:
    return [(PeerSender, "_certify", lambda self, peer, batch: None)]


# Seed, broken law and patches by the name of the bug.
VISITS: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "a log is resumed from now on": (4, "C1.4", resumes_from_now),
    "a former node is released after one master": (2, "C1.3", released_after_one_master),
    "a former node settles when it learns of the move": (82, "C1.4", settles_when_it_learns_of_the_move),
    "a client names only the last of its nodes": (4, "SE6", names_only_the_last_node),
    "a client that moves forgets what it had": (4, "C1.1", forgets_what_it_had),
    "the signature of a certificate is not checked": (91, "SE6", checks_no_certificate),
}
RELAYED: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "a relay drops the certificate of a visitor": (83, "L1", drops_the_certificate)
}
