"""Each node knows which nodes serve an address, also after failures."""

import pytest

from mesh.features.services.node.parts import ServiceParts
from mesh.wire import commands as c
from mesh.wire.frames import write
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork, SimNode

X = ("address", "x")


def known(node: SimNode, name: str = "x") -> dict[str, int]:
    """Return the number of servers at each other node, as this node knows it."""
    presence, peers = node.core.parts.presence, node.core.parts.neighbours.peers
    return {peers[uuid].node.name: n for uuid, n in presence._registry.servers(("address", name)).items()}


def asked(node: SimNode, name: str = "x") -> User:
    """Return a user that has sent a message to the address, so that the node watches it."""
    user = User(node, f"asker-{node.name}")
    n = user.send(name, b"first")
    node.net.until(lambda: user.state(n))
    return user


@pytest.mark.parametrize("end", ["close", "kill"])
def test_E5_after_a_node_is_closed_or_killed_all_goes_to_the_others_in_order(end: str) -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    stays, goes = User(a, "stays"), User(b, "goes")
    stays.serve("x")
    goes.serve("x")
    asker = asked(c)
    getattr(b, end)()
    net.run(2 if end == "close" else 8)
    before = len(stays.contents())
    last = [asker.send("x", b"%d" % n) for n in range(10)][-1]
    net.until(lambda: asker.state(last) == "OK" and len(stays.contents()) == before + 10)
    assert stays.contents()[before:] == [b"%d" % n for n in range(10)]
    net.run(2)
    assert len(stays.contents()) == before + 10


def test_E7_E8_who_serves_no_more_is_asked_no_more() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server = User(a, "server")
    server.serve("x")
    near, far = asked(a), asked(b)
    first = server.serve("y", number=2)
    then = server._requests + 1
    server.unserve("x")
    server.unserve("y", number=2)
    net.run(0.5)
    replies = [x.request for x in server.heard if hasattr(x, "request")]
    assert replies.index(first) < replies.index(then) and len(replies) == len(set(replies))
    for user in (near, far):
        n = user.send("x", b"2")
        net.until(lambda user=user, n=n: user.state(n) == "NO_HANDLERS")  # type: ignore[misc]


def test_E16_news_come_only_of_what_was_asked_for() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server = User(a, "server")
    server.serve("x")
    asked(b)
    told = b.core.parts.presence._registry._received[a.uuid]
    for number in range(10):
        server.serve(f"other/{number}", number=10 + number)
    net.run(1)
    assert b.core.parts.presence._registry._received[a.uuid] == told


def test_E22_a_change_needs_no_new_lookup() -> None:
    net = SimNetwork()
    a, b, third = net.mesh("a", "b", "c")
    one, other = User(a, "one"), User(b, "other")
    one.serve("x", credit=1000)
    asker = asked(third)
    for _ in range(16):
        asker.send("x", b"to one")
    net.until(lambda: len(one.contents()) == 17)
    watched = third.core.parts.presence._watching.names[X].version
    other.serve("x", credit=1000)
    one.unserve("x")
    net.until(lambda: known(third) == {"b": 1})
    for _ in range(16):
        asker.send("x", b"to other")
    net.until(lambda: len(other.contents()) == 16)
    assert third.core.parts.presence._watching.names[X].version == watched
    other.unserve("x")
    net.until(lambda: known(third) == {})
    n = asker.send("x", b"to nobody")
    net.until(lambda: asker.state(n) == "NO_HANDLERS")
    one.serve("x")
    net.until(lambda: known(third) == {"a": 1})
    n = asker.send("x", b"to one again")
    net.until(lambda: asker.state(n) == "OK")


def test_E24_all_who_wait_for_a_lookup_hear_the_same() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a")
    user = User(a, "asker")
    numbers = [user.send("x", b"?") for _ in range(16)]
    net.until(lambda: all(user.state(n) == "NO_HANDLERS" for n in numbers))
    assert len({answer.text for answer in user.answers}) == 1


def test_E27_a_node_that_restarts_at_once_is_another_one() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    old = User(a, "server")
    old.serve("x")
    asker = asked(b)
    open_ones = [asker.request("x", b"%d" % n) for n in range(3)]
    net.until(lambda: len(old.contents()) == 4)
    a.kill()
    a.restart()
    net.until(lambda: all(asker.fate(n) == "HANDLER_LOST" for n in open_ones), limit=30)
    net.until(lambda: known(b) == {})
    new = User(a, "server2")
    new.serve("x")
    net.until(lambda: known(b) == {"a": 1})
    n = asker.send("x", b"new")
    net.until(lambda: asker.state(n) == "OK" and new.contents())
    assert new.contents() == [b"new"]


