"""After a restart, messages that an earlier route still owes arrive, though it is no longer asked."""

from __future__ import annotations

import pytest

from mesh.mapping.rules import Rule
from tests.mesh.kernel.masters import Cluster, cluster

NEWS = ("NEWS",)
RULES = {
    "m": (Rule("m", domains=NEWS),),
    "w": (Rule("m", domains=NEWS), Rule("s", domains=("SPORTS",))),
    "x": (Rule("m", domains=("NEWS", "OTHER")),),
    "s": (
        Rule("s", domains=("SPORTS",)),
        Rule("s", 2, NEWS, refid="x"),
        Rule("w", 1, NEWS),
        Rule("x", 1, ("NEWS", "OTHER")),
    ),
    "t": (Rule("s", 3, ("NEWS", "OTHER")),),
}
KNOWN = {"m": ("w", "x"), "w": ("m", "s"), "x": ("m", "s"), "s": ("w", "x", "t"), "t": ("s",)}


def chain() -> Cluster:
    """Return a mesh in which t asks s, which asks x, or w while x is lost. Both ask m, the master."""
    told = cluster("m", "w", "x", "s", "t", rules=RULES, known=tuple(RULES))
    for name, node in told.nodes.items():
        assert set(KNOWN[name]) <= node.alive
    return told


@pytest.mark.slow  # test_records.py covers the debts of a restarted node
@pytest.mark.parametrize("who", ["s", "t"])
def test_a_persistent_message_at_a_way_that_is_not_asked_any_more_is_not_lost(who: str) -> None:
    told = chain()
    told["x"].close()
    told.net.until(lambda: "x" not in told["s"].alive)
    joe, pub = told.client(who), told.client("m", "pub")
    heard = joe.subscribed("k", domain="NEWS")
    joe.subscribe("k", domain="OTHER")  # w was never asked for this
    pub.publish("k", b"1", domain="NEWS", persistent=True)
    told.net.until(lambda: heard.contents == [b"1"])
    told["s"].kill()
    told.net.until(lambda: "s" not in told["w"].alive)
    pub.publish("k", b"2", domain="NEWS", persistent=True)  # w has it for s
    told.net.run(2)
    told["w"].kill()
    told["x"].restart()
    told["s"].restart()
    told.net.until(lambda: "x" in told["s"].alive and "w" not in told["s"].alive)
    told.net.run(5)
    pub.publish("k", b"3", domain="NEWS", persistent=True)  # over x
    told.net.until(lambda: b"3" in heard.contents)
    told.net.cut("m", "w")
    told["w"].restart()
    told.client("w", "other").subscribe("k", domain="SPORTS")  # so that w and s log in to each other first
    told.net.until(lambda: told["w"].core.parts.neighbours.peers[told["s"].uuid].data)
    told.net.run(1)
    told.net.heal()
    told.net.until(lambda: b"2" in heard.contents)
    asked = told["w"].core.parts.neighbours.peers[told["s"].uuid].exchange.feed.queries
    assert {query.domain for query in asked} == {"NEWS"}
    told.net.run(60)
    assert not asked  # by then it is not asked for anything
    assert sorted(heard.contents) == [b"1", b"2", b"3"]
