"""The events that a node reports of its mesh."""

from tests.mesh.kernel.rows import rows
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def events(node: SimNode) -> list[tuple[str, str]]:
    return [(e["kind"], e["node"]) for e in rows(node, "events", "events", after=0)]


def test_what_happens_to_nodes_can_be_read_in_order() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    b.restart()
    c.close()
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    b.kill()
    net.until(lambda: not a.alive)
    kinds = [kind for kind, node in events(a) if node == "b"]
    assert kinds[0] == "joined" and kinds[-1] == "dead" and kinds.index("restarted") < len(kinds) - 1


def test_who_asks_for_events_goes_on_where_it_was() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    client = client_of(a).connected()
    first = client.call("events", after=0)
    assert client.call("events", after=first["next"]) == {"events": [], "next": first["next"], "boot": 1}
    b.close()
    net.until(lambda: client.call("events", after=first["next"])["events"])
    (event,) = client.call("events", after=first["next"])["events"]
    assert (event["kind"], event["node"], event["boot"]) == ("left", "b", 1)
    assert event["number"] == first["next"] + 1
