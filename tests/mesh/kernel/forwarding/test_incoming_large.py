"""Messages that are longer than a node on their route accepts."""

from mesh.mapping.rules import Rule
from tests.mesh.kernel.masters import RUGBY
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

K = "news/today"
SMALL = 100  # bytes that the limited node accepts
HERON = (Rule("heron", domains=(RUGBY,)),)
BILBO = (Rule("frodo", 1, (RUGBY,)),)


def chain(**limits: int) -> list[SimNode]:
    """Return the chain heron <- frodo <- bilbo, each node with its own limit."""
    net = SimNetwork(1)
    settings = {"scope": "local", "links": "configured"}
    nodes = [
        net.node(name, "heron", rules=rules, known=known, max_content=limits.get(name, 1 << 20), **settings)
        for name, rules, known in (
            ("heron", HERON, ("heron",)),
            ("frodo", HERON, ("heron",)),
            ("bilbo", BILBO, ("frodo",)),
        )
    ]
    net.until(lambda: all(len(node.alive) == 2 for node in nodes))
    return nodes


def test_trial_B10_a_master_takes_of_what_nodes_bring_no_more_than_its_own_law_allows() -> None:
    heron, frodo, bilbo = chain(heron=SMALL)
    joe, ann = client_of(bilbo, "joe"), client_of(heron, "ann")
    heard = ann.subscribed(K, domain=RUGBY)
    joe.publish(f"{K} {K} {K}", b"s" * SMALL, b"l" * (SMALL + 1), b"last", domain=RUGBY)
    joe.publish(K, b"after", domain=RUGBY)
    joe.settled()
    assert [joe.state(n, RUGBY) for n in (1, 2, 3, 4)] == ["OK", "TOO_LARGE", "OK", "OK"]
    assert "heron accepts at most 100 bytes" in joe.answers[RUGBY, 2].text
    heron.net.until(lambda: heard.contents == [b"s" * SMALL, b"last", b"after"])
    assert [node.metric("malformed") for node in (heron, frodo, bilbo)] == [0, 0, 0], "nobody hangs up"


def test_trial_B10_so_does_a_node_on_the_way() -> None:
    heron, _, bilbo = chain(frodo=SMALL)
    joe = client_of(bilbo, "joe")
    joe.publish(K, b"l" * 1000, domain=RUGBY)
    joe.publish(K, b"short", domain=RUGBY)
    joe.settled()
    assert [joe.state(n, RUGBY) for n in (1, 2)] == ["TOO_LARGE", "OK"]
    assert [m.content for m in client_of(heron, "ann").get(K)] == [b"short"]


def test_trial_B10_what_waited_for_it_and_is_too_long_is_a_dead_letter() -> None:
    heron, _, bilbo = chain(heron=SMALL)
    joe = client_of(bilbo, "joe")
    dead = joe.subscribed(pattern="__sys__deadMessage/#")
    heron.close()
    joe.publish(K, b"l" * 1000, domain=RUGBY, persistent=True)
    assert joe.settled().state(1, RUGBY) == "FORWARD_WARNING"
    heron.start()
    heron.net.until(lambda: joe.state(1, RUGBY) == "TOO_LARGE")
    heron.net.until(lambda: len(dead.got) == 1)


def test_trial_B10_what_a_master_has_taken_reaches_subscribers_of_a_node_that_takes_less() -> None:
    net = SimNetwork(2)
    a, b = net.node("a"), net.node("b", "a", max_content=SMALL)
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    heard = client_of(b, "ear").subscribed("k")
    joe = client_of(a, "joe")
    joe.publish("k", b"l" * 10_000, persistent=True)
    joe.publish("k", b"after", persistent=True)
    net.until(lambda: heard.contents == [b"l" * 10_000, b"after"])
    joe.publish("long", b"l" * 10_000)
    joe.settled()
    assert [len(m.content) for m in client_of(b, "other").get("long")] == [10_000]
    assert b.metric("malformed") == 0
