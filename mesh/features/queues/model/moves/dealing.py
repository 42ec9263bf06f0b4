"""Assigns waiting messages to moves to other nodes."""

# Law 1: a message goes to one node with a matching consumer, and no move exceeds its size. Messages without a
#   match here go with the moves of stranded messages, the rest with the others.
# Law 2: nodes alternate, the oldest message first: of two nodes with the same selectors one gets the even
#   messages, the other the odd ones.
# Law 3: messages of a group go to the home node of the group, and not while a consumer here has some of them.
# Law 4: a scan covers at most SEEN messages if they must be decoded, else DEALT. A scan without a match is
#   continued by the next one.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from mesh.features.queues.model.envelopes.counts import Runs, count, first_of, joined
from mesh.features.queues.model.envelopes.queued_envelope import EnvelopeKey, QueuedEnvelope
from mesh.features.queues.model.moves.distribution import NodeUuid, for_whom, messages
from mesh.features.queues.model.moves.queue_report import Matching
from mesh.features.queues.model.moves.redistribution import Move, may_move
from mesh.features.queues.model.part.local_queue import LocalQueue

SEEN = 500  # messages: decoding and choosing takes 10 ms
DEALT = 10_000
DealtPiece = tuple[QueuedEnvelope, Runs]
NOBODY: Mapping[NodeUuid, int] = {}


class ReadyEnvelope(Struct):
    """An envelope with its ready messages: `taken` if a consumer here matches them, else `stranded`."""

    queued: QueuedEnvelope
    taken: Runs
    stranded: Runs


class ReadyScan:
    """A scan of the ready messages of a local queue that are in memory.

    `stranded` is the number of ready messages that no consumer here matches. If there are consumers here,
    only scanned messages count. `is_whole` means that the scan covered all ready messages, and that none is
    on disk only.
    """

    def __init__(
        self, queue: LocalQueue, here: Matching, place: Mapping[int, EnvelopeKey], most: int = DEALT
    ) -> None:
        """Scan the messages behind `place`.

        `here` has the messages that consumers here match. `most` is how many messages other nodes want, and
        limits the scan unless selectors must be tested.
        """
        self._queue = queue
        self.seen: list[ReadyEnvelope] = []
        left = min(most, DEALT) if here.takes_all or not here else SEEN
        self.is_whole = not place and not queue.order.on_disk
        for queued in queue.order.ready_envelopes(place):
            if left <= 0:
                self.is_whole = False
                break
            self.seen.append(_seen(queued, here))
            left -= count(queued.ready)
        self.is_cut = left <= 0
        found = sum(count(each.stranded) for each in self.seen)
        self.stranded = found if here else queue.ready

    def deal(
        self,
        moves: Iterable[Move],
        takers: Mapping[NodeUuid, Matching],
        now: float,
        wants: Mapping[NodeUuid, int] = NOBODY,
    ) -> dict[NodeUuid, list[DealtPiece]]:
        """Return the scanned messages to move to each node.

        `takers` maps each other node with consumers to the messages that these consumers match. `wants` has
        the demand of all nodes to which messages may move: stranded messages of a group move to the home node
        of the group even if no move in `moves` has that node as its target.
        """
        found: dict[NodeUuid, list[DealtPiece]] = {}
        for is_stranded in (True, False):
            shares = [move for move in moves if move.is_stranded is is_stranded and move.target not in found]
            deal = _Deal(shares, takers, wants if is_stranded and shares else NOBODY)
            for seen in self.seen:
                runs = seen.stranded if is_stranded else seen.taken
                queued = seen.queued
                if not runs or not deal.has_room(queued):
                    continue
                if may_move(queued, is_stranded, now) and not self._queue.backlog.groups.is_out(queued.group):
                    for node, some in deal.shares(queued, runs):
                        found.setdefault(node, []).append((queued, some))
        return found

    def next_start(self) -> dict[int, EnvelopeKey]:
        """Return where the next scan begins if this scan finds no match.

        The next scan begins behind a scan that reached its limit, otherwise at the front.
        """
        if not self.is_cut:
            return {}
        last = self.seen[-1].queued
        before = [p for p in self._queue.order.priorities() if p > last.priority]
        return {**dict.fromkeys(before, END), last.priority: last.key}


