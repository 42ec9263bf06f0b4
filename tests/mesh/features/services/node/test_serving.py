"""Consumers of an address here get each message once, in turn, and give back what they have not begun."""

from mesh.wire.envelope import EVERY, REQUEST
from mesh.wire.limits import NOTE
from mesh.wire.serving import NUMBERED, pack_numbers, read_numbers
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork


def test_a_handler_that_goes_loses_what_it_had_and_what_waits_goes_to_others() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker, other = User(a, "server"), User(b, "asker"), User(b, "other")
    server.serve("x", credit=2)
    numbers = [asker.request("x", b"%d" % n) for n in range(4)]
    net.until(lambda: len(server.contents()) == 2)
    other.serve("x")
    server.vanish()
    net.until(lambda: len(asker.replies) == 2)
    assert {(n, code) for n, _, code, _ in asker.replies} == {(n, "HANDLER_LOST") for n in numbers[:2]}
    net.until(lambda: len(other.contents()) == 2)
    other.reply((1, b"a"), (2, b"b"))
    net.until(lambda: len(asker.replies) == 4)
    assert {n for n, _, code, _ in asker.replies if not code} == set(numbers[2:])


def test_a_slow_server_holds_up_its_senders_answers_only() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker, quick = User(a, "server"), User(b, "asker"), User(a, "quick")
    server.serve("slow", credit=1)
    quick.serve("quick")
    first, second = asker.send("slow", b"1"), asker.send("slow", b"2")
    third = asker.send("quick", b"3")
    net.until(lambda: asker.state(third) == "OK")
    assert (asker.state(first), asker.state(second)) == ("OK", "")
    server.done(1, 1)
    net.until(lambda: asker.state(second) == "OK")


def test_a_request_whose_time_is_over_is_not_begun() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x", credit=1)
    first, late = asker.request("x", b"1", ttl=60_000), asker.request("x", b"2", ttl=500)
    last = asker.send("x", b"3")
    net.until(lambda: asker.state(first) == "OK")
    net.run(3)
    assert asker.state(late) == "EXPIRED" and asker.state(last) == ""
    server.done(1, 1)
    net.until(lambda: asker.state(last) == "OK" and len(server.contents()) == 2)
    assert server.contents() == [b"1", b"3"]


def test_a_handler_hears_how_long_a_request_still_has() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    asker.request("x", b"1", ttl=5000)
    asker.send("x", b"2")
    net.until(lambda: len(server.ttls) == 2)
    assert 4000 < server.ttls[0] <= 5000 and server.ttls[1] == 0


def test_what_comes_when_its_time_is_over_is_given_to_nobody() -> None:
    """A message like this one comes from a client that could not reach its node in time."""
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, near, far = User(a, "server"), User(a, "near"), User(b, "far")
    server.serve("x")
    for asker in (near, far):
        for flags in (0, REQUEST):
            n = asker.send("x", b"late", flags=flags, ttl=1)
            net.until(lambda asker=asker, n=n: asker.state(n))  # type: ignore[misc]
            assert asker.state(n) == "EXPIRED"
        n = asker.send("x", b"in time", ttl=5000)
        net.until(lambda asker=asker, n=n: asker.state(n) == "OK")  # type: ignore[misc]
    assert server.contents() == [b"in time"] * 2


def test_one_who_ends_a_request_without_a_reply_has_failed_it() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    n = asker.request("x", b"1")
    net.until(server.contents)
    server.done(1, 1)
    net.until(lambda: asker.replies)
    assert asker.replies[0][:1] + asker.replies[0][2:] == (n, "REQUEST_FAILED", "")
    server.reply((1, b"too late"))
    server.done(1, 1)
    net.run(1)
    assert len(asker.replies) == 1


def test_E18_each_in_turn_gets_as_many_and_what_all_get_all_get_once() -> None:
    net = SimNetwork()
    nodes = net.mesh("a", "b", "c", "d")
    servers = [User(node, f"s-{node.name}") for node in nodes]
    for server in servers:
        server.serve("x", credit=1000)
    asker = User(nodes[0], "asker")
    for n in range(40):
        asker.send("x", b"%d" % n)
    net.until(lambda: sum(len(server.contents()) for server in servers) == 40)
    assert [len(server.contents()) for server in servers] == [10] * 4
    asker.send("x", b"all", flags=EVERY)
    net.until(lambda: all(server.contents()[-1] == b"all" for server in servers))
    assert [server.contents().count(b"all") for server in servers] == [1] * 4


def test_who_leaves_gives_back_what_he_has_not_begun() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    first, second, asker = User(a, "first"), User(a, "second"), User(b, "asker")
    first.serve("x")
    numbers = [asker.request("x", b"%d" % n, ttl=60_000) for n in range(5)]
    net.until(lambda: len(first.contents()) == 5)
    second.serve("x", credit=1)
    first.unserve("x", begun=2)
    net.until(lambda: len(asker.replies) == 2)
    assert {(n, code) for n, _, code, _ in asker.replies} == {(n, "HANDLER_LOST") for n in numbers[:2]}
    for count, content in ((1, b"2"), (2, b"3"), (3, b"4")):
        net.until(lambda count=count: len(second.contents()) == count)  # type: ignore[misc]
        assert second.contents()[-1] == content
        if count < 3:
            second.reply((count, b"done"))
    net.until(lambda: len(asker.replies) == 4)
    second.unserve("x", begun=2)
    net.until(lambda: len(asker.replies) == 5)
    assert asker.replies[-1][:1] + asker.replies[-1][2:] == (numbers[4], "NO_HANDLERS", "")
    assert [answer.state for answer in asker.answers if answer.state != "OK"] == []


