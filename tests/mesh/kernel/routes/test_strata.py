"""Live strata: each node knows its distance to the master, on simulated nodes."""

from __future__ import annotations

import pytest

from mesh.kernel.routes.following import PATIENCE
from mesh.kernel.routes.strata import LATE, MOST
from mesh.kernel.routes.strata import LiveStrata as Part
from mesh.mapping.agreed import RuleSet
from mesh.mapping.rules import Rule
from mesh.mapping.strata import UNTOLD, Damping
from mesh.wire import commands as c
from mesh.wire.limits import FOLLOWED, STRATA
from tests.mesh.kernel.masters import RUGBY, STOCK, cluster
from tests.mesh.kernel.routes.chains import DIAMOND, K, diamond, way
from tests.simulation import SimNetwork, SimNode


def says(sender: SimNode, receiver: SimNode, *commands: c.Command) -> str:
    """Send commands from one node to another. Return the code with which that ends the connection, or ""."""
    before = len(receiver.notes)
    peer = sender.core.parts.neighbours.peers[receiver.uuid]
    for command in commands:
        sender.core.parts.context.out.send(peer.control, command)
    sender.core.tick(sender.net.now, sender.wall)
    sender._carry_out_all()
    sender.net.run(0.2)
    said = " ".join(receiver.notes[before:])
    return said[said.rindex("[") + 1 : said.rindex("]")] if "broke the protocol" in said else ""


def lies(sender: SimNode, receiver: SimNode, domain: str, *path: str) -> str:
    return says(sender, receiver, c.Strata(2**40 + int(sender.net.now * 1e6), (c.Stratum(domain, path),)))


# --- honest nodes -------------------------------------------------------------------------------------------


def test_A29_each_node_knows_its_stratum_and_by_whom_before_anything_is_published() -> None:
    told = cluster("heron", "frodo", "bilbo", "avalon", "golan")
    told.net.until(lambda: way(told["bilbo"], STOCK) == ("bilbo", "frodo", "heron", "avalon"))
    assert way(told["bilbo"], RUGBY) == ("bilbo", "frodo", "heron")
    assert way(told["frodo"], STOCK) == ("frodo", "heron", "avalon")
    assert way(told["golan"], STOCK) == ("golan",)


def test_000_03_when_the_master_goes_all_behind_it_say_that_there_is_none_until_it_is_back() -> None:
    told = cluster("heron", "frodo", "bilbo")
    told.net.until(lambda: way(told["bilbo"], RUGBY) == ("bilbo", "frodo", "heron"))
    told["heron"].close()
    told.net.until(lambda: way(told["bilbo"], RUGBY) == ())
    assert way(told["frodo"], RUGBY) == ()
    told["heron"].restart()
    told.net.until(lambda: way(told["bilbo"], RUGBY) == ("bilbo", "frodo", "heron"))


def test_000_03_when_a_way_breaks_those_behind_it_hear_of_it_and_have_another() -> None:
    """Both next hops stay alive for bilbo. Only what frodo reports shows that its route ends."""
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    told.net.cut("frodo", "heron")
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "sam", "heron"))
    assert way(told["frodo"]) == () and {"frodo", "sam"} <= told["bilbo"].alive
    told.net.heal()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))


def test_000_04_three_that_ask_each_other_say_none_when_their_master_is_gone() -> None:
    """By numbers alone, the strata would count up forever (AMENDMENTS 4.7)."""
    abc = ("a", "b", "c")
    rules = {n: (Rule("m", domains=("NEWS",)), *(Rule(o, 1, ("NEWS",)) for o in abc if o != n)) for n in abc}
    told = cluster("m", *abc, rules={**rules, "m": (Rule("m", domains=("NEWS",)),)}, links="any")
    nodes = [told[name] for name in abc]
    told.net.until(lambda: all(way(node) == (node.name, "m") for node in nodes))
    told["m"].close()
    told.net.until(lambda: all(way(node) == () for node in nodes))
    told.net.run(1)
    told.net.is_watched = True
    told.net.run(20)
    assert [seen for seen in told.net.seen if seen[2] in ("Strata", "Follow")] == []


def test_a_backup_is_where_ways_end_while_it_stands_in() -> None:
    names = ("heron", "frodo", "bilbo")
    rules = (Rule("heron", domains=("NEWS",)), Rule("frodo", domains=("NEWS",), backup=True))
    told = cluster(*names, rules=dict.fromkeys(names, rules), links="any")
    told.net.until(
        lambda: way(told["bilbo"]) == ("bilbo", "heron") and way(told["frodo"]) == ("frodo", "heron")
    )
    told["heron"].close()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo"))
    assert way(told["frodo"]) == ("frodo",)


