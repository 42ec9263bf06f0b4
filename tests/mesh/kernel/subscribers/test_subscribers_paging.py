"""Messages for subscribers beyond a node's memory are on its disk, and arrive in order, simulated.

tests/mesh/routing/test_paging.py and test_paging_laws.py test the pages themselves.
"""

import gc

import pytest

from mesh.wire.envelope import Envelope, decode
from tests.seeds import scenarios
from tests.simulated_client import SimClient, Subscription, client_of
from tests.simulation import SimNetwork, SimNode

MANY = 400
SMALL = {"memory_bytes": 12_000, "window_bytes": 3_000, "window_count": 16, "link_messages": 4}
STOPPED = 0.001  # items a second


def bodies() -> int:
    """Return the number of envelopes in memory that have a body."""
    gc.collect()
    return sum(isinstance(thing, Envelope) and bool(thing.body) for thing in gc.get_objects())


def publish(pub: SimClient, first: int, last: int) -> None:
    for n in range(first, last + 1):
        pub.publish("k", b"%d" % n, persistent=True)
        if n % 20 == 0:
            pub.settled()
    pub.settled()


def numbers(heard: Subscription) -> list[int]:
    return list(map(int, heard.contents))


def backlog(node: SimNode) -> int:
    """Return the number of envelopes for sessions that are on disk only, or being read."""
    feeds = node.core.parts.sessions.feeds()
    return sum(len(feed._backlog.away or ()) for feed in feeds)


def used(node: SimNode) -> int:
    memory: int = node.core.parts.paging._memory.used
    return memory


def is_empty(node: SimNode) -> bool:
    return not list(node.disk.store.load().envelopes)


def test_what_a_reader_that_stands_still_has_waiting_is_on_the_disk_and_comes_in_order() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a", **SMALL)
    joe, pub = client_of(a), client_of(a, "pub")
    heard = joe.subscribed("k", rate=STOPPED)
    before = bodies()
    publish(pub, 1, MANY)
    assert used(a) <= SMALL["memory_bytes"] and backlog(a) > MANY / 2
    assert bodies() - before < MANY / 4, "and the bodies in memory of a simulated disk are those of rows"
    joe.use(heard)
    net.until(lambda: len(heard.got) == MANY)
    assert numbers(heard) == list(range(1, MANY + 1)) and not heard.dropped
    net.until(lambda: is_empty(a))
    assert (used(a), backlog(a)) == (0, 0)


def test_a_start_does_not_hold_what_waits_and_gives_it_out() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a", **SMALL)
    joe, pub = client_of(a), client_of(a, "pub")
    heard = joe.subscribed("k", rate=STOPPED)
    publish(pub, 1, MANY)
    a.kill()
    a.start()
    assert used(a) <= SMALL["memory_bytes"] and backlog(a) > MANY / 2
    joe.use(heard)
    publish(pub, MANY + 1, MANY + 50)
    net.until(lambda: len(heard.got) == MANY + 50)
    assert numbers(heard) == list(range(1, MANY + 51))
    net.until(lambda: is_empty(a))


def test_what_a_node_that_is_away_has_waiting_is_on_the_disk_and_comes_in_order() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", **SMALL)
    joe, pub = client_of(b), client_of(a, "pub")
    heard = joe.subscribed("k")
    publish(pub, 1, 10)
    net.until(lambda: len(heard.got) == 10)
    b.kill()
    publish(pub, 11, MANY)
    (peer,) = a.core.parts.neighbours.peers.values()
    assert len(peer.exchange.feed._backlog.away or ()) > MANY / 2
    b.start()
    net.until(lambda: len(heard.got) == MANY)
    assert numbers(heard) == list(range(1, MANY + 1))
    net.until(lambda: is_empty(a))
    assert used(a) == 0


@pytest.mark.slow
def test_what_is_void_when_it_is_read_is_not_given() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a", **SMALL)
    joe, pub = client_of(a), client_of(a, "pub")
    heard = joe.subscribed("k", rate=STOPPED)
    for n in range(1, 201):
        pub.publish("k", b"%d" % n, persistent=True, expires=a.wall + 5 * 10**9 if n % 2 else 0)
        if n % 20 == 0:
            pub.settled()
    assert backlog(a) > 50
    net.run(10)
    joe.use(heard)
    net.until(lambda: is_empty(a))
    assert numbers(heard)[-80:] == list(range(42, 201, 2))
    feed = next(iter(a.core.parts.sessions.feeds()))
    assert feed.matched == feed.delivered + feed.expired == 200


ONE, JOE = "/node/a/client/joe/session/1", "/node/a/client/joe"
DEAD = "__sys__deadMessage/#"