def test_who_leaves_gives_back_a_part_of_what_came_together() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    first, second, asker = User(a, "first"), User(a, "second"), User(b, "asker")
    first.serve("x")
    n = asker.request("x", *(b"%d" % i for i in range(6)), ttl=60_000)
    net.until(lambda: len(first.contents()) == 6)
    second.serve("x")
    first.reply((2, b"done"))
    first.unserve("x", begun=3)
    net.until(lambda: second.contents() == [b"3", b"4", b"5"])
    second.reply((1, b"three"), (3, b"five"), (2, b"four"))
    net.until(lambda: len(asker.replies) == 6)
    lost = {(n + i, "HANDLER_LOST") for i in (0, 2)}
    assert {(number, code) for number, _, code, _ in asker.replies if code} == lost
    assert [(number - n, content) for number, content, code, _ in sorted(asker.replies) if not code] == [
        (1, b"done"), (3, b"three"), (4, b"four"), (5, b"five"),
    ]  # fmt: skip


def test_what_is_for_all_is_not_given_back() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    first, second, asker = User(a, "first"), User(a, "second"), User(b, "asker")
    for server in (first, second):
        server.serve("x")
    n = asker.request("x", b"0", b"1", ttl=60_000, flags=EVERY)
    net.until(lambda: len(first.contents()) == len(second.contents()) == 2)
    first.unserve("x", begun=0)
    net.until(lambda: len(asker.replies) == 2)
    assert asker.codes() == {n: "HANDLER_LOST", n + 1: "HANDLER_LOST"}
    net.run(1)
    assert second.contents() == [b"0", b"1"]


def test_a_request_to_all_expires_where_its_consumer_settles_nothing() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    stuck, asker = User(a, "stuck"), User(b, "asker")
    stuck.serve("x", credit=1)
    asker.request("x", b"1", ttl=60_000, flags=EVERY)
    net.until(lambda: len(stuck.contents()) == 1)
    late = asker.request("x", b"2", ttl=500, flags=EVERY)
    net.until(lambda: asker.codes().get(late) == "EXPIRED")
    assert stuck.contents() == [b"1"]


def test_messages_to_all_that_a_consumer_does_not_take_are_refused_at_the_limit() -> None:
    net = SimNetwork()
    a = net.node("a", backlog_bytes=4096)
    a.start()
    stuck, quick, asker = (User(a, name) for name in ("stuck", "quick", "asker"))
    stuck.serve("x", credit=1)
    quick.serve("x", credit=100)
    numbers = [asker.send("x", b"%d" % n * 1000, flags=EVERY) for n in range(6)]
    net.until(lambda: all(asker.state(n) for n in numbers))
    assert [asker.state(n) for n in numbers] == ["OK"] * 4 + ["ADDRESS_FULL"] * 2
    assert a.metric("address_waiting_bytes") == 3 * 1064
    for tag in range(1, 5):
        stuck.done(tag, tag)
        net.run(1)
    assert len(stuck.contents()) == 4 and a.metric("address_waiting_bytes") == 0
    last = asker.send("x", b"last", flags=EVERY)
    net.until(lambda: asker.state(last) == "OK")


def test_E2_what_comes_from_elsewhere_is_for_nobody_who_serves_only_this_node() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    hidden, open_one, far, near = (User(node, name) for node, name in zip((a, a, b, a), "hofn", strict=True))
    hidden.serve("x", local_only=True, credit=100)
    open_one.serve("x", credit=100)
    for n in range(10):
        far.send("x", b"far %d" % n)
    net.until(lambda: len(open_one.contents()) == 10)
    assert hidden.contents() == []
    for n in range(10):
        near.send("x", b"near %d" % n)
    net.until(lambda: len(hidden.contents()) + len(open_one.contents()) == 20)
    assert hidden.contents()


def test_more_than_a_hundred_consumers_of_an_address_are_only_counted() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server = User(a, "server")
    notes = b.core.parts.presence.notes
    notes(("address", "x"))
    for n in range(NUMBERED):
        server.serve("x", number=n + 1)
    net.run(1)
    [note] = notes(("address", "x")).values()
    assert len(read_numbers(note)) == NUMBERED and len(note) <= NOTE
    server.serve("x", number=NUMBERED + 1)
    net.run(1)
    assert not notes(("address", "x"))
    assert b.core.parts.presence.servers(("address", "x")) == {a.uuid: NUMBERED + 1}


def test_numbers_up_to_the_largest_fit_into_a_note() -> None:
    largest = [2**32 - 1 - n for n in range(NUMBERED)]
    assert (
        read_numbers(pack_numbers(largest)) == tuple(sorted(largest)) and len(pack_numbers(largest)) <= NOTE
    )
