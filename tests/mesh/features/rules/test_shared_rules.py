"""Rules that all nodes share: their spread, the rights to change them, and no lost messages meanwhile."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.conn import Conn
from mesh.kernel.rules.ruling import SWITCH, Ruling
from mesh.links.table import LinkState
from mesh.mapping.agreed import NONE, Agreed, AgreedNode, packed, unpacked
from mesh.mapping.rules import Rule
from mesh.security.signing import verify
from mesh.shared.row import NOBODY, SharedRow
from mesh.wire import commands as c
from mesh.wire.limits import RULES
from tests.mesh.kernel.keyed import keyed
from tests.mesh.kernel.rules.agreeing import (
    AVALON,
    HERON,
    TO_AVALON,
    TO_HERON,
    D,
    call,
    events,
    go_by,
    meshed,
    put,
    row,
)
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNode

MIN = 60 * 10**9


def test_what_the_admin_says_at_one_node_counts_at_all_and_soon() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo", "frodo")
    reply = put(nodes[2], TO_HERON)
    assert (reply.code, reply.value) == ("", {"missing": [], "away": []})
    assert go_by(net, nodes, (HERON,)) < 1.0 < SWITCH
    assert all(any("are in force" in text for text in events(node)) for node in nodes)
    told = call(nodes[3], "rules").value
    assert unpacked(told["value"]) == TO_HERON and told["behind"] == []
    listed = SharedRow(RULES, "", told["stamp"], told["value"], NOBODY, 0, told["admin"])
    assert verify(told["admin"], told["signature"], listed.text), (
        "whoever is told them can see whose they are"
    )
    nodes[3].kill()
    net.run(15)
    nodes[3].restart()
    net.until(lambda: nodes[3].core.parts.mapping.rules == (HERON,))


def test_who_has_heard_of_them_as_it_begins_has_them_over_a_crash_a_moment_later() -> None:
    """Simulation run 7300515 of rules failed so: a node followed rules that were not on its disk."""
    net, (heron, avalon, bilbo) = meshed("heron", "avalon", "bilbo")
    bilbo.kill()
    net.run(15)
    assert not put(heron, TO_HERON, force=True).code
    net.cut("bilbo", "avalon")  # it waits for a node before it serves
    bilbo.start()
    net.until(lambda: bilbo.core.parts.mapping.rules == (HERON,))
    net.run(2 * net.disk[1])
    for node in (heron, avalon, bilbo):
        node.kill()
    bilbo.start()
    assert bilbo.core.parts.mapping.rules == (HERON,)


def test_whoever_was_away_has_them_before_it_takes_a_message() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    nodes[2].kill()
    net.run(15)
    assert put(nodes[0], TO_HERON).code == "NODES_AWAY"
    allowed = put(nodes[0], Agreed({"bilbo": AgreedNode(allowed=True)}))
    assert not allowed.code, "who may be linked is no matter of who misses something"
    assert put(nodes[0], TO_HERON, force=True).value == {"missing": [], "away": ["bilbo"]}
    go_by(net, nodes[:2], (HERON,))
    nodes[2].restart()
    net.until(lambda: nodes[2].core.parts.context.serves)
    assert nodes[2].core.parts.mapping.rules == (HERON,)


def test_a_node_that_lives_is_not_away_though_its_name_had_another_disk() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    nodes[2].kill()
    net.run(15)
    assert put(nodes[0], TO_HERON).code == "NODES_AWAY"
    again = keyed(net, "bilbo", "heron", uuid=b"another disk".ljust(16))
    net.until(lambda: again.core.parts.context.serves and len(nodes[0].alive) == 2)
    assert not put(nodes[0], TO_HERON).code


def test_a_node_that_does_not_say_so_is_waited_for_and_not_for_ever() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    net.cut("avalon", "bilbo")
    began = net.now
    put(nodes[0], TO_HERON)
    net.until(lambda: nodes[1].core.parts.mapping.rules == (HERON,), 20)
    assert 2.5 < net.now - began < SWITCH + 1


def test_whoever_is_answered_goes_by_them_at_once_and_the_others_soon_even_if_one_was_just_cut_off() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    assert put(nodes[0], TO_AVALON).code == "" and nodes[0].core.parts.mapping.rules == (AVALON,)
    net.cut("heron", "bilbo")
    net.cut("avalon", "bilbo")
    assert put(nodes[0], TO_HERON).value == {"missing": ["bilbo"], "away": []}
    assert nodes[0].core.parts.mapping.rules == (HERON,)
    assert go_by(net, nodes[:2], (HERON,)) < 1.0


def test_who_has_changed_them_is_answered_when_others_are_to_count_in_their_place() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    ruling, told = nodes[0].core.parts.ruling, list[str]()
    with patch.object(Ruling, "_all_ask", lambda self: False):
        ruling.set_rules((HERON,), ())
        ruling.when_counting(lambda: told.append("the first"))
        ruling.set_rules((AVALON,), ())
        ruling.when_counting(lambda: told.append("the second"))
        assert told == ["the first"]
    net.until(lambda: told == ["the first", "the second"], SWITCH + 1)
    assert ruling._mapping.rules == (AVALON,)
    ruling.when_counting(lambda: told.append("at once"))
    assert told[-1] == "at once"


def test_a_node_says_that_it_asks_by_them_when_all_whom_it_asks_have_confirmed() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    bilbo = nodes[2].core.parts
    with patch.object(InterestSync, "is_confirmed", property(lambda self: self is not bilbo.demand)):
        began = net.now
        put(nodes[0], TO_HERON)
    assert net.now - began >= SWITCH, "they did not wait for bilbo"
    put(nodes[0], TO_AVALON)
    assert go_by(net, nodes, (AVALON,)) < 2


@pytest.mark.parametrize("by", scenarios(["heron", "", "avalon"], 2))
def test_no_node_can_write_them_whoever_brings_them(by: str) -> None:
    net, nodes = meshed("heron", "avalon")
    assert put(nodes[0], TO_AVALON, by).code == "WRONG_SIGNATURE"
    forged = row(nodes[1], TO_AVALON, by)
    nodes[1].core.parts.shared._tables[RULES].insert(forged)
    nodes[1].core.parts.shared._summarize()
    net.run(15)
    assert nodes[0].core.parts.mapping.rules == ()
    assert any("is not signed by the admin" in text for text in events(nodes[0]))


def test_what_the_admin_signed_cannot_be_changed_under_way() -> None:
    _, (heron, _) = meshed("heron", "avalon")
    signed = row(heron, TO_HERON)
    for changed in (
        replace(signed, value=packed(TO_AVALON)),
        replace(signed, stamp=signed.stamp + 1),
        replace(signed, signature=b""),
        replace(signed, name="x"),
    ):
        reply = call(heron, "rules_put", row=to_builtins(changed, builtin_types=(bytes,)), was=0)
        assert reply.code == "WRONG_SIGNATURE"
    assert heron.core.parts.mapping.rules == ()


def test_without_keys_who_is_logged_in_may_and_without_an_admin_nobody() -> None:
    net, nodes = meshed("heron", "avalon", is_keyed=False)
    assert put(nodes[0], TO_HERON, by="").code == ""
    go_by(net, nodes, (HERON,))
    net, nodes = meshed("heron", "avalon")
    for node in nodes:
        settings = node.core.parts.context.settings
        object.__setattr__(settings.keyring, "admin", b"")
    assert put(nodes[0], TO_HERON).code == "NO_ADMIN"
    assert put(nodes[0], TO_HERON, by="").code == "NO_ADMIN"


@pytest.mark.parametrize("grant", ["client", "monitor"])
def test_only_who_has_the_keys_of_a_node_may_even_bring_them(grant: str) -> None:
    _, (heron, _) = meshed("heron", "avalon")
    said = to_builtins(row(heron, TO_HERON), builtin_types=(bytes,))
    assert call(heron, "rules_put", grant, row=said, was=0).code == "NOT_ALLOWED"
    assert call(heron, "rules", grant).code == ""


def test_who_says_the_same_again_as_he_had_no_answer_is_answered_and_hears_not_that_it_is_stale() -> None:
    net, (heron, avalon) = meshed("heron", "avalon")
    said = to_builtins(row(heron, TO_HERON), builtin_types=(bytes,))
    assert call(heron, "rules_put", row=said, was=0).code == ""
    heron.restart()
    assert call(heron, "rules_put", row=said, was=0).code == ""
    assert call(avalon, "rules_put", row=said, was=0).code == ""
    other = to_builtins(row(avalon, TO_AVALON), builtin_types=(bytes,))
    assert call(avalon, "rules_put", row=other, was=0).code == "STALE"
    go_by(net, [heron, avalon], (HERON,))


def test_whoever_has_not_seen_the_newest_changes_nothing() -> None:
    net, (heron, avalon) = meshed("heron", "avalon")
    assert put(heron, TO_HERON).code == ""
    go_by(net, [heron, avalon], (HERON,))
    newer = to_builtins(row(avalon, TO_AVALON), builtin_types=(bytes,))
    old = to_builtins(row(avalon, TO_AVALON, stamp=5), builtin_types=(bytes,))
    late = row(avalon, TO_AVALON, stamp=net.wall + 20 * MIN)
    known = heron.core.parts.shared.get_row(RULES, "")
    assert known is not None
    was = known.stamp
    assert call(heron, "rules_put", row=newer, was=0).code == "STALE"
    assert call(heron, "rules_put", row=old, was=was).code == "STALE"
    assert (
        call(heron, "rules_put", row=to_builtins(late, builtin_types=(bytes,)), was=was).code == "CLOCK_AHEAD"
    )
    assert call(heron, "rules_put", row=newer, was=was).code == ""


@pytest.mark.slow  # test_shared.py tests this for all kinds of rows
def test_of_two_that_were_set_apart_the_later_counts_everywhere() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo", "frodo")
    for one in ("heron", "avalon"):
        for other in ("bilbo", "frodo"):
            net.cut(one, other)
    net.run(15)
    put(nodes[0], TO_HERON, force=True)
    net.run(1)
    put(nodes[2], TO_AVALON, force=True)
    go_by(net, nodes[:2], (HERON,))
    go_by(net, nodes[2:], (AVALON,))
    net.heal()
    go_by(net, nodes, (AVALON,), 60)


def test_they_stand_over_those_of_a_file_until_they_are_taken_out() -> None:
    own = (HERON, Rule("bilbo", domains=("E",)))
    net, nodes = meshed("heron", "avalon", rules=own)
    put(nodes[0], Agreed({"heron": AgreedNode(())}).with_("avalon", AgreedNode((AVALON,))))
    go_by(net, nodes, (own[1], AVALON))
    told = call(nodes[1], "rules").value
    assert unpacked(told["own"]).nodes["heron"] == AgreedNode((HERON,))
    nodes[0].restart()
    net.until(lambda: nodes[0].core.parts.mapping.rules == (own[1], AVALON))
    put(nodes[1], NONE)
    go_by(net, nodes, own)


def test_a_node_that_cannot_go_by_them_says_so_and_stays_as_it_is() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    bilbo = nodes[2]
    bilbo.core._at(net.now, net.wall)
    bilbo.core.parts.ruling.set_rules((Rule("bilbo", domains=("E",)), HERON), ())
    net.run(SWITCH + 1)
    put(nodes[0], TO_AVALON)
    net.run(SWITCH + 2)
    assert bilbo.core.parts.mapping.rules == (Rule("bilbo", domains=("E",)), HERON)
    assert any("are not in force here" in text and "several masters" in text for text in events(bilbo))
    assert "several masters" in call(bilbo, "rules").value["refused"]
    assert call(nodes[0], "rules").value["behind"] == ["bilbo"]
    both = TO_HERON.with_("avalon", AgreedNode((AVALON,)))
    assert put(nodes[0], both).code == "NOT_AVAILABLE"


@pytest.mark.slow
def test_nobody_misses_what_the_new_master_takes() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    ears = [client_of(node, "ear").subscribed("k", domain=D) for node in nodes]
    pubs = [client_of(node, "pub") for node in nodes]
    count = 0
    for n in range(3):
        put(nodes[n], (TO_HERON, TO_AVALON)[n % 2])
        for _ in range(6):
            for pub in pubs:
                count += 1
                pub.publish("k", b"%d" % count, domain=D, persistent=True)
            net.run(0.1)
    net.until(lambda: all(pub.outbox.is_through for pub in pubs), 60)
    net.run(5)
    assert [sorted(map(int, ear.contents)) for ear in ears] == [list(range(1, count + 1))] * 3


def test_who_is_denied_and_dials_is_refused_and_may_still_be_heard_of() -> None:
    _, (heron, bilbo) = meshed("heron", "bilbo")
    meeting, context = heron.core.parts.meeting, heron.core.parts.context
    meeting.deny(frozenset({"bilbo"}))
    for role, is_refused in ((c.NODE_DATA, True), (c.NODE_CONTROL, False)):
        conn = Conn(
            "key", dialled=False, trusted=True, endpoint="", opened=context.clock.now, heard=context.clock.now
        )
        hello = c.Hello((1, 2), role, context.settings.cluster, b"", node=bilbo.core.parts.context.me)
        said = meeting.admit_peer(conn, hello)
        assert (isinstance(said, c.Refuse) and said.code == "DENIED") is is_refused


def test_who_is_denied_is_linked_with_nobody_until_it_is_allowed() -> None:
    net, nodes = meshed("heron", "avalon", "bilbo")
    heron, avalon, bilbo = nodes
    ear, pub = client_of(heron, "ear").subscribed("k"), client_of(bilbo, "pub")
    client_of(bilbo, "ear").subscribed("k")  # so that this node wants links, too
    pub.publish("k", b"1")
    net.until(lambda: ear.contents == [b"1"])
    put(avalon, Agreed({"bilbo": AgreedNode(None, False)}))
    peer = heron.core.parts.neighbours.named("bilbo")
    assert peer is not None
    net.until(lambda: peer.data is None and peer.link.state.value == "not allowed", 10)
    net.run(5)
    pub.publish("k", b"2")
    net.run(10)
    assert ear.contents == [b"1"] and peer.data is None
    put(avalon, NONE, force=True)
    net.until(lambda: peer.data is not None, 60)
    pub.publish("k", b"3")
    net.until(lambda: ear.contents[-1] == b"3", 10)


def linked(nodes: list[SimNode]) -> bool:
    """Return whether each node is logged in to each other node."""
    peers = [peer for node in nodes for peer in node.core.parts.neighbours.peers.values()]
    return all(peer.link.state is LinkState.LOGGED_IN for peer in peers)


def test_who_comes_while_it_is_denied_is_linked_with_nobody_until_it_is_allowed() -> None:
    net, nodes = meshed("heron", "avalon")
    put(nodes[0], Agreed({"sam": AgreedNode(None, False)}), force=True)
    nodes.append(keyed(net, "sam", "heron"))
    for node in nodes:
        client_of(node, "ear").subscribed("k")
    net.run(20)
    states = {peer.link.describe(net.now) for peer in nodes[2].core.parts.neighbours.peers.values()}
    assert states == {"not allowed by me: DENIED"} and nodes[2].alive == {"heron", "avalon"}
    put(nodes[0], NONE, force=True)
    net.until(lambda: linked(nodes), 5)


def goes_later(node: SimNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the node adopt new rules a little later than the others."""
    net, ruling, since = node.net, node.core.parts.ruling, [0.0]
    all_ask = ruling._all_ask

    def all_asked() -> bool:
        if not (ruling.is_changing and all_ask()):
            since[0] = 0.0
        elif not since[0]:
            since[0] = net.now
        return bool(since[0]) and net.now - since[0] > 0.2

    monkeypatch.setattr(ruling, "_all_ask", all_asked)


