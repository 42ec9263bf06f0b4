"""All nodes have the same rows in the end, and only those that their authors wrote."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.discovery.state import Sample, Summary
from mesh.errors import LocalError
from mesh.kernel.context.component import Beginning
from mesh.kernel.context.incoming_call import IncomingCall, answer
from mesh.kernel.sharing.row_exchange import AT_ONCE
from mesh.kernel.sharing.shared import RowKind
from mesh.kernel.sharing.told import SETTLED
from mesh.operations import StoreReach
from mesh.security.signing import public_key, sign
from mesh.shared.row import SharedRow
from mesh.wire import commands as c
from mesh.wire.calls import AskRows
from mesh.wire.replies import RowsTold
from tests.mesh.kernel.keyed import keyed, met
from tests.mesh.kernel.lying import replies
from tests.seeds import scenarios
from tests.simulation import SimNetwork, SimNode

SAMPLE = Sample(cpu=(90.0,), ram_free=4_000, ram_total=8_000)
KIND = "colours"
HOUR = 3600 * 10**9


class Colours:
    """A component with shared rows: the color of each name."""

    def __init__(self, node: SimNode) -> None:
        self.node = node
        self.heard: list[tuple[str, bytes, str]] = []
        node.core.parts.shared.add(RowKind(KIND, self._check, self._changed))

    def _check(self, row: SharedRow) -> None:
        if row.value == b"black":
            raise LocalError("black is no colour.", code="BAD_COLOUR")

    def _changed(self, row: SharedRow, by: Any) -> None:
        self.heard.append((row.name, row.value, "" if by is None else by.node.name))

    def put(self, name: str, value: bytes) -> None:
        core, net = self.node.core, self.node.net
        core._at(net.now, self.node.wall)
        core.parts.shared.write_row(KIND, name, core.parts.shared.stamp(KIND, name), value)
        self.node._carry_out_all()

    @property
    def known(self) -> dict[str, bytes]:
        table = self.node.core.parts.shared._tables[KIND]
        return {row.name: row.value for row in table if row.value}


def meshed(net: SimNetwork, *names: str, **settings: Any) -> list[Colours]:
    """Return nodes with keys that see each other."""
    nodes = [keyed(net, name, *names[:1], sample=lambda: SAMPLE, **settings) for name in names]
    met(net, *nodes)
    return [Colours(node) for node in nodes]


def have(all_: Sequence[Colours], value: bytes) -> bool:
    return all(each.known == {"sky": value} for each in all_)


def agree(net: SimNetwork, *all_: Colours, limit: float = 20.0) -> None:
    net.until(lambda: len({tuple(sorted(each.known.items())) for each in all_}) == 1, limit)


def stored(node: SimNode) -> Beginning:
    """Return the contents of a node's disk."""
    return Beginning(node.disk.store.load(), None, lambda: StoreReach(0, 0))


def told(node: SimNode) -> list[str]:
    return [e.text for e in node.core.parts.context.events.events_after(0)[0] if e.kind == KIND]


def test_what_one_node_writes_all_have() -> None:
    net = SimNetwork()
    a, b, d = meshed(net, "a", "b", "d")
    a.put("sky", b"blue")
    net.until(lambda: a.known == b.known == d.known == {"sky": b"blue"}, 10)
    assert b.heard == [("sky", b"blue", "a")] or b.heard == [("sky", b"blue", "d")]
    b.put("sky", b"grey")
    net.until(lambda: a.known == d.known == {"sky": b"grey"}, 10)
    net.run(20)
    assert [len(each.heard) for each in (a, b, d)] == [2, 2, 2], "each is told once"


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_row_counts_also_where_the_clock_of_its_author_is_another_one(ahead: int) -> None:
    net = SimNetwork()
    nodes = [keyed(net, name, *(() if name == "a" else ("a",)), sample=lambda: SAMPLE) for name in "abd"]
    nodes[1].leap(ahead)
    nodes[1].restart()
    met(net, *nodes)
    a, b, d = map(Colours, nodes)
    for author, value in ((b, b"blue"), (a, b"grey"), (b, b"red"), (d, b"green")):
        author.put("sky", value)
        net.until(partial(have, (a, b, d), value), 40)
    liar = written(d.node, stamp=net.wall + 3 * HOUR)
    boasts(d, 2**62, [liar])
    net.run(10)
    assert a.known == b.known == {"sky": b"green"}


