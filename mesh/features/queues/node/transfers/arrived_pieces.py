"""The pieces of incoming moves: each as this node queues it, and the outcomes that are sent to the source."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from mesh.errors import MeshError
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.node.transfers.sources import TransferMessage
from mesh.features.queues.wire import Transferred
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_output import NodeOutput
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.values import check_key
from mesh.wire.envelope import Envelope, as_ranges
from mesh.wire.header import u16
from mesh.wire.properties import check_properties

AHEAD = 60 * 10**9  # ns that a peer's clock may be ahead


class ArrivedPiece(Struct, eq=False):
    """An accepted piece, which is stored next if it is persistent.

    `is_doubtful` marks a possible duplicate.
    """

    number: int
    queued: QueuedEnvelope
    is_doubtful: bool
    is_parting: bool = False  # the source no longer keeps it


def queued_here(
    e: Envelope, master: bytes, shift: int, latest: int, moves: int, tries: bytes
) -> QueuedEnvelope:
    """Return an envelope as the node `master` queues it, with a corrected timestamp.

    `shift` is how many ns the sender's clock is ahead; expiry counts from the corrected timestamp. The
    timestamp is at most `latest` (ns since 1970), in case a clock elsewhere is years ahead. `moves` and
    `tries` are fields of the piece.
    """
    sent = max(1, min(e.sent - shift, latest))
    envelope = e if sent == e.sent else replace(e, sent=sent)
    queued = QueuedEnvelope(StoredEnvelope(envelope, master=master, own=True))
    queued.moves = max(1, moves)
    if tries:
        numbers = envelope.number_list(range(envelope.count))
        queued.tries = {n: told for n, told in zip(numbers, u16(tries), strict=False) if told}
    return queued


def is_readable(e: Envelope) -> bool:
    """Return whether keys and properties are valid, as nothing else checks them before the commit."""
    try:
        check_properties(e)
        for key in e.keys:
            if key:
                check_key(key)
    except MeshError:
        return False
    return True


class PieceOutcomes:
    """The outcomes of pieces that arrived on one connection, collected during an event and sent together."""

    def __init__(self, conn: Conn) -> None:
        self.conn = conn
        self.taken: list[int] = []
        self.refused: list[int] = []
        self.unsure: list[int] = []

    def add_refusal(self, number: int, is_doubtful: bool) -> None:
        (self.unsure if is_doubtful else self.refused).append(number)

    def send_outcomes(self, out: NodeOutput, queue: str) -> None:
        """Send the outcomes of pieces of `queue` to their source, if there are any."""
        if self.taken or self.refused or self.unsure:
            numbers = [_ranges(of) for of in (self.taken, self.refused, self.unsure)]
            out.send(self.conn, Transferred(queue, *numbers))


class OutcomesByConnection(dict[Conn, PieceOutcomes]):
    """The outcomes of one event by connection, created on first access."""

    def __missing__(self, conn: Conn) -> PieceOutcomes:
        outcomes = self[conn] = PieceOutcomes(conn)
        return outcomes

    def send_outcomes(self, out: NodeOutput, queue: str) -> None:
        for outcomes in self.values():
            outcomes.send_outcomes(out, queue)


def refuse_pieces(out: NodeOutput, messages: Iterable[TransferMessage]) -> None:
    """Refuse all pieces of `messages`; pieces that were sent before may be duplicates."""
    for conn, command, _ in messages:
        outcomes = PieceOutcomes(conn)
        for number, is_again, *_ in command.entries:
            outcomes.add_refusal(number, is_again)
        outcomes.send_outcomes(out, command.queue)


def _ranges(numbers: list[int]) -> tuple[int, ...]:
    return as_ranges(sorted(numbers)) if numbers else ()
