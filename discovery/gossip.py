"""Gossip of node states: the messages of a node, the choice of nodes to listen to, and the known states."""

# Rule 1: membership decides which nodes are alive. Gossip describes living nodes, and never revives a node.
# Rule 2: only the owner writes a state. Of two states the one with the higher (boot, counter) counts.
# Rule 3: a state with a tombstone never returns. Only a newer state of a node that is alive replaces it.

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from mesh.discovery.lines import StateLine, StateMessage, Version, decode, encode, line_of
from mesh.discovery.listening import FULL, Listening
from mesh.discovery.relay import LineRelay
from mesh.discovery.state import NodeState
from mesh.discovery.state import decode as decode_state

__all__ = ["FULL", "Known", "StateGossip", "StateLine", "StateMessage", "decode", "encode", "line_of", "read"]

SILENT = 3  # intervals of silence before a listened node is asked
TOMBS = 64  # tombstones in one message
GRAVES = 1024  # tombstones that are remembered
KEPT = 1024  # last states of gone nodes, sent to them on return
MOURNING = 600.0  # s that a tombstone is remembered


@dataclass(frozen=True, slots=True)
class Known:
    """The latest state of another node."""

    state: NodeState
    heard: float  # s, by the local clock
    direct: bool  # received from the node itself


class StateGossip:
    """The known states of the other living nodes, with times in monotonic seconds.

    `me` is the uuid of this node, `jitter` returns random numbers in [0, 1), `interval` is the time between
    two messages, and `verify` checks a line's signature against its owner's key. Counters: `forged` lines
    with a wrong signature or content, `stale` lines older than the known state, `strange` lines and messages
    of nodes or boots that are not alive here, `repeated` messages with the number of the previous one.
    """

    def __init__(
        self,
        me: bytes,
        jitter: Callable[[], float],
        interval: float = 2.0,
        verify: Callable[[StateLine], bool] = lambda line: True,
    ) -> None:
        self.known: Mapping[bytes, Known]
        self.forged = self.stale = self.strange = self.repeated = 0
        self.strangers: set[bytes] = set()  # unknown nodes in the last message
        self._me = me
        self._interval = interval
        self._verify = verify
        self._states: dict[bytes, Known] = {}
        self.known = MappingProxyType(self._states)
        self._lines: dict[bytes, StateLine] = {}  # newest signed line of each node in `_states`
        self._last: dict[bytes, StateLine] = {}  # of nodes that are gone
        self._relay = LineRelay(me, jitter)
        self._listening = Listening(me)
        # Newest version of each node in `_states`, and of each with a tombstone. Only a higher version is
        # news.
        self._newest: dict[bytes, Version] = {}
        self._graves: dict[bytes, tuple[int, float]] = {}  # uuid: boot and time of its tombstone
        self._spoke: dict[bytes, tuple[Version, float]] = {}  # last message of each node, and its time
        self._since: dict[bytes, float] = {}  # when listening to a node began
        self._mine: StateLine | None = None
        self._number = 0
        self._alive = 1

    # --- sending --------------------------------------------------------------------------------------

    def own(self, line: StateLine) -> None:
        """Set the newest state of this node.

        Its boot is the boot of the outgoing messages.
        """
        self._mine = line

    def outgoing(self, alive: int, now: float) -> StateMessage:
        """Return the message of this interval.

        Call `own` first. `alive` counts this node, too.
        """
        assert self._mine is not None, "own() comes first"
        self._number += 1
        self._alive = alive
        mine = self._mine
        if alive <= FULL:
            return StateMessage(self._me, mine.boot, self._number, (mine,))
        lines = (self._relay.own(mine, alive), *self._relay.take(self._lines))
        span, digest = self._relay.digest(self._lines, alive)
        return StateMessage(self._me, mine.boot, self._number, lines, tuple(digest), self._tombs(now), span)

    def _tombs(self, now: float) -> tuple[tuple[bytes, int], ...]:
        """Return the next batch of tombstones, and forget those older than MOURNING."""
        tombs = []
        for uuid in list(islice(self._graves, TOMBS)):
            boot, dug = self._graves.pop(uuid)
            if now - dug < MOURNING:
                self._graves[uuid] = boot, dug
                tombs.append((uuid, boot))
            else:
                del self._newest[uuid]
        return tuple(tombs)

    # --- receiving ------------------------------------------------------------------------------------

    def heard(self, message: StateMessage, boot_of: Callable[[bytes], int | None], now: float) -> list[Known]:
        """Process a message from a PUB socket or a control link, and return the states that are new.

        `boot_of` returns the boot of a node that is alive here, and None for any other node.
        """
        sender, self.strangers = message.sender, set()
        if sender == self._me or boot_of(sender) != message.boot:
            self.strange += sender != self._me
            return []
        # Only an identical number is a repetition. Numbers are not signed, so a high one must not mute the
        # sender.
        number = message.boot, message.number
        if sender in self._spoke and self._spoke[sender][0] == number:
            self.repeated += 1
            return []
        self._spoke[sender] = number, now
        news = []
        for line in message.lines:
            # Most relayed lines have arrived through another node before, so a repetition must be cheap.
            is_known = self._newest.get(line.uuid) == (line.boot, line.counter)
            if not is_known and (known := self._take(line, sender, boot_of, now)):
                news.append(known)
        if self._alive > FULL:
            self._relay.compare(message, self._lines, self._alive)
        for uuid, boot in message.tombs:
            self._doubt(uuid, boot, now)
        return news

    def _take(
        self, line: StateLine, sender: bytes, boot_of: Callable[[bytes], int | None], now: float
    ) -> Known | None:
        """Store a line that differs from the known one, and return its state, or None if it is rejected."""
        uuid, version = line.uuid, line.version
        if uuid == self._me:
            return None
        if version < self._newest.get(uuid, (0, 0)):
            self.stale += 1
            return None
        if (boot := boot_of(uuid)) != line.boot:
            self.strange += 1
            if boot is None:
                self.strangers.add(uuid)
            return None
        state = read(line)
        if state is None or not self._verify(line):
            self.forged += 1
            return None
        known = Known(state, now, uuid == sender)
        self._relay.learnt(line, uuid not in self._states)
        self._states[uuid], self._lines[uuid], self._newest[uuid] = known, line, version
        self._graves.pop(uuid, None)
        return known

    def line(self, uuid: bytes) -> StateLine | None:
        """Return the newest signed state of a living node, including this one, or None if it is not known."""
        return self._mine if uuid == self._me else self._lines.get(uuid)

    def last_of(self, uuid: bytes) -> StateLine | None:
        """Return the newest stored state of another node, alive or gone, or None if there is none."""
        return self._lines.get(uuid) or self._last.get(uuid)

    # --- choice of nodes to listen to -----------------------------------------------------------------

    def listen_to(self, alive: Collection[bytes], favourites: Collection[bytes], now: float) -> set[bytes]:
        """Return the uuids of the nodes to listen to.

        Up to FULL nodes, the result is all others in `alive`. With more nodes, it is the neighbors on the
        rings and some of `favourites`.
        """
        chosen = self._listening.choose_nodes(alive, favourites)
        self._since = {uuid: self._since.get(uuid, now) for uuid in chosen}
        return chosen

    def unheard(self, listened: Collection[bytes], now: float) -> set[bytes]:
        """Return the nodes of `listened` that were silent for SILENT intervals, to be asked directly."""
        return {uuid for uuid in listened if now - self._last_word(uuid, now) > SILENT * self._interval}

    def _last_word(self, uuid: bytes, now: float) -> float:
        spoke = self._spoke[uuid][1] if uuid in self._spoke else 0.0
        return max(spoke, self._since.get(uuid, now))

    # --- nodes that are gone --------------------------------------------------------------------------

    def remove_node(self, uuid: bytes, boot: int, now: float) -> None:
        """Drop the state of a node whose boot is dead or left, and record a tombstone.

        A node with a known later boot is kept.
        """
        newest = self._newest.get(uuid, (boot, 0))
        if newest[0] > boot:
            return  # a later boot is alive
        self._spoke.pop(uuid, None)
        if uuid in self._states:
            self._relay.drop_node(uuid)
            self._last.pop(uuid, None)
            self._last[uuid] = self._lines.pop(uuid)
            del self._states[uuid]
            if len(self._last) > KEPT:
                del self._last[next(iter(self._last))]
        self._graves.pop(uuid, None)
        if len(self._graves) >= GRAVES:
            forgotten = next(iter(self._graves))
            del self._graves[forgotten], self._newest[forgotten]
        self._newest[uuid] = max(newest, (boot, 0))
        self._graves[uuid] = boot, now

    def _doubt(self, uuid: bytes, boot: int, now: float) -> None:
        """Drop the node named by a received tombstone if no state of that node has arrived for too long.

        A false tombstone therefore cannot remove a living node, and a true one makes up for a lost report of
        the death.
        """
        known = self._states.get(uuid)
        patience = (SILENT + 2 * self._alive / FULL) * self._interval
        if known is not None and now - known.heard > patience:
            self.remove_node(uuid, boot, now)


def read(line: StateLine) -> NodeState | None:
    """Return the state in a line, or None if it is malformed or of another node or version."""
    try:
        state = decode_state(line.state)
    except ValueError:
        return None
    return state if state.uuid == line.uuid and state.version == line.version else None
