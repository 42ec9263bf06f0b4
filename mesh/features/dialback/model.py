"""Decides which nodes dial the advertised address of this node back, when, and how outcomes are judged."""

# Law 1: only a node of another machine is asked, since a dial from the same machine proves nothing.
# Law 2: in a round, at most WANTED nodes answer. The next round follows after RETRY, or after AGAIN if one of
#        them reached this node.

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from mesh.discovery.advertised import is_loopback
from mesh.discovery.interfaces import host_of
from mesh.kernel.context.node_context import Reachability
from mesh.wire.commands import Introduction

WANTED = 2  # answers in a round
SETTLE = 1.0  # s from a start or a change of address to the first question
PAUSE = 5.0  # s until nodes that did not dial are asked again
RETRY = 60.0  # s between rounds while no node reaches this one
AGAIN = 3600.0  # s between rounds otherwise
YES, NO, PARTLY, LOCAL = "yes", "no", "partly", "local"  # codes of Reachability; "": not checked
_DOCKER = ipaddress.IPv4Address("172.17.0.0"), ipaddress.IPv4Address("172.31.255.255")  # its default pools


class Outcome(StrEnum):
    """The outcome of a dial."""

    REACHED = "reached"
    REFUSED = "refused"  # the connection failed immediately
    SILENT = "silent"  # neither accepted nor refused
    OTHER = "other"  # another process answered


_CONTAINER = (
    "it looks like an address inside a container",
    "Publish the port (docker run -p {port}:{port}), and set node.advertise to the address of the host.",
)
_NAT = (
    "it is a private address, probably behind NAT",
    "Forward TCP port {port} in the router, and set node.advertise to the public address.",
)
_CAUSES = {
    Outcome.REFUSED: (
        "it was refused, or there is no route, so the port is not open or not forwarded",
        "Forward TCP port {port} to this node, or set node.advertise to another address.",
    ),
    Outcome.SILENT: (
        "no answer, so a firewall probably drops the packets",
        "Open TCP port {port} in the firewall, or set node.advertise to another address.",
    ),
    Outcome.OTHER: (
        "another process answered there",
        "Set node.advertise to an address that only this machine has.",
    ),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a dial by the node `node` at `host`."""

    node: str
    host: str
    outcome: Outcome


def is_elsewhere(me: Introduction, peer: Introduction, hosts: Callable[[], Collection[str]]) -> bool:
    """Return whether a peer runs on another machine, by its addresses.

    `hosts` returns the IP addresses of this machine. Two nodes with the same address and port, such as those
    of two containers, are on different machines.
    """
    there = [address for address in (peer.address, *peer.also) if address and not is_loopback(address)]
    mine = {address for address in (me.address, *me.also) if not is_loopback(address)}
    if not there or not mine.isdisjoint(there):
        return bool(there)
    known = {host_of(address) for address in there}
    return known.isdisjoint(map(host_of, mine)) and known.isdisjoint(hosts())


@dataclass(slots=True)
class AddressCheck:
    """The rounds of dials to one advertised address. `due` is the time of the next step, in s."""

    address: str
    due: float
    _asked: bytes = b""  # uuid of the node that dials now
    _answers: dict[bytes, Answer] = field(default_factory=dict)
    _skipped: set[bytes] = field(default_factory=set)  # nodes that did not dial
    _is_over: bool = False

    def next_node(self, nodes: Sequence[bytes], now: float, chance: float) -> bytes | None:
        """Return the uuid of the node to ask now, one of `nodes`, or `None`. `chance` is in [0, 1)."""
        if self._asked or now < self.due:
            return None
        if self._is_over:
            self._is_over = False
            self._answers.clear()
            self._skipped.clear()
        left = [uuid for uuid in nodes if uuid not in self._answers and uuid not in self._skipped]
        if left and len(self._answers) < WANTED:
            self._asked, self.due = left[int(chance * len(left))], inf
            return self._asked
        self._is_over = bool(self._answers)
        if self._is_over:
            is_reached = any(answer.outcome is Outcome.REACHED for answer in self._answers.values())
            self.due = now + (AGAIN if is_reached else RETRY)
        else:  # `node_came` ends the wait for a node that can be asked
            self.due = now + PAUSE if self._skipped else inf
            self._skipped.clear()
        return None

    def node_came(self, now: float) -> None:
        """Go on if this check waits for a node that can be asked."""
        if self.due == inf and not self._asked:
            self.due = now

    def on_answer(self, uuid: bytes, answer: Answer | None, now: float) -> None:
        """Record the answer of the node that was asked; `None` if it did not dial."""
        if uuid != self._asked:
            return
        self._asked, self.due = b"", now
        if answer is None:
            self._skipped.add(uuid)
        else:
            self._answers[uuid] = answer

    def result(self) -> Reachability | None:
        """Return the result of a round that has just ended, else `None`."""
        return reachability(self.address, list(self._answers.values())) if self._is_over else None


def reachability(address: str, answers: Sequence[Answer]) -> Reachability:
    """Return what the answers of a round say about an advertised address."""
    reached = [answer.node for answer in answers if answer.outcome is Outcome.REACHED]
    failed = [answer for answer in answers if answer.outcome is not Outcome.REACHED]
    if not failed:
        return Reachability(YES, f"dialed by {' and '.join(reached)}")
    cause, hint = likely_cause(address, failed[0])
    names = " and ".join(answer.node for answer in failed)
    text = f"{names} could not dial {address}: {cause}"
    if reached:
        return Reachability(PARTLY, f"dialed by {' and '.join(reached)}, but {text}", hint)
    return Reachability(NO, text, hint)


def loopback_reachability(address: str, peer: str) -> Reachability:
    """Return the reachability of a loopback address, given a linked node of another machine."""
    port = address.rpartition(":")[2]
    text = f"{peer} is on another machine, but {address} leads back to the machine that dials"
    return Reachability(NO, text, f"Listen on tcp://*:{port}, or set node.advertise.")


def likely_cause(address: str, answer: Answer) -> tuple[str, str]:
    """Return the likely reason of a failed dial, and what the user can do."""
    mine, theirs, port = _ip(host_of(address)), _ip(answer.host), address.rpartition(":")[2]
    if _is_docker(mine) and not _is_docker(theirs):
        cause, hint = _CONTAINER
    elif mine is not None and theirs is not None and mine.is_private and theirs.is_global:
        cause, hint = _NAT
    else:
        cause, hint = _CAUSES[answer.outcome]
    return cause, hint.format(port=port)


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _is_docker(ip: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> bool:
    return isinstance(ip, ipaddress.IPv4Address) and _DOCKER[0] <= ip <= _DOCKER[1]