def write(pub: SimClient, first: int, last: int, to: str, expires: int = 0) -> None:
    for n in range(first, last + 1):
        pub.send(to, b"%d" % n, force=True, persistent=True, expires=expires)
        if n % 20 == 0:
            pub.settled()
    pub.settled()


def letters(node: SimNode) -> int:
    """Return the number of direct messages that are on disk only, or being read."""
    return sum(len(feed._backlog.away or ()) for feed in node.core.parts.inboxes.feeds())


def is_empty_but_for_dead(node: SimNode) -> bool:
    return not any(decode(header, body).to for _, header, body in node.disk.store.load().envelopes)


@pytest.mark.parametrize("to", scenarios([JOE, ONE]))
@pytest.mark.parametrize("has_crashed", scenarios([True, False]))
def test_letters_beyond_memory_are_on_the_disk_and_come_in_order(to: str, has_crashed: bool) -> None:
    net = SimNetwork()
    (a,) = net.mesh("a", **SMALL)
    write(client_of(a, "pub"), 1, 200, to)
    if has_crashed:
        a.kill()
        a.start()
    assert used(a) <= SMALL["memory_bytes"] and letters(a) > 100
    inbox = client_of(a, "joe", session=1).inbox()
    net.until(lambda: len(inbox.got) == 200)
    assert numbers(inbox) == list(range(1, 201))
    net.until(lambda: is_empty(a))
    net.run(5)
    assert (used(a), letters(a), a.metric("stored_envelopes")) == (0, 0, 0)


def test_letters_that_return_to_their_client_from_the_disk_come_before_those_sent_meanwhile() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a", **SMALL)
    pub, early = client_of(a, "pub"), client_of(a, "joe", session=1)
    early.read_inbox().rate = STOPPED
    write(pub, 1, 60, JOE)
    assert letters(a) > 10
    net.disk = (0.3, 0.3)
    early.close()
    for n in range(61, 81):
        pub.send(JOE, b"%d" % n, force=True, persistent=n > 75)
        net.run(0.05)
    pub.settled()
    inbox = client_of(a, "joe", session=2).inbox()
    net.until(lambda: len(inbox.got) == 80)
    assert numbers(inbox) == list(range(1, 81))
    net.until(lambda: is_empty(a))


def test_what_several_sessions_left_is_read_in_the_order_in_which_it_was_sent() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a", linger=10.0)
    pub, first = client_of(a, "pub"), client_of(a, "joe", session=1)
    first.read_inbox().rate = STOPPED
    write(pub, 1, 3, JOE)
    first.die()
    net.until(lambda: a.metric("connected_sessions") == 1)
    second = client_of(a, "joe", session=2)
    second.read_inbox().rate = STOPPED
    write(pub, 4, 6, JOE)
    net.run(15)  # the first session does not return
    second.close()
    inbox = client_of(a, "joe", session=3).inbox()
    net.until(lambda: len(inbox.got) == 6)
    assert numbers(inbox) == list(range(1, 7))


@pytest.mark.slow
def test_a_reader_of_letters_may_go_in_the_middle_and_the_rest_waits_on_or_is_void() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a", **SMALL)
    write(client_of(a, "pub"), 1, 300, ONE, expires=a.wall + 60 * 10**9)
    early = client_of(a, "joe", session=1)
    some = early.inbox()
    net.until(lambda: len(some.got) > 50)
    early.close()
    net.run(1)
    assert letters(a) > 100
    late = client_of(a, "joe", session=1)
    rest = late.inbox()
    net.until(lambda: len(rest.got) > 50)
    late.close()
    net.run(100)
    assert numbers(some) == list(range(1, len(some.got) + 1))
    assert numbers(rest) == list(range(numbers(rest)[0], numbers(rest)[-1] + 1))
    assert numbers(rest)[0] <= len(some.got) + 1
    assert a.metric("buried") == 300 - numbers(rest)[-1]
    assert is_empty_but_for_dead(a)


@pytest.mark.slow
def test_letters_on_the_disk_that_are_void_are_dead_letters_wherever_they_stand() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a", **SMALL, tailback_ttl=100.0)
    pub = client_of(a, "pub")
    for n in range(20):
        write(pub, 10 * n + 1, 10 * n + 5, ONE)
        write(pub, 10 * n + 6, 10 * n + 10, ONE, expires=a.wall + 20 * 10**9)
    assert letters(a) > 50
    net.run(40)
    assert a.metric("buried") == 100
    inbox = client_of(a, "joe", session=1).inbox()
    net.until(lambda: len(inbox.got) == 100)
    assert numbers(inbox) == [n for n in range(1, 201) if (n - 1) % 10 < 5]
    write(pub, 201, 300, "/node/a/client/ann")
    net.run(150)
    assert a.metric("buried") == 200, "nobody came for them"
    assert len(client_of(a, "clerk").get(pattern=DEAD)) == a.metric("dead") == 200
