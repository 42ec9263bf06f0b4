"""Stories of rules that all nodes share: they change while messages flow, nodes are cut off, die and lie.

python -m tools.rule_stories --seeds 50
python -m tools.rule_stories --planted
"""

# Law R1: when all is healed, all go by the list with the highest stamp that the admin has signed, and by no
#         other, whoever brought which.
# Law R2: a persistent message that was answered OK is given to each subscriber once. Whoever was cut off or
#         away while rules changed may miss what was taken then. What was sent to a node that died before it
#         answered, and is no master when it is back, may come twice.
# Law R3: in the end nothing waits, and what is published then is taken by the master that rules name, alone.
# Law R4: what the admin signs is taken, where he has seen what there is; no node goes back to older ones.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import click
from msgspec import structs, to_builtins

from mesh.core.forwarding.forwarder import Forwarder
from mesh.core.rules.ruling import ENDS, SWITCH
from mesh.core.rules.shared import Shared
from mesh.errors import LocalError
from mesh.mapping.agreed import NONE, Agreed, Entry, packed, unpacked
from mesh.mapping.claims import Claims
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.security.signing import public_key, sign
from mesh.shared.row import NOBODY, SharedRow
from mesh.shared.table import RowTable
from mesh.wire import commands as c
from mesh.wire.calls import AskRow
from mesh.wire.limits import RULES
from mesh.wire.replies import ReplyValue
from tools.simulating.clients.client import client_of
from tools.simulating.clients.kept import Subscription
from tools.simulating.world.keys import ADMIN, key_settings, seed_of
from tools.simulating.world.mesh import SimNetwork
from tools.simulating.world.node import SimNode

MASTERS, OTHERS = ("heron", "avalon", "golan"), ("bilbo", "frodo")  # the others publish, and live on
LIAR = "golan"
D, TOPICS = "D", ("a", "b")
CHANGES = 7
AFTER = 20.0  # s after a change, or after one was cut off or away, in which it may not have been asked yet
HEALED = 240.0  # s within which all is through


class Places(dict[Any, Any]):
    """In place of those by which clients of the simulator see at once that something was taken twice: that is
    judged here, at the end."""

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return default


