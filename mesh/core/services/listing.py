"""Which addresses are served in the mesh, where, and by how many? Read only."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.desk.asked import Inquiry, Verb, answer
from mesh.core.desk.desk import Desk
from mesh.core.desk.pages import NAMES, page
from mesh.core.desk.part import Part
from mesh.core.presence.presence import Presence
from mesh.core.ways.nodes import Nodes
from mesh.core.ways.questions import Questions, Replies
from mesh.names import ADDRESS
from mesh.wire.calls import AskAddresses
from mesh.wire.replies import ServedAt, ServedRow, ServedRows


class Listing(Part):
    """The list of all addresses. Each node says what it serves; the one that is asked puts it together."""

    def __init__(self, desk: Desk, presence: Presence, nodes: Nodes, questions: Questions) -> None:
        self._desk = desk
        self._presence = presence
        self._nodes = nodes
        self._questions = questions

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskAddresses, self._all),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskAddresses, lambda asked: asked.say(self._own(asked.ask))),)

    def _own(self, ask: AskAddresses) -> ServedRows:
        """A page of what is served here."""
        me = self._desk.me
        served = {name: n for (kind, name), n in self._presence.own.items() if kind == ADDRESS}

        def row(address: str) -> ServedRow:
            here = ServedAt(node=me.name, uuid=me.uuid.hex(), consumers=served[address])
            return ServedRow(address=address, nodes=[here])

        rows, after = page(served, row, ask)
        return ServedRows(addresses=rows, next=after)

    def _all(self, asked: Inquiry[AskAddresses]) -> None:
        """A page of what is served anywhere."""

        def came(replies: Replies[ServedRows], missing: list[str]) -> None:
            pages = [self._own(asked.ask), *(told.value for told in replies.values() if not told.code)]
            asked.say(merged(pages, asked.ask, missing))

        def ask() -> None:
            self._questions.ask_all(self._nodes.askable(), asked.ask, ServedRows, came)

        self._questions.when_settled(ask)


def merged(pages: Sequence[ServedRows], ask: AskAddresses, missing: Sequence[str]) -> ServedRows:
    """One page of those of several nodes: as far as all of them have said what they serve."""
    nodes: dict[str, list[ServedAt]] = {}
    for one in pages:
        for row in one.addresses:
            nodes.setdefault(row.address, []).extend(row.nodes)
    end = min((one.next for one in pages if one.next), default="")
    told = [address for address in nodes if not end or address <= end]

    def whole(address: str) -> ServedRow:
        return ServedRow(address=address, nodes=sorted(nodes[address], key=lambda at: at.node))

    rows, after = page(told, whole, ask)
    return ServedRows(addresses=rows, next=after or end, missing=list(missing)[:NAMES])
