"""What this node, as a gateway, takes over to other sites, and the answers that it brings back.

It keeps no message: whoever is their master here does, and sends them again by another gateway, or by this
one, when it says that a connection is lost. It knows who asked, so that an answer finds back to him.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from mesh.core.delivery.router import refusal
from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import Part, Taking, take
from mesh.core.peers.facts import LoggedOut
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.presence.presence import Presence
from mesh.core.sites.batches import say_relay, say_relayed
from mesh.core.sites.custody import WAITS, answer_key
from mesh.core.sites.facts import GateChanged, SiteAnswered
from mesh.core.sites.gate import Gate
from mesh.core.sites.gateway import MOST, Gateways
from mesh.errors import RemoteError, SiteUnreachable
from mesh.routing.log import stream_key
from mesh.sites.gateways import gateway
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Outcome, Relay, Relayed
from mesh.wire.envelope import Envelope
from mesh.wire.limits import LETTERS

SITE = "site"  # kind of the names under which gateways say to which sites they are linked

# Rule 1: while anything of a stream is under way it goes by one connection: so its order holds.
# Rule 2: whenever a connection is lost the note under which this node announces that site is another one: who
#         has sent anything by it before sends that again.
# Rule 3: until he does, nothing goes there that he sent later, and does not know to be too early: it comes
#         again as well.


MOST_LOST = 10_000  # streams of which it is remembered that something was lost
Asker = tuple[bytes, bool]  # the uuid of who keeps it, and are they letters? These have an order of their own


@dataclass(slots=True)
class Line:
    """A stream in a domain, on its way by one connection: the numbers that each who keeps it waits for."""

    conn: Conn
    asked: dict[Asker, Ranges] = field(default_factory=dict)


class Transit(Part):
    """The face of it."""

    def __init__(self, desk: Desk, gateways: Gateways, presence: Presence, neighbours: Neighbours) -> None:
        self._desk = desk
        self._gateways = gateways
        self._presence = presence
        self._neighbours = neighbours
        self._lines: dict[str, dict[bytes, Line]] = {}
        self._losses: dict[str, int] = {}
        # (site, stream and domain, asker) -> the lowest number that he has to send again
        self._lost: dict[tuple[str, bytes, Asker], int] = {}
        self._answers: dict[tuple[bytes, str], list[Outcome]] = {}

    def hears(self) -> Sequence[Hearing]:
        return (hear(GateChanged, self._changed), hear(LoggedOut, self._logged_out))

    def from_peers(self) -> Sequence[Taking]:
        return (take(Relay, self._from_master),)

    def from_gateways(self) -> Sequence[Taking]:
        return (take(Relayed, self._answered),)

    def note(self, site: str) -> bytes | None:
        """What this node says with its being a gateway to that site; None: it is none now."""
        gate = self._gateways.gate(site)
        return self._losses.get(site, 0).to_bytes(8) if gate is not None and gate.gateways else None

    # --- there ------------------------------------------------------------------------------------------

    def take(self, source: bytes, site: str, envelopes: Collection[Envelope], dropped: int = 0) -> None:
        """Pass these on; `source`: the uuid of their master here. While there is no connection they are
        dropped, as he is told that there is none."""
        gate = self._gateways.gate(site)
        going: dict[Conn, list[Envelope]] = {}
        for envelope in envelopes:
            asker = source, bool(envelope.to)
            if self._lost and self._is_early(asker, site, envelope):
                continue
            line = self._line(gate, envelope) if gate is not None else None
            if line is not None and envelope.to and LETTERS not in line.conn.speaks:
                self._answer(source, site, envelope, self._older(site))
            elif line is not None:
                line.asked.setdefault(asker, Ranges()).add(envelope.first, envelope.last)
                going.setdefault(line.conn, []).append(envelope)
        for conn, leaving in going.items():
            say_relay(self._desk, conn, site, leaving, dropped)
            dropped = 0

    def _is_early(self, asker: Asker, site: str, envelope: Envelope) -> bool:
        """Does it come before what was lost, and is to come again?"""
        key = site, stream_key(envelope), asker
        number = self._lost.get(key)
        if number is None or (number < envelope.first and envelope.low <= number):
            return number is not None
        del self._lost[key]
        return False

    def _line(self, gate: Gate, envelope: Envelope) -> Line | None:
        lines, key = self._lines.setdefault(gate.name, {}), stream_key(envelope)
        line = lines.get(key)
        if line is None:
            able = [u for u, each in gate.gateways.items() if not envelope.to or LETTERS in each.conn.speaks]
            uuid = gateway(envelope.stream, gate.name, able or gate.gateways, MOST)
            if uuid is None:
                return None
            line = lines[key] = Line(gate.gateways[uuid].conn)
        return line

    def _older(self, site: str) -> SiteUnreachable:
        hint = "Bring both sites to the same release."
        return SiteUnreachable(
            f"the gateways of {site} take no letters: they are of an earlier one.", hint=hint
        )

    def _answer(self, source: bytes, site: str, envelope: Envelope, error: SiteUnreachable) -> None:
        """That did not go there."""
        self._answers.setdefault((source, site), []).append(
            Outcome(envelope.stream, refusal(envelope, error))
        )
        self._desk.ending[self._say] = None

    def _from_master(self, conn: Conn, peer: Peer, command: Relay, envelopes: list[Envelope]) -> None:
        for envelope in envelopes:
            if envelope.numbers:
                what = f"{peer.node.name} has something relayed with holes in it"
                raise RemoteError(what, code="MALFORMED")
        self.take(peer.node.uuid, command.site, envelopes, command.dropped)

    # --- and back ---------------------------------------------------------------------------------------

    def _answered(self, conn: Conn, gate: Gate, command: Relayed, _: list[Envelope]) -> None:
        lines = self._lines.get(gate.name, {})
        for outcome in command.outcomes if command.site == gate.name else ():
            a = outcome.answer
            key = answer_key(outcome.stream, a)
            line = lines.get(key)
            if line is None or line.conn is not conn or not 1 <= a.first <= a.last:
                continue
            for asker, numbers in list(line.asked.items()):
                about = numbers.common if a.state == WAITS else numbers.remove
                for first, last in about(a.first, a.last):
                    part = Outcome(outcome.stream, replace(a, first=first, last=last))
                    self._answers.setdefault((asker[0], gate.name), []).append(part)
                    self._desk.ending[self._say] = None
                if not numbers:
                    del line.asked[asker]
            if not line.asked:
                del lines[key]

    def _say(self) -> None:
        answers, self._answers = self._answers, {}
        for (source, site), outcomes in answers.items():
            if source == self._desk.me.uuid:
                self._desk.say(SiteAnswered(site, tuple(outcomes), source))
            elif (peer := self._neighbours.peers.get(source)) is not None:
                say_relayed(self._desk, peer.data, site, outcomes)

    # --- what changes -----------------------------------------------------------------------------------

    def _changed(self, fact: GateChanged) -> None:
        gate = self._gateways.gate(fact.site)
        conns, lines = gate.conns() if gate is not None else [], self._lines.get(fact.site, {})
        for key in [key for key, line in lines.items() if line.conn not in conns]:
            for asker, numbers in lines.pop(key).asked.items():
                known = self._lost.pop((fact.site, key, asker), numbers.bottom())
                self._lost[fact.site, key, asker] = min(known, numbers.bottom())
        while len(self._lost) > MOST_LOST:
            del self._lost[next(iter(self._lost))]
        if fact.is_less:
            self._losses[fact.site] = self._losses.get(fact.site, 0) + 1
        self._presence.serve((SITE, fact.site), len(conns), self.note(fact.site) or b"")

    def _logged_out(self, fact: LoggedOut) -> None:
        """What that master had asked for he sends again on another connection."""
        uuid = fact.peer.node.uuid
        self._lost = {key: number for key, number in self._lost.items() if key[2][0] != uuid}
        for lines in self._lines.values():
            for key, line in list(lines.items()):
                line.asked = {asker: numbers for asker, numbers in line.asked.items() if asker[0] != uuid}
                if not line.asked:
                    del lines[key]
