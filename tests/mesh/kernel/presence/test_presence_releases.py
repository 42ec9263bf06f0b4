"""Nodes of releases without services beside nodes with them: no commands for them, and no waits."""

import pytest

from mesh.kernel.presence.presence import Presence
from mesh.wire import commands as c
from mesh.wire.limits import SERVICES
from tests.mesh.features.services.node.user import User
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

NEW = {kind.__name__ for kind in c.COMMANDS.values() if kind.word == SERVICES}
SOON = 0.5  # s: far less than a node waits for a silent one
OLD = "old"


@pytest.fixture(params=scenarios(["without the word", "version 1"]))
def net(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SimNetwork:
    """A mesh of a and b, which have services, and of `old`, which does not."""
    net = SimNetwork()
    if request.param == "version 1":
        monkeypatch.setattr(SimNode, "newest", (2, 2, 1))
    else:
        right = Presence.features
        monkeypatch.setattr(Presence, "features", lambda it: () if it._context.me.name == OLD else right(it))
    net.is_watched = True
    net.mesh("a", "b", OLD)
    return net


def told(net: SimNetwork) -> set[tuple[str, str, str]]:
    """Return (sender, receiver, command) of all commands for services."""
    return {(sender, receiver, kind) for sender, receiver, kind in net.seen if kind in NEW}


def seconds(net: SimNetwork, user: User, to: str, state: str) -> float:
    """Return the seconds until a message to the address has this answer."""
    began, n = net.now, user.send(to, b"1")
    net.until(lambda: user.state(n) == state)
    return net.now - began


def test_it_is_never_told_of_services(net: SimNetwork) -> None:
    a, b = net.nodes["a"], net.nodes["b"]
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x", credit=1000)
    server.serve("workers\n\njobs/#", number=2)
    n = asker.request("x", b"1")
    net.until(lambda: asker.state(n) == "OK")
    server.reply((1, b"one"), epoch=server.epochs[1])
    net.until(lambda: asker.replies)
    asker.watch(1, "x", "y")
    seconds(net, asker, "nobody", "NO_HANDLERS")
    heard = client_of(net.nodes[OLD], "reader").subscribed(pattern="jobs/#")
    m = client_of(net.nodes[OLD], "writer")
    m.publish("jobs/1", b"for one")
    net.until(lambda: heard.contents == [b"for one"])
    for name in ("a", OLD):
        net.nodes[name].restart()
        net.run(5)
    said = told(net)
    assert {("a", "b"), ("b", "a")} <= {(sender, receiver) for sender, receiver, _ in said}
    assert not [line for line in said if OLD in line[:2]]
    assert {OLD, "b"} <= a.alive and net.nodes[OLD].alive >= {"a", "b"}


def test_nobody_waits_for_it_more_than_once(net: SimNetwork) -> None:
    a, b = net.nodes["a"], net.nodes["b"]
    asker = User(b, "asker")
    seconds(net, asker, "first", "NO_HANDLERS")
    for n in range(5):
        assert seconds(net, asker, f"nobody/{n}", "NO_HANDLERS") < SOON
    server = User(a, "server")
    server.serve("x", credit=100)
    assert seconds(net, asker, "x", "OK") < SOON
    net.run(61)  # by then no name is watched, and no connection is needed
    assert seconds(net, asker, "later", "NO_HANDLERS") < SOON


def test_it_serves_nobody_and_what_is_sent_goes_past_it(net: SimNetwork) -> None:
    a, b = net.nodes["a"], net.nodes["b"]
    servers = [User(a, "s-a"), User(b, "s-b")]
    for server in servers:
        server.serve("x", credit=1000)
    asker = User(b, "asker")
    for n in range(50):
        asker.send("x", b"%d" % n)
    net.until(lambda: sum(len(server.contents()) for server in servers) == 50)
    net.nodes[OLD].kill()
    assert seconds(net, asker, "x", "OK") < SOON
    net.nodes[OLD].start()
    net.until(lambda: OLD in b.alive)
    assert seconds(net, asker, "x", "OK") < SOON


def test_who_joins_a_group_does_not_wait_for_it(net: SimNetwork) -> None:
    member = User(net.nodes["a"], "member")
    member.serve("workers\n\nothers/#")
    began = net.now
    member.serve("workers\n\njobs/#", number=2)
    assert net.now - began < SOON
    m = client_of(net.nodes["b"], "writer")
    m.publish("jobs/1", b"1")
    net.until(lambda: member.contents(2) == [b"1"])


def test_one_that_is_brought_up_to_date_serves_as_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    right = Presence.features
    monkeypatch.setattr(Presence, "features", lambda it: () if it._context.me.name == OLD else right(it))
    a, old = net.mesh("a", OLD)
    asker = User(a, "asker")
    seconds(net, asker, "x", "NO_HANDLERS")
    monkeypatch.setattr(Presence, "features", right)
    old.restart()
    server = User(old, "server")
    server.serve("x")
    net.until(lambda: OLD in a.alive)
    n = asker.request("x", b"1")
    net.until(lambda: asker.state(n))
    assert asker.state(n) == "OK"
    server.reply((1, b"one"))
    net.until(lambda: asker.replies == [(n, b"one", "", server.session)])