class Story:
    """One of them; `broken` are the laws that it broke, in words."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.net = SimNetwork(seed)
        self.net.places = Places()
        self.killed: list[float] = []
        names = (*MASTERS, *OTHERS)
        self.nodes = {name: self.net.node(name, *names[:1], **key_settings(name)) for name in names}
        self.broken: list[str] = []
        self.counts = Counter[str]()
        self.put: list[SharedRow] = []
        self.changes: list[float] = []  # when rules changed,
        self.away: dict[str, list[tuple[float, float]]] = {
            name: [] for name in names
        }  # and who was not there
        self.sent: dict[bytes, float] = {}
        self.ranks: dict[str, Any] = {}  # the highest that each node had

    def play(self) -> None:
        self.net.until(lambda: all(len(n.alive) >= len(self.nodes) - 1 for n in self.nodes.values()), 30)
        self.net.until(lambda: all(self._hears_all(n) for n in self.nodes.values()), 30)
        self.pubs = [client_of(self.nodes[name], f"pub-{name}") for name in OTHERS]
        self.ears = {name: self._ear(name) for name in self.nodes}
        for _ in range(CHANGES):
            self._change()
            for _ in range(self.dice.choice([0, 20])):
                self._publish(1)
                self._run(0.02)
            for _ in range(self.dice.randint(1, 3)):
                self._publish(self.dice.randint(1, 8))
                self._befall()
                self._run(self.dice.choice([0.05, 0.4, 1.5, 4.0]))
        self._heal()
        self._judge()
        self._publish_last()

    def _run(self, seconds: float) -> None:
        """Let time pass; nobody has rows by then but those of the admin, nor older ones than he had."""
        self.net.run(seconds)
        for name, node in self.nodes.items():
            row = node.core.parts.shared.get(RULES, "") if node.is_up else None
            if row is None:
                continue
            if row not in self.put:
                self._breaks(f"R1: {name} has rules that nobody has signed")
            if row.rank < self.ranks.get(name, row.rank):
                self._breaks(f"R4: {name} goes back to older rules")
            self.ranks[name] = row.rank

    def _breaks(self, what: str) -> None:
        if what not in self.broken:
            self.broken.append(what)

    def _hears_all(self, node: SimNode) -> bool:
        return len(node.core.parts.gossiping.gossip.known) == len(self.nodes) - 1

    def _ear(self, name: str) -> Subscription:
        return client_of(self.nodes[name], f"ear-{name}").subscribed(pattern="#", domain=D)

    # --- what is done -------------------------------------------------------------------------------------

    def _publish(self, n: int) -> None:
        for _ in range(n):
            pub, content = self.dice.choice(self.pubs), b"%d" % len(self.sent)
            self.sent[content] = self.net.now
            pub.publish(self.dice.choice(TOPICS), content, domain=D, persistent=True)

    def _agreed(self) -> Agreed:
        """One master of the domain, or one for a key beside it; sometimes nobody says anything."""
        if self.dice.random() < 0.1:
            return NONE
        domain, key = self.dice.sample(MASTERS, 2)
        found = NONE.with_(domain, Entry((Rule(domain, domains=(D,)),)))
        if self.dice.random() < 0.5:
            found = found.with_(key, Entry((Rule(key, keys=("a",)),)))
        return found

    def _change(self) -> None:
        at = self.dice.choice([node for node in self.nodes.values() if node.is_up])
        self.net.run(0.0)
        known = at.core.parts.shared.get(RULES, "")
        was = known.stamp if known is not None else 0
        agreed = structs.replace(self._agreed(), base=was, by="admin")
        row = _signed(at, agreed, ADMIN)
        client = client_of(at).connected()
        for conn in at.core._conns.values():
            if conn.role == "client":
                conn.grant = "node"
        said = {"row": to_builtins(row, builtin_types=(bytes,)), "was": was, "force": True}
        call = client.ask(lambda request: c.Call(request, "rules_put", said))
        before = self.net.now
        self.put.append(row)
        while not call.reply and self.net.now < before + 10:
            self._publish(self.dice.choice([0, 1]))
            self._run(0.002)
        assert call.reply is not None
        self.counts[f"a change: {call.reply.code or 'OK'}"] += 1
        client.close()
        if call.reply.code:
            self._breaks(f"R4: the admin is answered {call.reply.code}: {call.reply.text}")
        self.changes.append(before)

    def _befall(self) -> None:
        what = self.dice.choice(["cut", "kill", "lie", "", ""])
        if what == "cut":
            self._cut()
        elif what == "kill":
            self._kill()
        elif what == "lie":
            self._lie()

    def _cut(self) -> None:
        one, other = self.dice.sample(list(self.nodes), 2)
        self.net.cut(one, other)
        for name in (one, other):
            self.away[name].append((self.net.now, float("inf")))
        self.counts["cut"] += 1
        self.net.after(self.dice.choice([0.5, 4.0, 15.0]), self._mend)

    def _mend(self) -> None:
        self.net.heal()
        for name, spans in self.away.items():
            self.away[name] = [(a, min(b, self.net.now)) for a, b in spans]

    def _kill(self) -> None:
        name = self.dice.choice(MASTERS)
        node = self.nodes[name]
        if node.is_up:
            node.kill()
            self.killed.append(self.net.now)
            seconds = self.dice.choice([0.1, 2.0, 14.0])
            self.away[name].append((self.net.now, self.net.now + seconds))
            self.counts["killed"] += 1
            self.net.after(seconds, lambda: None if node.is_up else node.start())

    def _lie(self) -> None:
        """One that has all keys of a node gives others lists that nobody has signed, and older ones."""
        liar, to = self.nodes[LIAR], self.nodes[self.dice.choice(OTHERS)]
        if not liar.is_up:
            return
        mine = Agreed({LIAR: Entry((Rule(LIAR, domains=(D,)),))}, by="liar")
        row = self.dice.choice([_signed(liar, mine, LIAR), _signed(liar, mine, ""), *self.put[:-1]])
        if row in self.put and self.dice.random() < 0.5:  # with the admin's words, and another stamp
            row = structs.replace(row, stamp=row.stamp + 10**9)
        parts = liar.core.parts
        peer = parts.neighbours.named(to.name)
        if peer is not None and peer.control is not None:
            ask = AskRow(row=to_builtins(row, builtin_types=(bytes,)))
            parts.shared._tables[RULES]._summary = None
            parts.questions.ask_all(
                [peer], ask, ReplyValue, lambda *_: None, 2.0, parts.neighbours.liveness.ask
            )
            liar._carry_out_all()
            self.counts["lied"] += 1

    def _heal(self) -> None:
        self._mend()
        for node in self.nodes.values():
            if not node.is_up:
                node.start()
        try:
            self.net.until(lambda: all(pub.outbox.is_through for pub in self.pubs), HEALED)
        except AssertionError:
            self.broken.append("R3: something is never answered")
        self.net.run(ENDS + SWITCH + AFTER)

    # --- what came of it ----------------------------------------------------------------------------------

    def _judge(self) -> None:
        newest = max(self.put, key=lambda row: row.rank)
        for name, node in self.nodes.items():
            row = node.core.parts.shared.get(RULES, "")
            if row != newest:
                self.broken.append(f"R1: {name} has {row and (row.stamp, row.key)} of all")
            if node.core.parts.ruling.agreed != unpacked(newest.value):
                self.broken.append(f"R1: {name} goes by others")
        for name, ear in self.ears.items():
            self._judge_ear(name, Counter(ear.contents))
        for pub in self.pubs:
            states = Counter(answer.state for answer in pub.answers.values())
            if set(states) != {"OK"}:
                self.broken.append(f"R3: answered {dict(states)}")
        for name, node in self.nodes.items():
            if waits := node.metric("tailed_back"):
                self.broken.append(f"R3: {waits} wait at {name}")

    def _publish_last(self) -> None:
        """To each topic once more: who has it then?"""
        agreed = unpacked(max(self.put, key=lambda row: row.rank).value)
        rules = [rule for entry in agreed.nodes.values() for rule in entry.rules or ()]
        for key in TOPICS:
            for pub in self.pubs:
                content = b"last of %s" % pub.session_name.encode()
                pub.publish(key, content, domain=D, persistent=True)
                self.net.until(lambda pub=pub: pub.outbox.is_through, HEALED)  # type: ignore[misc]
                named = [r.node for r in rules if key in r.keys] or [r.node for r in rules if D in r.domains]
                has = [name for name, node in self.nodes.items() if _last(node, key) == content]
                if has != (named or [pub.session_name.split("/")[2]]):
                    self._breaks(f"R3: {', '.join(has)} took what {named} should")

    def _judge_ear(self, name: str, got: Counter[bytes]) -> None:
        twice = [content for content, n in got.items() if n > 1]
        excused = [content for content in twice if any(at >= self.sent[content] for at in self.killed)]
        self.counts["twice, over the end of a node"] += len(excused)
        if len(twice) > len(excused):
            self.broken.append(f"R2: {name} was given {len(twice)} twice, such as {twice[0]!r}")
        lacks = [c for c, at in self.sent.items() if c not in got and not self._may_miss(name, at)]
        if lacks:
            self.broken.append(
                f"R2: {name} lacks {len(lacks)}, such as {lacks[0]!r} of {self.sent[lacks[0]]:.1f}"
            )

    def _may_miss(self, name: str, at: float) -> bool:
        """Could it, or a master, not be asked when rules changed?"""
        spans = [span for who in {name, *MASTERS} for span in self.away[who]]
        return any(
            begin - AFTER <= change <= end + AFTER and begin - AFTER <= at <= end + 2 * AFTER
            for begin, end in spans
            for change in self.changes
        )


def _last(node: SimNode, key: str) -> bytes:
    found = node.core.parts.router.log.retained.get(key, D)
    return bytes(found.as_envelope().contents()[0]) if found is not None else b""


def _signed(node: SimNode, agreed: Agreed, by: str) -> SharedRow:
    stamp = node.core.parts.shared.stamp(RULES, "")
    row = SharedRow(RULES, "", stamp, packed(agreed), NOBODY, 0)
    return row.signed(public_key(seed_of(by)), partial(sign, seed_of(by))) if by else row


# --- mistakes that are planted ----------------------------------------------------------------------------

Patch = tuple[Any, str, Any]


def claims_not_made_anew() -> Patch:
    adopt = Mapping.adopt

    def stale(self: Any, rules: Any) -> None:
        before: Claims | None = self.__dict__.get("_claims")
        adopt(self, rules)
        if before is not None and self.rules:
            self._claims = before

    return Mapping, "adopt", stale


def lower_stamp_wins() -> Patch:
    def is_news(self: Any, row: Any) -> bool:
        known = self._rows.get(row.name)
        return known is None or row.rank < known.rank

    return RowTable, "is_news", is_news


PLANTED: dict[str, Callable[[], Patch]] = {
    "claims not made anew": claims_not_made_anew,
    "what waits is not decided anew": lambda: (Forwarder, "review", lambda self: None),
    "lower stamp wins": lower_stamp_wins,
    "unsigned row taken": lambda: (Shared, "_is_signed", lambda self, row: True),
    "older row taken again": lambda: (RowTable, "is_news", lambda self, row: row != self._rows.get(row.name)),
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """As long as this lasts, the product has it."""
    with patch.object(*PLANTED[name]()):
        yield


def told(seed: int) -> Story:
    """One story, played and judged."""
    story = Story(seed)
    try:
        story.play()
    except (AssertionError, LocalError, IndexError, KeyError) as error:
        story.broken.append(f"it ended by {type(error).__name__}: {error}")
    return story


@click.command()
@click.option(
    "--seeds", default=50, show_default=True, type=click.IntRange(1, 10_000), help="So many stories."
)
@click.option("--seed", default=0, show_default=True, help="The first one.")
@click.option(
    "--planted", "is_planted", is_flag=True, help="Plant each mistake, and look for a story that finds it."
)
def main(seeds: int, seed: int, is_planted: bool) -> int:
    """Tell stories of rules that change, and say what they broke."""
    failed = 0
    for name in PLANTED if is_planted else ():
        with planted(name):
            found = next((s for s in range(seed, seed + seeds) if told(s).broken), None)
        failed += found is None
        click.echo(f"{name}: {'not found' if found is None else f'found by seed {found}'}")
    counts = Counter[str]()
    for each in range(seed, seed + seeds) if not is_planted else ():
        story = told(each)
        counts += story.counts
        failed += bool(story.broken)
        for what in story.broken:
            click.echo(f"seed {each}: {what}")
    if counts:
        click.echo(f"{seeds} stories, {failed} broke something; {dict(counts)}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