def test_more_rows_than_fit_into_a_reply_come_all() -> None:
    net = SimNetwork()
    a, b = meshed(net, "a", "b")
    for n in range(3 * AT_ONCE + 5):
        a.put(f"n{n}", b"red")
    net.until(lambda: len(b.known) == 3 * AT_ONCE + 5, 20)


def test_two_halves_that_wrote_apart_have_all_of_it_when_they_meet() -> None:
    net = SimNetwork()
    a, b, d = meshed(net, "a", "b", "d")
    a.put("sky", b"blue")
    agree(net, a, b, d)
    net.cut("a", "d")
    net.cut("b", "d")
    a.put("sea", b"green")
    d.put("sun", b"yellow")
    a.put("sky", b"grey")
    d.put("sky", b"red")
    net.run(20)
    net.heal()
    net.until(lambda: a.known == b.known == d.known and len(a.known) == 3, 90)


def test_whoever_was_away_brings_back_nothing_that_was_deleted() -> None:
    net = SimNetwork()
    a, b = meshed(net, "a", "b")
    a.put("sky", b"blue")
    agree(net, a, b)
    net.run(3)
    b.node.kill()
    a.put("sky", b"")
    net.run(20)
    b.node.restart()
    again = Colours(b.node)
    b.node.core.parts.shared.start(stored(b.node))
    assert again.known == {"sky": b"blue"}
    met(net, a.node, b.node)
    net.run(20)
    assert a.known == again.known == {}
    assert a.node.core.parts.shared.get_row(KIND, "sky") is not None


def test_rows_that_are_made_and_deleted_without_end_keep_nobody_from_making_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mesh.shared.table.ROWS", 6)
    monkeypatch.setattr("mesh.shared.table.DELETIONS", 4)
    net = SimNetwork()
    a, b = meshed(net, "a", "b")
    a.put("sky", b"blue")
    for n in range(20):
        a.put(f"n{n}", b"red")
        a.put(f"n{n}", b"")
    assert len(a.node.core.parts.shared._tables[KIND]) == 5, "at once"
    agree(net, a, b)
    b.put("sea", b"green")
    net.until(lambda: a.known == b.known == {"sky": b"blue", "sea": b"green"}, 20)
    net.run(3)
    for each in (a, b):
        assert each.node.metric("shared_rows") == 6, "deletions are kept, some of them"
        assert len(stored(each.node).rows("rule")) == 6
    net.is_watched = True
    net.run(60)
    assert net.seen.count(("a", "b", "Call")) + net.seen.count(("b", "a", "Call")) == 0, "they agree"


def test_a_deletion_is_forgotten_after_a_month_and_those_who_still_have_it_bring_it_back_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mesh.shared.table.KEPT", 60 * 10**9)
    monkeypatch.setattr("mesh.kernel.sharing.shared.SWEEP", 5.0)
    net = SimNetwork()
    a, b = meshed(net, "a", "b")
    a.put("sky", b"blue")
    agree(net, a, b)
    a.put("sky", b"")
    agree(net, a, b)
    old = a.node.core.parts.shared.get_row(KIND, "sky")
    net.run(70)
    assert (a.node.metric("shared_rows"), b.node.metric("shared_rows")) == (0, 0)
    heard = len(a.heard)
    assert old is not None
    shared, peer = a.node.core.parts.shared, a.node.core.parts.neighbours.peers[b.node.uuid]
    assert shared._one(old, KIND, (-1, ""), peer) == old.place, "it is no mistake either"
    assert len(a.heard) == heard and shared.get_row(KIND, "sky") is None


# --- nodes that lie ---------------------------------------------------------------------------------------


def boasts(liar: Colours, stamp: int, rows: Any) -> None:
    """Let the liar announce rows up to `stamp`, and answer with `rows` when it is asked."""
    liar.node.core.parts.shared._accept_row = lambda row, by: None  # type: ignore[method-assign]
    liar.node.core.parts.gossiping.shared[KIND] = Summary(KIND, stamp, b"boasting")
    replies(liar.node, AskRows, {"rows": rows})


def written(author: SimNode, name: str = "sky", value: bytes = b"blue", stamp: int = 0) -> SharedRow:
    """Return a row with the signature of this node."""
    me, keyring = author.core.parts.context.me, author.core.parts.context.settings.keyring
    assert keyring is not None
    row = SharedRow(KIND, name, stamp or author.net.wall, value, me.uuid, me.boot, me.key)
    return replace(row, signature=keyring.sign(row.text))


