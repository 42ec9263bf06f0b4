"""Valid messages of each kind, as a base for invalid ones, and a check of the reader."""

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.features.queues.wire import Transfer
from mesh.features.sites.wire import Relay
from mesh.features.transactions.wire import Commit
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from mesh.wire.limits import FRAME
from mesh.wire.packed import PackedEnvelopes
from tools.models.messages import COMMANDS, ITEM, JOB, Sent, gathered, messages_of

WHOLE = gathered([Sent(i, "ab"[i % 2], b"p" * (i % 3), b"x" * i) for i in range(1, 9)])
PIECE = WHOLE.cut([0, 2, 3, 7])
PUT = replace(gathered([Sent(1, "", b"", b"job")], stamped=False), to="queue/a", put=(7, 500, "g"))
TO_JOE = replace(gathered([Sent(1, "", b"", b"x")]), to="client/joe")
SALE = PackedEnvelopes((WHOLE, PUT))  # of a transaction
CARRIERS = (
    c.Publish | c.Forward | c.Items | c.Reply | c.Sends | c.Respond | c.Settle | Transfer | Relay | Commit
)
GOOD = {
    **{type(k).__name__: write(k) for k in COMMANDS if not isinstance(k, CARRIERS)},
    "Publish": write(c.Publish((1, 1, 1), (0, 5000, 0)), [WHOLE, PIECE, PUT]),
    "Forward": write(c.Forward((1, 1)), [TO_JOE, PIECE]),
    "Relay": write(Relay("NYC", (1,)), [PIECE]),
    "Items": write(c.Items(7, (ITEM, JOB, c.ItemHead(1))), [WHOLE, PIECE, PIECE]),
    "Reply": write(c.Reply(3, {"more": False, "missing": ["swift"]}, frames=(1,)), [PIECE]),
    "Sends": write(c.Sends((1, 1), (5000, 0)), [TO_JOE, PIECE]),
    "Respond": write(c.Respond((1,)), [PIECE]),
    "Settle": write(c.Settle(9, 3, (1, 4), (5, 6, 7, 8), (1,), 2, ((9, 9, c.REJECT, 0, "bad"),)), [PIECE]),
    "Commit": write(Commit(5, 2, 1, sizes=SALE.sizes), [SALE]),
    "Transfer": write(
        Transfer("a", 5, (1, 1), ((5, False, 1, b""), (9, True, 255, b"\0\0\1\0\0\1\xff\1"))), [PUT, PIECE]
    ),
}


def try_to_read(frames: list[bytes]) -> bool:
    """Return whether the frames are a message, and check that it can be written, read and cut.

    RemoteError with one of three codes means that the frames are no message. Any other error is raised.
    """
    try:
        command, envelopes = read(frames)
    except RemoteError as error:
        assert error.code in ("MALFORMED", "FRAME_TOO_LARGE", "TOO_LARGE")
        return False
    again = _written(command, envelopes)
    assert _written(*read(again)) == again  # not the values: NaN equals nothing
    for envelope in envelopes:
        assert [m.content for m in messages_of(envelope)] == envelope.contents()
        piece = envelope.cut(range(0, envelope.count, 2))
        assert messages_of(piece) == messages_of(envelope)[::2]
        assert len(piece.header()) <= FRAME
    return True


def _written(command: c.Command, envelopes: list[Envelope]) -> list[bytes]:
    return write(command, [PackedEnvelopes(tuple(envelopes))] if command.packed_sizes() else envelopes)
