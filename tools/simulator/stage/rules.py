"""Changes of shared rules by the administrator, of files, and forgeries of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs, to_builtins

from mesh.mapping.agreed import Agreed, AgreedNode, packed
from mesh.mapping.rules import Rule
from mesh.security.signing import public_key, sign
from mesh.shared.row import NOBODY, SharedRow
from mesh.wire import commands as c
from mesh.wire.calls import AskRow
from mesh.wire.limits import RULES
from mesh.wire.replies import ReplyValue
from tools.simulator.casts import RUGBY
from tools.simulator.clients.client import SimClient
from tools.simulator.history import Event
from tools.simulator.stage.scene import Scene, Steps
from tools.simulator.wording import agreed_of, own_of
from tools.simulator.world.keys import ADMIN, seed_of
from tools.simulator.world.machine import HarshNode
from tools.simulator.world.ruled import sum_of_rules

LOOK = 0.1  # s between two checks of the login
PATIENCE = 20.0  # s that the administrator waits for an answer
AHEAD = 10**9  # ns added to a stolen list's timestamp


class Rules:
    """The administrator of a scene, and forgers."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._net, self._nodes = scene, scene.net, scene.nodes
        self._rows: list[SharedRow] = []
        self._written: dict[str, int] = {}  # number of each node's file

    @property
    def steps(self) -> Steps:
        return {"set rules": self._set, "reload": self._reload, "forge rules": self._forge}

    # --- administrator --------------------------------------------------------------------------------------

    def _set(self, name: str, words: str) -> None:
        """Set the rules at the node `name`, or at the next running node."""
        names = list(self._nodes)
        names = names[names.index(name) :] + names[: names.index(name)]
        there = [n for n in names if self._nodes[n].is_up and not self._nodes[n].is_stopped]
        if there:
            node = self._nodes[there[0]]
            client = SimClient(self._net, node.ipc, f"admin-{self._net.now:.3f}")
            self._when_in(node, client, self._net.now + PATIENCE, lambda: self._put(node, client, words))

    def _when_in(self, node: HarshNode, client: SimClient, limit: float, then: Callable[[], None]) -> None:
        if client.is_up:
            then()
        elif self._net.now < limit:
            again = partial(self._when_in, node, client, limit, then)
            self._net.after(LOOK, again)
        else:
            client.close()

    def _put(self, node: HarshNode, client: SimClient, words: str) -> None:
        for conn in node.core._conns.values() if node.is_up else ():
            if conn.role == "client":
                conn.grant = "node"
        known = node.core.parts.shared.get_row(RULES, "")
        was = known.stamp if known is not None else 0
        row = signed(node, structs.replace(agreed_of(words), base=was, by="admin"), ADMIN)
        self._rows.append(row)
        said = {"row": to_builtins(row, builtin_types=(bytes,)), "was": was, "force": True}
        what = {"stamp": row.stamp, "text": sum_of_rules(row.value)}
        self._tell("rules put", node, keys=(words,), **what)
        call = client.ask(lambda request: c.Call(request, "rules_put", said))
        self._wait(node, client, lambda: call.reply, self._net.now + PATIENCE, row)

    def _wait(
        self,
        node: HarshNode,
        client: SimClient,
        reply: Callable[[], c.Reply | None],
        limit: float,
        row: SharedRow,
    ) -> None:
        said = reply()
        if said is None and self._net.now < limit:
            self._net.after(LOOK, partial(self._wait, node, client, reply, limit, row))
            return
        text = "nothing" if said is None else said.code or "OK"
        self._scene.history.met(f"rules put: {text}")
        self._tell("rules said", node, stamp=row.stamp, text=text)
        client.close()

    def _tell(self, kind: str, node: HarshNode, **what: Any) -> None:
        self._scene.history.add(replace(Event(self._net.now, kind, node.label, node.disk.boot), **what))

    # --- files --------------------------------------------------------------------------------------------

    def _reload(self, name: str, words: str, number: int) -> None:
        """Replace and reload the file of a node, unless the node already has a later one."""
        if number < self._written.get(name, 0):
            return
        self._written[name] = number
        node, rules = self._nodes[name], own_of(words)
        node._settings["rules"] = rules
        self._tell("rules read", node, keys=(words,))
        if node.is_up:
            node.awake(partial(self._adopted, node, rules))

    def _adopted(self, node: HarshNode, rules: Sequence[Rule]) -> None:
        node.core._at(node.now, node.wall)
        node.core.parts.ruling.set_rules(rules, ())
        node._carry_out_all()

    # --- forgeries ------------------------------------------------------------------------------------------

    def _forge(self, name: str, to: str, what: str, number: int) -> None:
        """Let a node with its own keys send a list that the administrator has not signed, or an older one."""
        liar = self._nodes[name]
        if not liar.is_up or liar.is_stopped:
            return
        peer = liar.core.parts.neighbours.named(to)
        row = self._forged(liar, what, number)
        if row is None or peer is None or peer.control is None:
            return
        parts = liar.core.parts
        ask = AskRow(row=to_builtins(row, builtin_types=(bytes,)))
        parts.questions.ask_all(
            [peer], ask, ReplyValue, lambda *_: None, 2.0, parts.neighbours.liveness.send_question
        )
        liar._carry_out_all()
        self._scene.history.met(f"forged rules: {what}")

    def _forged(self, liar: HarshNode, what: str, number: int) -> SharedRow | None:
        mine = Agreed({liar.name: AgreedNode((Rule(liar.name, domains=(RUGBY,)),))}, by="liar")
        if what in ("mine", "unsigned"):
            return signed(liar, mine, liar.name if what == "mine" else "")
        older = self._rows[min(number, len(self._rows) - 1)] if self._rows else None
        if older is not None and what == "younger":  # the administrator's list, with another timestamp
            return structs.replace(older, stamp=older.stamp + AHEAD)
        return older


def signed(node: HarshNode, agreed: Agreed, by: str) -> SharedRow:
    """Return a row with a timestamp of `node`, signed by `by`, or unsigned if that is ""."""
    stamp = node.core.parts.shared.stamp(RULES, "")
    row = SharedRow(RULES, "", stamp, packed(agreed), NOBODY, 0)
    return row.signed(public_key(seed_of(by)), partial(sign, seed_of(by))) if by else row