FORGED: dict[str, Any] = {
    "signed by nobody": lambda row, liar, other: replace(row, signature=b""),
    "for another": lambda row, liar, other: (
        written(liar.node)
        and replace(
            (r := replace(row, key=liar.node.core.parts.context.me.key)),
            signature=liar.node.core.parts.context.settings.keyring.sign(r.text),
        )
    ),
    "what cannot be": lambda row, liar, other: written(liar.node, value=b"black"),
    "of tomorrow": lambda row, liar, other: written(liar.node, stamp=row.stamp + HOUR),
    "of another kind": lambda row, liar, other: replace(row, kind="weights"),
    "another value": lambda row, liar, other: replace(row, value=b"red"),
    "a later stamp": lambda row, liar, other: replace(row, stamp=row.stamp + 1),
}


@pytest.mark.parametrize("how", scenarios(FORGED, 4))
def test_a_row_that_its_author_did_not_write_counts_nowhere(how: str) -> None:
    net = SimNetwork()
    a, b, liar = meshed(net, "a", "b", "liar")
    row = FORGED[how](written(b.node), liar, b)
    boasts(liar, 2**62, [row])
    net.run(10)
    assert a.known == b.known == {}
    assert len(told(a.node)) == 1 and "rows of liar were rejected" in told(a.node)[0]
    a.put("sea", b"green")
    net.until(lambda: b.known == {"sea": b"green"}, 20)


@pytest.mark.parametrize(
    "rows", scenarios([[[KIND, "sky"]], None, [], 7, [None], [[]], ["x"], {}], 3), ids=str
)
def test_a_reply_that_is_none_keeps_nobody_from_the_rows_of_others(rows: Any) -> None:
    net = SimNetwork()
    a, b, liar = meshed(net, "a", "b", "liar")
    boasts(liar, 2**62, rows)
    net.run(5)
    a.put("sea", b"green")
    net.until(lambda: b.known == {"sea": b"green"}, 20)


def test_who_boasts_is_asked_once_for_each_boast_and_who_goes_on_for_ever_once_a_row() -> None:
    net = SimNetwork()
    a, liar = meshed(net, "a", "liar")
    boasts(liar, 2**62, [])
    net.is_watched = True
    net.run(30)
    assert 1 <= net.seen.count(("a", "liar", "Call")) <= 3
    boasts(liar, 2**62 + 1, [written(liar.node)])  # the same row, after any position
    net.run(30)
    assert net.seen.count(("a", "liar", "Call")) <= 8
    assert a.known in ({}, {"sky": b"blue"})


def test_a_table_has_no_room_for_more_than_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.shared.table.ROWS", 3)
    net = SimNetwork()
    a, liar = meshed(net, "a", "liar")
    boasts(liar, 2**62, [written(liar.node, f"n{n}", stamp=net.wall + n) for n in range(5)])
    net.run(10)
    assert len(a.known) == 3
    with pytest.raises(LocalError, match="no room"):
        a.put("mine", b"red")
    a.put("n1", b"red")
    assert a.known["n1"] == b"red"


def test_a_stored_row_without_room_stays_on_disk_for_a_start_with_more_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = SimNetwork()
    [a] = meshed(net, "a")
    for name in ("n1", "n2", "n3"):
        a.put(name, b"red")
    net.run(3)
    for rows, known in ((2, {"n1", "n2"}), (3, {"n1", "n2", "n3"})):
        monkeypatch.setattr("mesh.shared.table.ROWS", rows)
        a.node.restart()
        again = Colours(a.node)
        again.node.core.parts.shared.start(stored(a.node))
        assert again.known.keys() == known
        net.run(3)
        assert any("is not used: The mesh has no room" in note for note in a.node.notes) == (rows == 2)
        a.node.notes.clear()


def test_who_answers_slowly_and_without_end_keeps_nobody_from_the_rows_of_others() -> None:
    net = SimNetwork()
    a, b, liar = meshed(net, "a", "b", "liar")
    asked = 0

    def slowly(question: IncomingCall[AskRows]) -> None:
        nonlocal asked
        asked += 1
        row = written(liar.node, f"n{asked}", stamp=net.wall + asked)

        def late() -> None:
            question.reply(RowsTold(rows=[row]))
            liar.node._carry_out_all()

        net.after(4.0, late)

    boasts(liar, 2**62, [])
    liar.node.core.parts.context.face.peer_verbs["rows"] = answer(AskRows, slowly)
    net.run(10)
    b.put("sky", b"blue")
    net.until(lambda: a.known.get("sky") == b"blue", 10)
    net.run(20)
    assert sum(name.startswith("n") for name in a.known) > 3, "it goes on"


