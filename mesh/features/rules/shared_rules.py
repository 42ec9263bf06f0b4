"""Rules that all nodes share: a row that only the admin of the mesh can sign."""

# Law 1: a change names the rules that it replaces, and is rejected if other rules are in force.
# Law 2: a node that cannot apply new rules keeps all earlier ones, and reports the reason.

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from mesh.discovery.state import Summary
from mesh.errors import LocalError
from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import Replies
from mesh.kernel.rules.ruling import ASKS_BY, Ruling
from mesh.kernel.sharing.shared import RowKind, Shared
from mesh.kernel.states.gossiping import Gossiping
from mesh.mapping.agreed import Agreed, AgreedNode, RuleSet, packed, unpacked
from mesh.mapping.rules import Rule
from mesh.printable import harmless
from mesh.shared.row import VALUE, SharedRow, row_of
from mesh.snapshots.moment import iso
from mesh.wire.calls import AskRow, AskRules, AskRulesPut
from mesh.wire.limits import RULES
from mesh.wire.replies import ReplyValue, RulesPut, RulesTold

ALLOWED = {True: "may be linked", False: "may not be linked", None: ""}
SHOWN = 16  # node names in an answer


class SharedRules(Component):
    """Component that accepts, spreads and shows the shared rules.

    `Ruling` applies them.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        shared: Shared,
        nodes: Nodes,
        gossiping: Gossiping,
        ruling: Ruling,
    ) -> None:
        self._context = context
        self._disk = disk
        self._shared = shared
        self._nodes = nodes
        self._gossiping = gossiping
        self._ruling = ruling
        self._refused = ""  # why this node does not apply them
        shared.add(RowKind(RULES, self._check, self._on_row_changed, by_admin=True, is_early=True))

    def features(self) -> Sequence[str]:
        return (RULES,)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskRules, self._read), answer(AskRulesPut, self._on_rules_put, Right.RUN))

    # --- the row ------------------------------------------------------------------------------------------

    def _check(self, row: SharedRow) -> None:
        if row.name:
            raise LocalError(f"A row of rules must not have the name {row.name[:80]!r}.", code="BAD_ROW")
        unpacked(row.value)

    def _on_row_changed(self, row: SharedRow, by: Peer | None) -> None:
        before, agreed = self._ruling.agreed, unpacked(row.value)
        is_news = self._context.serves
        whose = f"rules of {iso(row.stamp)}" + (f" by {harmless(agreed.by)}" if agreed.by else "")
        node = by.node if by is not None else None
        try:
            self._ruling.share(agreed, self._shared.summary(RULES))
        except LocalError as error:
            self._refused = f"{error}"
            self._context.event(RULES, f"{whose} are not in force here: {error}", node, level="warning")
            return
        self._refused = ""
        if is_news:
            self._context.event(RULES, f"{whose} are in force: {'; '.join(difference(before, agreed))}", node)

    # --- for clients --------------------------------------------------------------------------------------

    @property
    def stamp(self) -> int:
        """The timestamp of the row with the rules; 0 if no rules have been set yet."""
        row = self._shared.get_row(RULES, "")
        return row.stamp if row is not None else 0

    def _read(self, asked: IncomingCall[AskRules]) -> None:
        row, keyring = self._shared.get_row(RULES, ""), self._context.settings.keyring
        asked.reply(
            RulesTold(
                value=row.value if row is not None else b"",
                stamp=self.stamp,
                next=self._shared.stamp(RULES, ""),
                own=self._own(),
                keys=keyring is not None,
                admin=keyring.admin if keyring is not None else b"",
                signature=row.signature if row is not None else b"",
                behind=self._behind(),
                changing=self._ruling.is_changing,
                refused=self._refused,
            )
        )

    def _own(self) -> bytes:
        found = packed(as_agreed(self._ruling.own))
        return found if len(found) <= VALUE else b""

    def _behind(self) -> list[str]:
        """Return the names of live nodes that have not announced the current rules, at most SHOWN."""
        if not self.stamp:
            return []
        mine = self._shared.summary(RULES)
        known = self._gossiping.gossip.known.values()
        asks_by = Summary(ASKS_BY, mine.stamp, mine.digest)
        has = {one.state.name for one in known if asks_by in one.state.shared}
        alive = (peer.node.name for peer in self._nodes.askable())
        return sorted(name for name in alive if name not in has)[:SHOWN]

    def _on_rules_put(self, asked: IncomingCall[AskRulesPut]) -> None:
        row = self._admins(asked.ask.row)
        is_again = row == self._shared.get_row(RULES, "")  # a repeated request: the answer was lost
        if not is_again:
            self._check_seen(asked.ask.was, row)
        before, after = self._ruling.agreed, unpacked(row.value)
        self._ruling.check_rules(self._ruling.own, after)
        gone = {peer.node.name for peer in self._nodes.away()}
        away = sorted(name for name in gone if not self._nodes.is_alive(name))[:SHOWN]  # not if restarted
        if away and not asked.ask.force and before.rules != after.rules:
            until = "this node returns" if len(away) == 1 else "these nodes return"
            text = (
                f"The rules were not set, because {', '.join(away)} cannot be reached. Until {until}, "
                "clients there would miss messages of a new master."
            )
            raise LocalError(text, hint="Wait for them, or use --force.", code="NODES_AWAY")
        if not is_again:
            self._shared.bring(row)
            self._context.event(RULES, f"mesh-wide rules were set by {asked.doer}")
        ask = AskRow(row=msgspec.to_builtins(row, builtin_types=(bytes,)))
        self._shared.ask_speaking(RULES, ask, ReplyValue, partial(self._has_spread, asked, row, away))

    def _admins(self, said: object) -> SharedRow:
        row = row_of(said)
        if row.kind != RULES:
            raise LocalError(f"The row has the kind {row.kind!r} instead of {RULES!r}.", code="BAD_ROW")
        keyring = self._context.settings.keyring
        if keyring is not None and not keyring.admin:
            me = self._context.me.name
            raise LocalError(
                f"Only the admin can set mesh-wide rules, and the keys of {me} name no admin.",
                hint="If the mesh has an admin, join this node again with a newer token. Otherwise run "
                "`mesh init --admin`, and join all nodes again. Then restart these nodes.",
                code="NO_ADMIN",
            )
        return row

    def _check_seen(self, was: int, row: SharedRow) -> None:
        """Raise LocalError STALE if the client has not seen the current rules, or `row` is not newer."""
        if was == self.stamp < row.stamp:
            return
        known, hint = self._shared.get_row(RULES, ""), "See `mesh rule ls`, then repeat the command."
        by = harmless(unpacked(known.value).by) if known is not None else ""
        text = f"The rules were changed meanwhile, at {iso(self.stamp)}{f' by {by}' if by else ''}"
        if was > self.stamp:
            text = f"{self._context.me.name} has not received the rules that yours replace"
            hint = "Repeat the command in a moment."
        elif was == self.stamp:
            text = f"The timestamp of your rules is not above {iso(self.stamp)}, that of the rules in force"
        raise LocalError(f"{text}; yours were not set.", hint=hint, code="STALE")

    def _has_spread(
        self,
        asked: IncomingCall[AskRulesPut],
        row: SharedRow,
        away: list[str],
        _: Replies[ReplyValue],
        missing: list[str],
    ) -> None:
        if self.stamp != row.stamp:
            text = "Other rules, which were set at about the same time, have replaced yours."
            asked.fail(LocalError(text, hint="See `mesh rule ls`, then repeat the command.", code="STALE"))
            return
        told = RulesPut(missing=sorted(missing)[:SHOWN], away=away)
        stored = partial(self._disk.commit_if_any, lambda error: asked.reply(told) if error is None else None)
        self._ruling.when_counting(stored)  # the rules are in force before the answer


def as_agreed(own: RuleSet) -> Agreed:
    """Return the rules of the settings as an `Agreed`, for display beside the shared rules."""
    by_node: dict[str, tuple[Rule, ...]] = dict.fromkeys(own.known, ())
    for rule in own.rules:
        by_node[rule.node] = (*by_node.get(rule.node, ()), rule)
    return Agreed({name: AgreedNode(rules or None) for name, rules in sorted(by_node.items())})


def difference(before: Agreed, after: Agreed) -> list[str]:
    """Return a text for each node with a changed entry, at most 8 and an ellipsis."""
    names = sorted({*before.nodes, *after.nodes})
    changed = [name for name in names if before.nodes.get(name) != after.nodes.get(name)]
    return [_said(name, after.nodes.get(name)) for name in changed[:8]] + (["…"] if len(changed) > 8 else [])


def _said(name: str, entry: AgreedNode | None) -> str:
    if entry is None:
        return f"{name}: as in its file"
    rules = f"{len(entry.rules)} rules" if entry.rules is not None else ""
    at = f"at {', '.join(entry.at)}" if entry.at else ""
    return f"{name}: {', '.join(filter(None, (rules, ALLOWED[entry.allowed], at)))}"
