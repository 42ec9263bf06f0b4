"""The tables of questions, of their arguments, and of the values of replies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from mesh.features.all import FEATURES
from mesh.kernel.context.dispatch_tables import DispatchTables
from mesh.kernel.context.incoming_call import Right, Verb
from mesh.kernel.context.settings import Settings
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.metrics.table import TABLE
from mesh.wire import replies as r
from mesh.wire.calls import Carried
from mesh.wire.commands import Introduction
from tools.wire_parts.commands import link
from tools.wire_parts.reading import description, fields, sentence

NOTHING = (r.ReplyValue,)
TO_CLIENTS: Mapping[str, tuple[type[r.ReplyValue], ...]] = {
    "get": (r.ClientValues,),
    "erase": (r.ClientErased,),
    "route": (r.Steps,),
    "why": (r.Reasons,),
    "locate": (r.Located,),
    "tree": (r.Tree,),
    "clients": (r.ClientRows,),
    "ls": (r.NodeRows,),
    "info": (r.Info,),
    "addresses": (r.ServedRows,),
    "fared": (r.FaredRows,),
    "sites": (r.SiteRows,),
    "site_pause": (r.SitePaused,),
    "site_sync": (r.SiteSync,),
    "servers": (r.Servers,),
    "events": (r.EventRows,),
    "peers": (r.PeerRows,),
    "where": (r.Address,),
    "peer": (r.Changed,),
    "weights": (r.WeightsRead, r.Applied),
    "inbox": (r.Released,),
    "queue_declare": (r.QueueRow,),
    "queue_remove": (r.Removed,),
    "queue_ls": (r.QueueRows,),
    "queue_info": (r.QueueRow,),
    "queue_peek": (r.Peeked,),
    "queue_purge": (r.Purged,),
    "queue_why": (r.QueueWhy,),
    "queue_move": (r.MovedOn,),
    "queue_drain": (r.Drain,),
    "drain": (r.NodeDrained,),
    "durable": (r.QueueRow,),
    "durable_remove": (r.Removed,),
    "tx_outcome": (r.TxOutcome,),
    "log": NOTHING,
    "backup": NOTHING,
    "reload": (r.ReloadTold,),
    "rules": (r.RulesTold,),
    "rules_put": (r.RulesPut,),
    "down": NOTHING,
    "attach": NOTHING,
    "space_write": (r.SpaceWritten,),
    "space_read": (r.SpaceRows,),
    "spaces": (r.SpaceList,),
    "space_declare": (r.SpaceList,),
    "tx_ls": (r.TransactionRows,),
    "tx_decide": (r.Decided,),
    "space_move": (r.SpaceMoved,),
    "space_remove": (r.SpaceList,),
    "lock_ask": (r.LockAnswer,),
    "lock_renew": (r.LocksRenewed,),
    "lock_release": NOTHING,
    "lock_ls": (r.LockRows,),
    "tally_add": (r.TallyAdded,),
    "tally": (r.TallySum,),
    "tallies": (r.TallyNames,),
}
TO_NODES: Mapping[str, tuple[type[r.ReplyValue], ...]] = {
    "get": (r.Values,),
    "erase": (r.Erased,),
    "route": (r.Steps,),
    "why": (r.Reasons,),
    "locate": (r.Located,),
    "tree": (r.Tree,),
    "clients": (r.ClientRows,),
    "addresses": (r.ServedRows,),
    "sites": (r.SiteRows,),
    "site_sync": (r.SiteSync,),
    "queue_ls": (r.QueueRows,),
    "queue_info": (r.QueueRows,),
    "queue_peek": (r.Peeked,),
    "queue_purge": (r.Purged,),
    "queue_why": (r.QueueWhy,),
    "rows": (r.RowsTold,),
    "row": NOTHING,
    "takers": (r.Takers,),
    "state": (r.StateTold,),
    "dial_back": (r.DialedBack,),
    "where": (r.Hops,),
    "weights": (r.WeightsTold,),
    "resume": (r.Resumed,),
    "refill": (r.Refilled,),
    "release": (r.SessionReleased,),
    "hold": (r.DeliveriesHeld,),
    "settle": (r.Settlements,),
    "collect": (r.Collected,),
    "notify": NOTHING,
    "tx_outcome": (r.TxOutcome,),
    "space_write": (r.SpaceWritten,),
    "space_read": (r.SpaceRows,),
    "space_declare": (r.SpaceList,),
    "tx_ls": (r.TransactionRows,),
    "tx_decide": (r.Decided,),
    "space_claim": (r.SpaceClaimed,),
    "space_beat": (r.SpaceBeaten,),
    "lock_ask": (r.LockAnswer,),
    "lock_renew": (r.LocksRenewed,),
    "lock_release": NOTHING,
    "lock_ls": (r.LockRows,),
    "space_move": (r.SpaceMoved,),
    "space_remove": (r.SpaceList,),
    "space_hand": NOTHING,
    "space_copies": (r.SpaceCopies,),
    "tally_add": (r.TallyAdded,),
    "tally_row": (r.TallyRow,),
}
FORWARDED = ("visited", "within")  # arguments of each question that nodes forward
BASES = {r.ReplyValue, r.Gossiped, r.Process}  # no value of their own


def core() -> NodeCore:
    return NodeCore(Parts(Settings(me=Introduction(b"h" * 16, "heron", 1, "")), bytes, lambda: 0.5, FEATURES))


def values() -> list[type[msgspec.Struct]]:
    """Return the structs in the values of replies, by name."""
    shapes = (each for each in vars(r).values() if isinstance(each, type) and each not in BASES)
    return sorted(
        (each for each in shapes if issubclass(each, msgspec.Struct)), key=lambda each: each.__name__
    )


def verbs(table: Mapping[str, Verb], replies: Mapping[str, tuple[type, ...]], hidden: str) -> Iterator[str]:
    """Yield the table of verbs that one kind of peer can ask.

    A meaning that begins with `hidden` belongs to an argument of the other kind, which is left out.
    """
    yield "| verb | arguments | reply | right | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for name, shapes in replies.items():
        asks = table[name].asks
        shown = (f for f in fields(asks) if f.name not in FORWARDED and not f.meaning.startswith(hidden))
        arguments = ", ".join(f"`{field.name}`" for field in shown)
        reply = " or ".join(link(shape.__name__) for shape in shapes if shape not in BASES)
        right = "" if table[name].right is Right.READ else str(table[name].right.value)
        yield f"| `{name}` | {arguments} | {reply} | {right} | {sentence(asks)} |"


def forwarded() -> Iterator[str]:
    """Yield the table of the arguments that nodes add to a question that they forward."""
    yield "A question that nodes forward has two more arguments:"
    yield ""
    yield "| argument | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for field in fields(Carried):
        yield f"| `{field.name}` | {field.type} | {field.default} | {field.meaning} |"


def arguments(face: DispatchTables) -> Iterator[str]:
    yield "| verb | argument | type | default | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    asked = {**face.client_verbs, **face.peer_verbs}
    for name in {**TO_CLIENTS, **TO_NODES}:
        for field in fields(asked[name].asks):
            if field.name not in FORWARDED:
                cells = [f"`{name}`", f"`{field.name}`", field.type, field.default, field.meaning]
                yield f"| {' | '.join(cells)} |"


def reply_values() -> Iterator[str]:
    for shape in values():
        yield from (f"#### {shape.__name__}", "", " ".join(description(shape)).strip(), "")
        yield from ("| field | type | meaning |", "| --- | --- | --- |")
        yield from (f"| `{field.name}` | {field.type} | {field.meaning} |" for field in fields(shape))
        yield ""


def metrics(shown: Collection[str]) -> Iterator[str]:
    """Yield the table of the counters in the reply to `info`; `shown` are those of the node's core."""
    yield "| counter | meaning | [metric](monitoring.md#metrics-for-prometheus) |"
    yield "| --- | --- | --- |"
    helps: dict[str, str] = {}
    for name, row in TABLE.items():
        helps.setdefault(row.name, row.help)
        if name not in shown:
            continue
        labels = ", ".join(f'{label}="{value}"' for label, value in row.labels.items())
        total = "_total" if row.kind == "counter" else ""
        yield f"| `{name}` | {helps[row.name]} | `{row.name}{total}{f'{{{labels}}}' if labels else ''}` |"