def test_rules_that_change_change_the_ways() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    bilbo = told["bilbo"].core.parts
    bilbo.ruling.set_rules((Rule("sam", 1, ("NEWS",)),), ("sam", "frodo", "heron"))
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "sam", "heron"))
    bilbo.ruling.set_rules((), ())
    assert bilbo.ruling.own == RuleSet((), ())
    told.net.until(lambda: not bilbo.strata.own)
    frodo = told["frodo"].core.parts.strata
    told.net.until(lambda: told["bilbo"].uuid not in frodo.followers.peers)


def test_latencies_add_up_along_the_way_and_take_no_clock() -> None:
    told = cluster("heron", "frodo", "bilbo")
    told["frodo"].leap(3_600_000_000_000)
    told.net.run(1.5 * LATE)  # all at once, not one per round
    strata = [told[name].core.parts.strata.own[RUGBY] for name in ("heron", "frodo", "bilbo")]
    first, second, third = (each.latency for each in strata)
    assert first == 0.0 and 0.0003 < second < 0.005 and second + 0.0003 < third < 0.01


# --- cost ---------------------------------------------------------------------------------------------------


def test_where_no_rule_names_anybody_else_nothing_is_asked_or_measured() -> None:
    net = SimNetwork()
    net.is_watched = True
    nodes = net.mesh("a", "b", "c")
    net.run(10)
    assert not [seen for seen in net.seen if seen[2] in ("Strata", "Follow")]
    assert all(node.core.parts.strata._due > net.now and not node.core.parts.strata.own for node in nodes)


def test_in_peace_nothing_is_said() -> None:
    told = diamond()
    told.net.run(2 * LATE)
    told.net.is_watched = True
    told.net.run(20)
    seen = [seen for seen in told.net.seen if seen[2] in ("Strata", "Follow")]
    assert len(seen) <= 2 * 3  # latencies at most


@pytest.mark.slow  # tests/mesh/mapping/test_strata.py tests the damping itself
def test_a_way_that_comes_and_goes_is_told_ever_more_rarely() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    sam = told["sam"].core.parts.strata
    told.net.is_watched = True
    # sam's master alternates twenty times a second between a route and none.
    told["sam"].core.parts.mapping.set_rules((Rule("heron", 1, ("NEWS",)),))
    for turn in range(80):
        lies(told["heron"], told["sam"], "NEWS", *(["heron"] if turn % 2 else []))
    said = [seen for seen in told.net.seen if seen == ("sam", "bilbo", "Strata")]
    assert 3 <= len(said) <= 10
    told.net.run(2 * Damping.MOST)
    assert sam.shown == sam.own  # at the end the true one


def test_all_domains_of_one_node_go_into_few_messages_and_are_bounded() -> None:
    many = tuple(f"D{i}" for i in range(FOLLOWED + 40))
    rules = {"heron": (Rule("heron", domains=many),), "frodo": (Rule("heron", domains=many),)}
    net = SimNetwork()
    net.is_watched = True
    told = cluster("heron", "frodo", net=net, rules=rules)
    net.run(2 * PATIENCE)
    frodo = told["frodo"].core.parts.strata
    assert sum(own.way == ("frodo", "heron") for own in frodo.own.values()) == FOLLOWED
    assert len([seen for seen in net.seen if seen[2] == "Follow"]) == 1
    assert len([seen for seen in net.seen if seen[2] == "Strata"]) <= 12


# --- liars, earlier releases, and lost connections ----------------------------------------------------------


def test_whoever_says_stratum_0_of_what_is_not_its_own_changes_nothing_where_rules_know_better() -> None:
    told = diamond()
    told["bilbo"].core.parts.mapping.set_rules((*DIAMOND["bilbo"], Rule("heron", domains=("NEWS",))))
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    told.net.cut("bilbo", "heron")
    lies(told["frodo"], told["bilbo"], "NEWS", "frodo")
    assert way(told["bilbo"]) != ("bilbo", "frodo")


def test_what_it_says_changes_the_way_of_no_message() -> None:
    told = diamond()
    joe, ann = told.client("bilbo"), told.client("heron", "ann")
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    lies(told["sam"], told["bilbo"], "NEWS", "sam")
    lies(told["frodo"], told["bilbo"], "NEWS")
    assert way(told["bilbo"]) == ("bilbo", "sam")
    joe.publish(K, b"We win", domain="NEWS")
    assert joe.settled().state(1, "NEWS") == "OK"
    [message] = ann.get(K)
    assert message.route == ("bilbo", "frodo", "heron")


def test_what_can_be_no_way_counts_as_none_and_is_counted() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    lies(told["frodo"], told["bilbo"], "NEWS")
    paths = (("heron",), ("sam", "frodo", "sam"), ("sam", "../etc"), ("sam", "x", "x"), ("bilbo", "sam"))
    for count, path in enumerate(paths, 1):
        lies(told["sam"], told["bilbo"], "NEWS", "sam", "heron")
        assert way(told["bilbo"]) == ("bilbo", "sam", "heron")
        assert lies(told["sam"], told["bilbo"], "NEWS", *path) == "", path
        assert (way(told["bilbo"]), told["bilbo"].metric("forged")) == ((), count), path


