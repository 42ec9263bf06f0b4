"""The route of an addressed message: by its node, its domain, or neither, on simulated nodes."""

from mesh.mapping.rules import Rule
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.simulated_client import client_of

RULES = {
    "north": (Rule("avalon", domains=(RUGBY,)),),
    "heron": (),
    "avalon": (Rule("avalon", domains=(RUGBY,)),),
}


def test_A19_two_hops_with_the_help_of_the_domain() -> None:
    c = cluster("heron", "frodo", "bilbo")
    h, b = c.client("heron", "h", session=1), c.client("bilbo", "b", session=1)
    inbox, other = h.inbox(), b.inbox()
    for n in range(5):
        b.send(h.session_name, b"%d" % n, force=True, domain=RUGBY)
    b.settled()
    c.net.until(lambda: inbox.contents == [b"0", b"1", b"2", b"3", b"4"])
    assert {m.sender for m in inbox.got} == {b.session_name}
    assert other.got == []
    h.send(b.session_name, b"back", persistent=True)  # heron does not know bilbo, but frodo is logged in
    c.net.until(lambda: other.contents == [b"back"])
    assert h.settled().state(1) == "OK"


def test_A20_row_1_no_domain_and_an_unknown_node() -> None:
    c = cluster("north", "heron", "avalon", rules=RULES, links="any")
    joe = c.client("north")
    joe.send("/node/noexist/client/ann/session/1", b"lost")
    joe.send("/node/noexist/client/ann/session/1", b"waits", force=True)
    joe.settled()
    assert (joe.state(1), joe.state(2)) == ("UNKNOWN_NODE", "FORWARD_WARNING")
    assert c["avalon"].metric("published") == c["heron"].metric("published") == 0
    noexist = c.net.node("noexist", "north", links="any", scope="local")
    inbox = client_of(noexist, "ann", session=1).inbox()
    c.net.until(lambda: inbox.contents == [b"waits"])
    c.net.until(lambda: joe.state(2) == "OK")


def test_A21_row_2_a_domain_and_an_unknown_node_go_to_the_domains_master() -> None:
    c = cluster("north", "heron", "avalon", rules=RULES, links="any")
    joe = c.client("north")
    joe.send("/node/noexist/client/ann/session/1", b"x", domain=RUGBY, force=True)
    assert joe.settled().state(1, RUGBY) == "FORWARD_WARNING"
    assert c["north"].metric("forwarded") == 1
    joe.send("/node/noexist/client/ann/session/1", b"x", domain=RUGBY)
    assert joe.settled().state(2, RUGBY) == "UNKNOWN_NODE"


def test_A22_A23_rows_3_and_4_a_known_node_wins() -> None:
    c = cluster("north", "heron", "avalon", rules=RULES, links="any")
    joe, ann = c.client("north"), c.client("heron", "ann", session=1)
    inbox = ann.inbox()
    joe.send("/node/heron/client/ann/session/1", b"3")
    joe.send("/node/heron/client/ann/session/1", b"4", domain=RUGBY)
    joe.settled()
    c.net.until(lambda: inbox.contents == [b"3", b"4"])
    assert joe.state(1) == joe.state(1, RUGBY) == "OK"
    assert c["avalon"].metric("published") == 0


def test_A24_row_5_a_relative_name_goes_where_the_domain_goes() -> None:
    c = cluster("north", "heron", "avalon", rules=RULES, links="any")
    joe, ann = c.client("north"), c.client("avalon", "ann", session=1)
    inbox = ann.inbox()
    joe.send("client/ann/session/1", b"5", domain=RUGBY)
    joe.settled()
    c.net.until(lambda: inbox.contents == [b"5"])


def test_A25_a_relative_name_without_a_rule_waits_here() -> None:
    c = cluster("north", "heron", "avalon", rules=RULES, links="any")
    joe = c.client("north")
    joe.send("client/ann", b"1", persistent=True, force=True)
    joe.send("client/ann", b"2", force=True)
    joe.settled()
    assert joe.answers["", 1].matched == 0
    inbox = c.client("north", "ann").inbox()
    c.net.until(lambda: inbox.contents == [b"1", b"2"])
    other = c.client("north", "ann").inbox()
    c.net.run(2)
    assert (inbox.contents, other.contents) == ([b"1", b"2"], [])
