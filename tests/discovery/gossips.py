"""The gossip of a node, and messages for it, for tests."""

from collections.abc import Callable, Iterable

import msgspec

from mesh.discovery.gossip import StateGossip, StateLine, StateMessage
from tools.models.gossip_mesh import boots, line, state

ME, HERON, FRODO, BILBO = (bytes([number]) * 16 for number in range(1, 5))
LARGE = 64  # nodes of a mesh that relays states
OTHERS = [b"other" + number.to_bytes(11) for number in range(200)]


def half() -> float:
    return 0.5


ALL = boots(ME, HERON, FRODO, BILBO, *OTHERS)


def gossip(verify: Callable[[StateLine], bool] = lambda line: True) -> StateGossip:
    """Return the gossip of `ME`, with a first state."""
    mine = StateGossip(ME, half, 2.0, verify)
    mine.own(line(state(ME)))
    return mine


def large() -> StateGossip:
    """Return the gossip of `ME` in a mesh where nodes relay states."""
    mine = gossip()
    mine.outgoing(LARGE, 0.0)
    return mine


def says(
    sender: bytes, *lines: StateLine, number: int = 1, tombs: Iterable[tuple[bytes, int]] = ()
) -> StateMessage:
    return StateMessage(sender, 1, number, lines, tombs=tuple(tombs))


def far(uuid: bytes, counter: int = 1) -> StateLine:
    return msgspec.structs.replace(line(state(uuid, 1, counter)), far=True)
