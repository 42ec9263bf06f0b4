"""What do nodes say of themselves? The last state of each, what to publish, and whom to listen to."""

# Rule 1: membership decides who lives. Gossip says how the living are doing, and brings nobody to life.
# Rule 2: only the owner writes a state; of two the higher (boot, counter) counts.
# Rule 3: a state that was buried never comes back; only a newer one, of a node that lives after all, does.

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from discovery.lines import StateLine, StateMessage, Version, decode, encode, line_of
from discovery.listening import FULL, Listening
from discovery.relay import LineRelay
from discovery.state import NodeState
from discovery.state import decode as decode_state

__all__ = ["FULL", "Known", "StateGossip", "StateLine", "StateMessage", "decode", "encode", "line_of", "read"]

SILENT = 3  # intervals without a word of somebody whom we listen to
TOMBS = 64  # in one message
GRAVES = 1024  # that are remembered,
KEPT = 1024  # last states of those that are gone: each may ask for its own when it is back
MOURNING = 600.0  # s, and for how long: nobody keeps a state of the dead that long


@dataclass(frozen=True, slots=True)
class Known:
    """The last state of another node."""

    state: NodeState
    heard: float  # s, by our clock
    direct: bool  # from the node itself


class StateGossip:
    """The states of all other nodes that live. Times are seconds, and never go back.

    `me` is our uuid, `jitter` gives numbers in [0, 1), `interval` is the time between two messages,
    `verify` says whether a line's signature is its owner's. Counters: `forged` lines whose signature or
    content is not what it claims, `stale` ones older than what we know, `strange` ones and messages of
    nodes that are not alive for us, `repeated` messages that came by two ways.
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
        self.strangers: set[bytes] = set()  # in the last message, whoever is not alive for us
        self._me = me
        self._interval = interval
        self._verify = verify
        self._states: dict[bytes, Known] = {}
        self.known = MappingProxyType(self._states)
        self._lines: dict[bytes, StateLine] = {}  # of the same nodes
        self._last: dict[bytes, StateLine] = {}  # of nodes that are gone
        self._relay = LineRelay(me, jitter)
        self._listening = Listening(me)
        self._newest: dict[bytes, Version] = {}  # of these, and of the buried: only what is above it is news
        self._graves: dict[bytes, tuple[int, float]] = {}  # the boot that is buried, and when it was
        self._spoke: dict[bytes, tuple[Version, float]] = {}  # the last message of a node, and when
        self._since: dict[bytes, float] = {}  # when we began to listen to it
        self._mine: StateLine | None = None
        self._number = 0
        self._alive = 1

    # --- what we say ----------------------------------------------------------------------------------

    def own(self, line: StateLine) -> None:
        """Our newest state. Its boot is the boot of our messages."""
        self._mine = line

    def outgoing(self, alive: int, now: float) -> StateMessage:
        """The message of this interval, after `own`; `alive` nodes there are, ourselves included."""
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
        """Another part of the graves each time; those that are old enough are forgotten."""
        tombs = []
        for uuid in list(islice(self._graves, TOMBS)):
            boot, dug = self._graves.pop(uuid)
            if now - dug < MOURNING:
                self._graves[uuid] = boot, dug
                tombs.append((uuid, boot))
            else:
                del self._newest[uuid]
        return tuple(tombs)

    # --- what others say ------------------------------------------------------------------------------

    def heard(self, message: StateMessage, boot_of: Callable[[bytes], int | None], now: float) -> list[Known]:
        """A message came, from a PUB or a control link; the states in it that are news.

        `boot_of` gives the boot of a node that is alive for us, None for any other.
        """
        sender, self.strangers = message.sender, set()
        if sender == self._me or boot_of(sender) != message.boot:
            self.strange += sender != self._me
            return []
        # Only the very same is a repetition: a number is not signed, and a high one must not silence anybody.
        number = message.boot, message.number
        if sender in self._spoke and self._spoke[sender][0] == number:
            self.repeated += 1
            return []
        self._spoke[sender] = number, now
        news = []
        for line in message.lines:
            # Most of what is handed on has come by another node before: that must cost next to nothing.
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
        """A line that is not the one we have: news, or nothing."""
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
        """The newest state of a node that lives, as it signed it; of ourselves, too."""
        return self._mine if uuid == self._me else self._lines.get(uuid)

    def last_of(self, uuid: bytes) -> StateLine | None:
        """The newest state of a node, alive or not, that is still here."""
        return self._lines.get(uuid) or self._last.get(uuid)

    # --- whom we hear ---------------------------------------------------------------------------------

    def listen_to(self, alive: Collection[bytes], favourites: Collection[bytes], now: float) -> set[bytes]:
        """The nodes whose PUB to hear: all `alive` ones up to FULL, above a few and `favourites`."""
        chosen = self._listening.choose(alive, favourites)
        self._since = {uuid: self._since.get(uuid, now) for uuid in chosen}
        return chosen

    def unheard(self, listened: Collection[bytes], now: float) -> set[bytes]:
        """Nodes of `listened` from which nothing came for SILENT intervals: ask them on the control link."""
        return {uuid for uuid in listened if now - self._last_word(uuid, now) > SILENT * self._interval}

    def _last_word(self, uuid: bytes, now: float) -> float:
        spoke = self._spoke[uuid][1] if uuid in self._spoke else 0.0
        return max(spoke, self._since.get(uuid, now))

    # --- who is gone ----------------------------------------------------------------------------------

    def gone(self, uuid: bytes, boot: int, now: float) -> None:
        """A node in that boot is dead or left: its state goes, and others are told."""
        newest = self._newest.get(uuid, (boot, 0))
        if newest[0] > boot:
            return  # a later boot of it lives
        self._spoke.pop(uuid, None)
        if uuid in self._states:
            self._relay.forget(uuid)
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
        """Forget a node that somebody calls dead, if we have not heard of it for long either.

        So neither a liar nor a wrong suspicion takes the state of a living node away; but where the news
        of a death got lost, it comes in the end.
        """
        known = self._states.get(uuid)
        patience = (SILENT + 2 * self._alive / FULL) * self._interval
        if known is not None and now - known.heard > patience:
            self.gone(uuid, boot, now)


def read(line: StateLine) -> NodeState | None:
    """The state in a line; None if it is none, or not of the node and version that the line names."""
    try:
        state = decode_state(line.state)
    except ValueError:
        return None
    return state if state.uuid == line.uuid and state.version == line.version else None