def test_what_was_not_asked_for_is_counted_and_kept_nowhere() -> None:
    told = diamond()
    told.net.run(1)
    before = told["heron"].metric("unasked"), told["bilbo"].metric("unasked")
    lies(told["bilbo"], told["heron"], "NEWS", "bilbo")  # heron asks no node
    lies(told["frodo"], told["bilbo"], "SPORTS", "frodo")  # bilbo did not ask for that
    assert (told["heron"].metric("unasked"), told["bilbo"].metric("unasked")) == (
        before[0] + 1,
        before[1] + 1,
    )
    assert "SPORTS" not in told["bilbo"].core.parts.strata.following.peers[told["frodo"].uuid].said


TOO_LONG = (
    c.Follow(tuple(f"D{i}" for i in range(FOLLOWED + 1))), c.Follow(("D" * 257,)),
    c.Strata(1, (c.Stratum("NEWS", ("x" * 65,)),)), c.Strata(1, (c.Stratum("NEWS", ("x",) * 17),)),
    c.Strata(-1), c.Strata(1, (c.Stratum("NEWS", ("sam",), -1),)),
)  # fmt: skip


def test_what_is_longer_than_it_can_be_ends_the_connection() -> None:
    told = diamond()
    told.net.run(1)
    for command in TOO_LONG:
        assert says(told["sam"], told["bilbo"], command) == "MALFORMED", command
        told.net.until(lambda: told["sam"].core.parts.neighbours.peers[told["bilbo"].uuid].control)
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))


def test_who_asks_for_much_drives_nobody_elses_domain_out() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    for name in ("frodo", "sam", "heron"):
        says(told[name], told["bilbo"], c.Follow(tuple(f"{name}{i}" for i in range(FOLLOWED))))
        says(told[name], told["bilbo"], c.Follow(tuple(f"{name}{i + 500}" for i in range(FOLLOWED))))
    told.net.run(3)
    strata = told["bilbo"].core.parts.strata
    assert len(strata.own) == 3 * FOLLOWED + 1 <= MOST
    assert way(told["bilbo"]) == ("bilbo", "frodo", "heron")
    for name in ("frodo", "sam", "heron"):
        says(told[name], told["bilbo"], c.Follow(()))
    told.net.run(1)
    assert [*strata.own] == ["NEWS"] and strata.followers.peers == {}


def test_D_an_older_release_is_asked_nothing_and_counts_as_the_rules_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = Part.features
    monkeypatch.setattr(Part, "features", lambda it: () if it._context.me.name == "frodo" else right(it))
    told = cluster("heron", "frodo", "bilbo")
    told.net.until(lambda: way(told["bilbo"], RUGBY) == ("bilbo", "frodo", UNTOLD))
    assert way(told["bilbo"], STOCK) == ("bilbo", "frodo", UNTOLD, UNTOLD)
    peer = told["bilbo"].core.parts.neighbours.peers[told["frodo"].uuid]
    assert STRATA not in peer.speaks
    assert told["frodo"].core.parts.strata.followers.peers == {}
    joe = told.client("bilbo")
    assert next(row["node"] for row in joe.call("tree", domain=RUGBY)["rows"]) == "bilbo"


def test_a_connection_that_breaks_has_all_told_anew() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    told.net.is_watched = True
    told["bilbo"].core.parts.strata.following.peers[told["frodo"].uuid].said.clear()  # as if lost
    told.net.break_all("bilbo", "frodo")
    told.net.until(lambda: "NEWS" in told["bilbo"].core.parts.strata.following.peers[told["frodo"].uuid].said)
    assert ("bilbo", "frodo", "Follow") in told.net.seen
    told["frodo"].kill()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "sam", "heron"))
    told["frodo"].restart()  # its numbers start again
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))


def test_what_was_said_earlier_and_comes_later_says_nothing() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    frodo, bilbo = told["frodo"], told["bilbo"]
    says(frodo, bilbo, c.Strata(2**50, (c.Stratum("NEWS", ("frodo", "heron"), 7),)))
    says(frodo, bilbo, c.Strata(2**50 - 1, (c.Stratum("NEWS"),)), c.Strata(2**50, (c.Stratum("NEWS"),)))
    assert way(bilbo) == ("bilbo", "frodo", "heron")


def test_who_is_gone_is_told_nothing_and_forgotten() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    followers = told["frodo"].core.parts.strata.followers.peers
    assert told["bilbo"].uuid in followers
    told["bilbo"].kill()
    told.net.until(lambda: "bilbo" not in told["frodo"].alive)
    told.net.run(0.1)
    assert told["bilbo"].uuid not in followers