def test_a_lost_answer_is_asked_for_again() -> None:
    net = SimNetwork()
    a, b = meshed(net, "a", "b")
    hears = a.node.core.parts.context.face.from_peers
    true, hears[c.Call] = hears[c.Call], lambda *_: None
    a.put("sky", b"blue")
    net.run(8)
    assert b.known == {}
    hears[c.Call] = true
    net.until(lambda: b.known == {"sky": b"blue"}, 30)


# --- authors ----------------------------------------------------------------------------------------------


def of_stranger(net: SimNetwork, name: str = "sky", stamp: int = 0) -> SharedRow:
    """Return a row with the signature of a node that never was a member."""
    seed = b"never was a member of this mesh."
    row = SharedRow(KIND, name, stamp or net.wall, b"blue", b"stranger" * 2, 1)
    return row.signed(public_key(seed), partial(sign, seed))


def test_an_author_that_never_was_a_member_writes_nothing_and_its_key_is_told() -> None:
    net = SimNetwork()
    a, b, liar = meshed(net, "a", "b", "liar")
    net.run(5)
    boasts(liar, 2**62, [of_stranger(net), written(b.node, "sea", b"green", net.wall + 1)])
    net.run(10)
    assert a.known == b.known == {"sea": b"green"}, "what else it tells is taken"
    (event,) = told(a.node)
    assert (
        "rows of liar were rejected" in event
        and of_stranger(net).key.hex() in event
        and "UNKNOWN_AUTHOR" in event
    )


@pytest.mark.parametrize("ahead", [0, HOUR, -HOUR])
def test_whoever_was_a_member_and_left_before_a_newcomer_came_is_an_author_for_it(
    ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = SimNetwork()
    a, b = meshed(net, "a", "b")
    b.put("sky", b"blue")
    agree(net, a, b)
    b.node.close()
    net.run(20)  # so long that the new node below never learns of b
    node = keyed(net, "d", sample=lambda: SAMPLE)  # it meets no node before its clock is set
    node.leap(ahead)
    node.kill()
    node._seeds = (a.node.address,)
    node.start()
    d = Colours(node)
    known = (node.uuid, a.node.uuid)
    monkeypatch.setattr(node.core.parts.authors, "_is_known", lambda author: author in known)
    net.until(lambda: d.known == {"sky": b"blue"}, 20)
    assert told(d.node) == []
    net.run(3)
    d.node.kill()
    d.node.restart()
    again = Colours(d.node)
    again.node.core.parts.shared.start(stored(d.node))
    assert again.known == {"sky": b"blue"}, "and it is for good"


def test_no_member_vouches_for_more_authors_than_leave_room_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mesh.kernel.sharing.authors.VOUCHED", 2)
    net = SimNetwork()
    a, b, liar = meshed(net, "a", "b", "liar")
    boasts(liar, 2**62, [of_stranger(net, f"n{n}", n + 1) for n in range(5)])
    net.run(10)
    assert a.known == b.known == {"n0": b"blue", "n1": b"blue"}
    assert "2 such rows are already accepted" in told(a.node)[0]
    b.put("n0", b"red")
    agree(net, a, b)
    assert len(a.node.core.parts.authors._vouched[KIND]) == 1


# --- meshes without keys ----------------------------------------------------------------------------------


def test_without_keys_they_are_believed_of_whoever_is_there() -> None:
    net = SimNetwork()
    a, b = (Colours(node) for node in net.mesh("a", "b", sample=lambda: SAMPLE))
    a.put("sky", b"blue")
    net.until(lambda: b.known == {"sky": b"blue"}, 10)
    row = b.node.core.parts.shared.get_row(KIND, "sky")
    assert row is not None and (row.key, row.signature) == (b"", b"")


def test_a_node_that_shares_none_is_not_asked() -> None:
    net = SimNetwork()
    a, b = (Colours(node) for node in net.mesh("a", "b", sample=lambda: SAMPLE, wire_version=1))
    asked: list[IncomingCall[AskRows]] = []
    a.node.core.parts.context.face.peer_verbs["rows"] = answer(AskRows, asked.append)
    a.put("sky", b"blue")
    net.run(SETTLED * 3)
    assert b.known == {} and not asked