def test_after_a_partition_each_registry_is_the_truth() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    servers = {node.name: User(node, f"s-{node.name}") for node in (a, b, c)}
    servers["a"].serve("x")
    for node in (a, b, c):
        asked(node)
    net.cut("a", "b")
    net.cut("a", "c")
    net.run(20)
    assert known(b) == {} == known(c)
    servers["b"].serve("x")
    servers["a"].unserve("x")
    servers["a"].serve("x", number=5)
    servers["a"].serve("x", number=6)
    net.heal()
    net.run(40)
    assert (known(a), known(b), known(c)) == ({"b": 1}, {"a": 2}, {"a": 2, "b": 1})


def test_many_that_come_in_one_turn_are_one_row() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server = User(a, "server")
    server.serve("x")
    asked(b)
    told = b.core.parts.presence._registry._received[a.uuid]
    key = next(key for key, pipe in a.came_in.items() if pipe is server._pipe)
    for number in range(2, 302):  # all in one turn of the event loop
        a.core.receive(key, write(c.Consume(10_000 + number, number, "x", 1)), a.now, a.wall)
    net.until(lambda: known(b) == {"a": 301})
    assert b.core.parts.presence._registry._received[a.uuid] - told <= 2


def test_a_client_watches_who_serves_an_address() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    watcher, server = User(b, "watcher"), User(a, "server")
    watcher.watch(1, "x")
    net.run(0.5)
    assert [(row.name, row.consumers) for row in watcher.rows] == [("x", 0)]
    server.serve("x")
    net.until(lambda: watcher.rows[-1].consumers == 1)
    assert (watcher.rows[-1].node, watcher.rows[-1].uuid) == ("a", a.uuid)
    User(b, "here").serve("x")
    net.until(lambda: {(row.node, row.consumers) for row in watcher.rows[-2:]} == {("a", 1), ("b", 1)})
    a.kill()
    net.until(lambda: [(row.node, row.consumers) for row in watcher.rows[-1:]] == [("b", 1)], limit=30)


def test_a_node_that_hangs_is_waited_for_once() -> None:
    net = SimNetwork()
    a, b, _ = net.mesh("a", "b", "c")
    server = User(a, "server")
    server.serve("x")
    server.serve("y", number=2)
    net.cut("b", "c")
    asker = User(b, "asker")
    for name in ("x", "y"):
        before = net.now
        n = asker.send(name, b"1")
        net.until(lambda n=n: asker.state(n) == "OK")  # type: ignore[misc]
        assert net.now - before < (2.5 if name == "x" else 1.0)


def test_who_comes_again_before_his_connection_is_missed_is_told_from_the_beginning() -> None:
    net = SimNetwork()
    [a] = net.mesh("a")
    looker, server = User(a, "looker"), User(a, "server")
    looker.watch(1, "x")
    server.serve("x")
    net.run(0.5)
    looker.heard.clear()
    looker.session = ""
    looker.connect(boot_seen=a.disk.boot)
    looker.watch(1, "x")
    net.run(0.5)
    said = [heard for heard in looker.heard if isinstance(heard, c.Serving)]
    assert [(each.number, [row.consumers for row in each.rows]) for each in said] == [(1, [1])]


def test_E11_after_a_long_calm_the_next_message_arrives() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server = User(a, "server")
    server.serve("x")
    asker = asked(b)
    net.run(70)  # longer than a name is watched, and than any silence
    n = asker.send("x", b"late")
    net.until(lambda: asker.state(n) == "OK" and len(server.contents()) == 2)


def test_E12_a_node_that_is_closed_leaves_no_connection_nor_anything_of_what_it_served() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server = User(a, "server")
    server.serve("x")
    asked(b)
    assert b.metric("data_links") == 1 and known(b) == {"a": 1}
    a.close()
    net.run(5)
    parts = b.core.parts
    assert (b.metric("data_links"), b.metric("control_links"), known(b)) == (0, 0, {})
    assert not parts.presence._peers and not parts[ServiceParts].open_requests.at