@pytest.mark.slow
@pytest.mark.parametrize("late", [0, 1, 2])
def test_who_was_denied_and_is_not_any_more_is_linked_with_all_at_once(
    late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node that adopts the list first dials. The others must not deny it for a minute more."""
    net, nodes = meshed("heron", "avalon", "bilbo")
    for node in nodes:
        client_of(node, "ear").subscribed("k")
    net.until(lambda: linked(nodes))
    goes_later(nodes[late], monkeypatch)
    for name in ("heron", "bilbo"):
        put(nodes[1], Agreed({name: AgreedNode(None, False)}), force=True)
        net.run(10)
        states = {peer.link.describe(net.now) for peer in nodes[0].core.parts.neighbours.peers.values()}
        assert "not allowed by me: DENIED" in states
        put(nodes[1], NONE, force=True)
        net.until(lambda: linked(nodes), 5)


@pytest.mark.parametrize("slow", scenarios(["avalon", "heron", "bilbo"]))
def test_what_is_published_while_rules_change_waits_no_longer_than_they_do(
    slow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delay the rules at one node a little.

    A message that the new rules send to a master without them goes on to the earlier master, which has them.
    It comes back, together with what is published meanwhile.
    """
    net, nodes = meshed("heron", "avalon", "bilbo")
    goes_later(nodes[[node.name for node in nodes].index(slow)], monkeypatch)
    pubs = [client_of(node, f"pub-{node.name}") for node in nodes]
    ear = client_of(nodes[2], "ear").subscribed("k", domain=D)
    count = 0
    for agreed in (TO_HERON, TO_AVALON):
        assert not put(nodes[2], agreed).code
        for _ in range(30):
            for pub in pubs:
                pub.publish("k", b"%d" % count, domain=D, persistent=True)
            count += 1
            net.run(0.04)
        assert len(ear.got) >= len(pubs) * (count - 12), "what was published up to half a second ago"
    net.until(lambda: len(ear.got) == len(pubs) * count)
    for pub in pubs:
        of_one = [int(m.content) for m in ear.got if m.sender == pub.session_name]
        assert of_one == [*range(count)]