END: EnvelopeKey = (2**64, b"", 0)  # behind all envelopes


class _Deal:
    def __init__(
        self, moves: Sequence[Move], takers: Mapping[NodeUuid, Matching], wants: Mapping[NodeUuid, int]
    ) -> None:
        # The nodes that get one more message come first, which keeps the alternation up to the end.
        moves = sorted(moves, key=lambda move: -move.messages)
        self.left = {move.target: move.messages for move in moves}
        self._homes = {node: n for node, n in wants.items() if node not in self.left}
        self._takers = takers
        self._dealt = Counter[NodeUuid]()

    def has_room(self, queued: QueuedEnvelope) -> bool:
        return bool(self.left or (queued.group and self._homes))

    def shares(self, queued: QueuedEnvelope, runs: Runs) -> Iterable[tuple[NodeUuid, Runs]]:
        """Return the messages among `runs` that each node receives; some may stay."""
        if queued.group:
            return list(self._at_home(queued, runs))
        nodes = list(self.left)
        takes_all = all(self._takers[node].takes_all for node in nodes)
        if takes_all and len(nodes) == 1:
            return self._assign_all(nodes[0], runs)
        numbers = [n for first, last in runs for n in range(first, last + 1)]
        found: dict[NodeUuid, list[int]] = {}
        if takes_all:
            for number in numbers:
                self._assign(number, nodes, found)
        else:
            for number, key, headers in messages(queued, numbers):
                takers = [n for n in nodes if self._takers[n].takes(key, queued.priority, headers)]
                self._assign(number, takers, found)
        return [(node, joined(some)) for node, some in found.items()]

    def _at_home(self, queued: QueuedEnvelope, runs: Runs) -> Iterator[tuple[NodeUuid, Runs]]:
        """Yield the messages that move to the home of their group, a node whose consumers match them."""
        known = {node: taken for node, taken in self._takers.items() if taken}
        mine = {n for first, last in runs for n in range(first, last + 1)}
        for (home,), numbers in for_whom(queued, [known]).items() if known else ():
            room = self.left.get(home, 0) or self._homes.get(home, 0)
            some = [n for n in numbers if n in mine][:room]
            if some:
                self._count_assigned(home, len(some))
                yield home, joined(some)

    def _assign_all(self, node: NodeUuid, runs: Runs) -> Iterable[tuple[NodeUuid, Runs]]:
        some = first_of(runs, self.left[node])
        self._count_assigned(node, count(some))
        return [(node, some)]

    def _assign(self, number: int, nodes: Sequence[NodeUuid], found: dict[NodeUuid, list[int]]) -> None:
        wanting = [node for node in nodes if node in self.left]
        if wanting:
            node = min(wanting, key=self._dealt.__getitem__)
            found.setdefault(node, []).append(number)
            self._count_assigned(node, 1)

    def _count_assigned(self, node: NodeUuid, n: int) -> None:
        self._dealt[node] += n
        room = self.left if node in self.left else self._homes
        room[node] -= n
        if not room[node]:
            del room[node]


def _seen(queued: QueuedEnvelope, here: Matching) -> ReadyEnvelope:
    runs = list(queued.ready)
    if here.takes_all or not here:
        return ReadyEnvelope(queued, runs, []) if here else ReadyEnvelope(queued, [], runs)
    numbers = [n for first, last in runs for n in range(first, last + 1)]
    taken = {n for n, key, headers in messages(queued, numbers) if here.takes(key, queued.priority, headers)}
    return ReadyEnvelope(queued, joined(sorted(taken)), joined(n for n in numbers if n not in taken))
