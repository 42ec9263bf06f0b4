"""The tables of commands, of the structs in them, and of flags, features and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

import mesh.features.all  # noqa: F401 - registers the commands of features
from mesh.discovery import lines, state
from mesh.features.queues.model.moves.queue_report import QueueReport
from mesh.features.sites.wire import Behind, Relay, Relayed, Site
from mesh.features.transactions.wire import Commit, Settled
from mesh.security.keyfiles import MeshFile
from mesh.wire import commands as c
from mesh.wire import envelope, limits
from mesh.wire.header import Header
from mesh.wire.properties import PropertiesRecord
from tools.wire_parts.reading import Constant, constants, description, fields, sentence

KINDS: Mapping[int, type[c.Command]] = dict(sorted(c.COMMANDS.items()))
STRUCTS: Mapping[str, type[msgspec.Struct]] = {
    "Header": Header,
    "Properties": PropertiesRecord,
    **{
        shape.__name__: shape
        for shape in (
            c.Introduction, c.Query, c.Answer, c.ItemHead, c.Row, c.Outcome, c.Rumour, c.Stratum,
            c.Certificate, Settled, QueueReport, lines.StateMessage, lines.StateLine, state.NodeState,
            state.Summary, MeshFile,
        )
    },
}  # fmt: skip
SENDERS: Mapping[str, Sequence[type[c.Command]]] = {
    "dialing end": (c.Hello,),
    "dialed end": (c.Challenge, c.Welcome),
    "node": (c.Refuse, c.Who),
    "both": (c.Ping, c.Pong, c.Bye, c.Piece, c.PieceAck, c.Unknown),
    "client to node": (c.Publish, c.Subscribe, c.Unsubscribe, c.Consume, c.Settle, Commit),
    "node to client": (c.Answers, c.Ended),
    "node to both": (c.Items, c.Reply, c.Serving),
    "both to node": (c.Ack, c.Call, c.Watch),
    "to or between gateways": (Relay, Relayed),
    "between gateways": (Site, Behind),
}
HIDDEN = {"MIB", "KIB", "TAILED", "LATE", "JOINT"}  # no part of the protocol


def heading(kind: int) -> str:
    return f"{KINDS[kind].__name__.upper()} ({kind})"


def link(title: str) -> str:
    """Return a link to a heading of the page."""
    anchor = "".join(
        letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter == "-"
    )
    return f"[{title.partition(' (')[0]}](#{anchor})"


def sender(kind: type[c.Command]) -> str:
    return next((ends for ends, kinds in SENDERS.items() if kind in kinds), "between nodes")


def overview() -> Iterator[str]:
    yield "| kind | command | from | envelopes | feature | meaning |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for number, kind in KINDS.items():
        is_packed = kind.packed_sizes is not c.Command.packed_sizes
        has_envelopes = is_packed or kind.frame_counts is not c.Command.frame_counts
        feature = f"`{kind.word}`" if kind.word else ""
        cells = [str(number), link(heading(number)), sender(kind), "yes" if has_envelopes else "", feature]
        yield f"| {' | '.join([*cells, sentence(kind)])} |"


def of_struct(shape: type[msgspec.Struct]) -> Iterator[str]:
    """Yield the sentence and the table of one struct."""
    yield from (" ".join(description(shape)).strip(), "")
    first = 1 if issubclass(shape, c.Command) else 0
    rows = list(fields(shape))
    if not rows:
        yield "No fields."
        return
    yield "| # | field | type | default | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for place, field in enumerate(rows, first):
        yield f"| {place} | {field.name} | {field.type} | {field.default} | {field.meaning} |"


def flags() -> Sequence[Constant]:
    return [each for each in constants(envelope) if each.name.isupper() and each.name not in HIDDEN]


def features() -> Sequence[Constant]:
    return [each for each in constants(limits) if isinstance(each.value, str)]


def bounds() -> Sequence[Constant]:
    return [each for each in constants(limits) if isinstance(each.value, int) and each.name not in HIDDEN]


def table(head: str, rows: Sequence[Constant], *, is_named: bool = True) -> Iterator[str]:
    yield f"| {head} |"
    yield "| --- " * (head.count("|") + 1) + "|"
    for each in rows:
        value = f"`{each.value}`" if isinstance(each.value, str) else str(each.value)
        cells = [each.name, value, each.meaning] if is_named else [value, each.meaning]
        yield f"| {' | '.join(cells)} |"
