"""Planted bugs of nodes that send their clients away, and of clients that move with jobs and inboxes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from mesh.client.core import envelope_sender, node_connection
from mesh.features.drain.node import node_drain
from mesh.features.drain.node.node_drain import NodeDrain
from mesh.features.drain.node.owed_log import OwedLog
from mesh.kernel.context.leaving import Left, Step, next_step
from mesh.kernel.subscribers import clients
from mesh.kernel.subscribers.remote_inboxes import RemoteInboxes
from mesh.routing import visits
from mesh.routing.visits import Standing
from mesh.wire.replies import Collected

Patch = tuple[Any, str, Any]


def flushes_before_clients_leave() -> list[Patch]:
    def at_once(step: Step, since: float, now: float, moving: Collection[Step]) -> Step:
        return next_step(step, since, now, {each for each in moving if each > Step.CLIENTS})

    remains = OwedLog.remains

    def unlike_later(self: OwedLog) -> Iterable[Left]:
        return remains(self) if self._context.leaving.step < Step.DONE else ()

    return [(node_drain, "next_step", at_once), (OwedLog, "remains", unlike_later)]


def names_nothing() -> list[Patch]:
    progress = NodeDrain._progress

    def unnamed(self: NodeDrain) -> Any:
        found = progress(self)
        return type(found)(drains=found.drains, step=found.step, is_complete=found.is_complete, left=[])

    return [(NodeDrain, "_progress", unnamed)]


def puts_are_not_marked() -> list[Patch]:
    return [(envelope_sender, "RESENT", 0)]


def dials_without_a_wait() -> list[Patch]:
    return [(node_connection, "delay", lambda *attempt, **limits: 0.0)]


def gives_up_at_once() -> list[Patch]:
    linger_of = clients.linger_of

    def soon(has_left: bool, *rest: Any) -> float:
        return 3.0 if has_left else linger_of(has_left, *rest)

    return [(clients, "linger_of", soon)]


def sends_no_inbox() -> list[Patch]:
    def reply(self: RemoteInboxes, asked: Any, reader: Any) -> None:
        reader.is_notified = False
        asked.reply(Collected(first=max(asked.ask.at, reader.sent.first), gaps=[], sources=[]))

    return [(RemoteInboxes, "_reply", reply)]


def compares_no_attach_numbers() -> list[Patch]:
    return [(visits, "compare", lambda attach, known: Standing.NEWER)]


# Seed, broken law and patches by the name of the bug, for each profile.
DRAINS: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "a drain flushes before clients leave": (44, "SE10", flushes_before_clients_leave),
    "a drain names nothing": (44, "SE10", names_nothing),
    "an inbox is not sent to the visited node": (44, "C5.1", sends_no_inbox),
    "puts that are sent again are not marked": (3, "Q5", puts_are_not_marked),
}
REDIRECTS: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "a client dials again without a wait": (41, "RD2", dials_without_a_wait)
}
ROAMERS: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "attach numbers are not compared": (37, "SE4", compares_no_attach_numbers),
    "a former node gives up a session": (22, "SE5", gives_up_at_once),
}
