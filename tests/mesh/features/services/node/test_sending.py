"""Requests between nodes: each gets a reply, or a failure with its reason."""

from mesh.features.services.node.parts import ServiceParts
from mesh.wire.envelope import EVERY, LOCAL_ONLY, REQUEST, RESENT
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork


def test_a_request_is_replied_to_here_and_at_another_node() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, near, far = User(a, "server"), User(a, "near"), User(b, "far")
    server.serve("calc/add")
    n, f = near.request("calc/add", b"1"), far.request("calc/add", b"2")
    net.until(lambda: len(server.contents()) == 2)
    server.reply((1, b"one"), (2, b"two"))
    net.until(lambda: near.replies and far.replies)
    replies = {b"1": b"one", b"2": b"two"}
    first = server.contents()[0]
    by = {first: b"one", ({b"1", b"2"} - {first}).pop(): b"two"}
    assert near.replies == [(n, by[b"1"], "", server.session)]
    assert far.replies == [(f, by[b"2"], "", server.session)]
    assert replies.keys() == by.keys()


def test_E9_without_a_server_there_is_a_reason_and_a_near_miss() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("calc/add")
    n = asker.request("calc/addd", b"1")
    net.until(lambda: asker.state(n))
    assert asker.state(n) == "NO_HANDLERS"
    m = asker.request("calc/add", b"1")
    net.until(lambda: asker.state(m) == "OK")
    k = asker.request("calc/ad", b"1")
    net.until(lambda: asker.state(k))
    assert "Did you mean 'calc/add'" in asker.answers[-1].text


def test_gather_reaches_all_who_serve_it_and_says_how_many() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    servers = [User(a, "s1"), User(a, "s2"), User(b, "s3")]
    for server in servers:
        server.serve("who")
    asker = User(b, "asker")
    n = asker.send("who", b"?", flags=REQUEST | EVERY, ttl=5000)
    net.until(lambda: all(server.contents() for server in servers))
    for server in servers:
        server.reply((1, server.name.encode()))
    net.until(lambda: len(asker.replies) == 3)
    assert {content for _, content, _, _ in asker.replies} == {b"s1", b"s2", b"s3"}
    assert [a.matched for a in asker.answers if a.first == n] == [3]


def test_a_gathering_whose_only_node_is_lost_may_have_been_heard_there() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker = User(b, "server"), User(a, "asker")
    server.serve("who")
    n = asker.send("who", b"1")
    net.until(lambda: asker.state(n) == "OK")
    net.cut("a", "b")
    n = asker.send("who", b"?", flags=REQUEST | EVERY, ttl=60_000)
    net.until(lambda: asker.state(n))
    assert asker.state(n) == "HANDLER_LOST"


def test_of_a_gathering_each_reply_that_a_lost_node_owes_is_a_failure() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    near, asker = User(a, "near"), User(a, "asker")
    far = [User(node, name) for node, name in ((b, "one"), (b, "two"), (c, "three"))]
    for server in (near, *far):
        server.serve("who")
    n = asker.send("who", b"?", flags=REQUEST | EVERY, ttl=600_000)
    net.until(lambda: asker.state(n) == "OK" and all(server.contents() for server in far))
    far[0].reply((1, b"here"))
    net.until(lambda: asker.replies)
    net.cut("a", "b")
    net.until(lambda: len(asker.replies) == 2)
    assert asker.replies[0][1:3] == (b"here", "")
    assert asker.replies[1][2] == "HANDLER_LOST"
    net.heal()
    net.run(10.0)
    far[1].reply((1, b"too late"))
    far[2].reply((1, b"three"))
    net.until(lambda: len(asker.replies) > 2)
    net.run(2.0)
    assert [content for _, content, _, _ in asker.replies[2:]] == [b"three"]
    assert [answer.matched for answer in asker.answers if answer.first == n] == [4]


def test_a_node_that_is_lost_before_it_says_how_many_it_has_counts_as_one_failure() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    near, far, asker = User(a, "near"), User(b, "far"), User(a, "asker")
    near.serve("who")
    far.serve("who")
    n = asker.send("who", b"1", flags=EVERY)
    net.until(lambda: asker.state(n) == "OK")
    net.cut("a", "b")
    n = asker.send("who", b"?", flags=REQUEST | EVERY, ttl=600_000)
    net.until(lambda: asker.state(n) and asker.replies)
    assert [answer.matched for answer in asker.answers if answer.first == n] == [2]
    assert [code for _, _, code, _ in asker.replies] == ["HANDLER_LOST"]


def test_what_was_lost_with_a_connection_that_is_replaced_has_an_end() -> None:
    """The node that dialed notices the lost connection and dials again.

    The other node has sent on the old connection meanwhile, and is never notified of its end.
    """
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    users = {"a": User(a, "ann"), "b": User(b, "bob")}
    for name, user in users.items():
        user.serve(f"at/{name}")
    for name, user in users.items():
        n = user.send("at/b" if name == "a" else "at/a", b"1")
        net.until(lambda user=user, n=n: user.state(n) == "OK")  # type: ignore[misc]
    peer_of = {one.name: one.core.parts.neighbours.peers[other.uuid] for one, other in ((a, b), (b, a))}
    name, peer = next((name, peer) for name, peer in peer_of.items() if peer.data and not peer.data.dialled)
    before, asker, to = peer.data, users[name], "at/b" if name == "a" else "at/a"
    net.cut("a", "b")
    kinds = (0, REQUEST, EVERY, REQUEST | EVERY)
    numbers = [asker.send(to, b"lost", flags=flags, ttl=600_000) for flags in kinds]
    net.run(0.05)  # they are in transit
    net.cuts.clear()
    net.break_all("a", "b")
    net.until(lambda: peer.data not in (None, before))
    net.until(lambda: all(asker.state(n) for n in numbers))
    assert [asker.state(n) for n in numbers] == ["HANDLER_LOST"] * len(kinds)
    assert asker.node.metric("requests_open") == 0


def test_a_gathering_at_a_node_that_is_lost_is_not_remembered() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker = User(b, "server"), User(a, "asker")
    server.serve("who")
    n = asker.send("who", b"?", flags=REQUEST | EVERY, ttl=600_000)
    net.until(lambda: asker.state(n) == "OK")
    net.cut("a", "b")
    net.until(lambda: asker.replies)
    assert a.metric("requests_open") == 0


def test_E1_E2_E4_local_only_stays_here() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    hidden, open_one = User(a, "hidden"), User(b, "open")
    hidden.serve("x", local_only=True)
    asker, near = User(b, "asker"), User(a, "near")
    n = asker.send("x", b"1")
    net.until(lambda: asker.state(n))
    assert asker.state(n) == "NO_HANDLERS"
    open_one.serve("x")
    for _ in range(30):
        near.send("x", b"here", flags=LOCAL_ONLY)
    net.until(lambda: len(hidden.contents()) == 30)
    net.run(1)
    assert open_one.contents() == []
    far = asker.send("x", b"2")
    net.until(lambda: asker.state(far) == "OK" and open_one.contents())
    assert (open_one.contents(), len(hidden.contents())) == ([b"2"], 30)


def test_a_send_that_comes_again_is_not_given_twice() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    servers = [User(a, "s1"), User(b, "s2")]
    for server in servers:
        server.serve("x")
    asker = User(b, "asker")
    n = asker.send("x", b"1")
    net.until(lambda: asker.state(n) == "OK")
    asker.vanish()
    asker.connect(boot_seen=b.core.parts.context.me.boot)
    asker.answers.clear()
    asker.publish("x", n, (b"1",))
    net.until(lambda: asker.state(n) == "OK")
    assert sum(len(server.contents()) for server in servers) == 1
    asker.publish("x", 7, (b"7",), flags=RESENT)
    net.until(lambda: asker.state(7) == "HANDLER_LOST")
    assert sum(len(server.contents()) for server in servers) == 1


def test_a_client_that_vanishes_with_a_thousand_requests_open_leaves_nothing() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", linger=5.0)
    server, asker, other = User(a, "server"), User(b, "asker"), User(b, "other")
    server.serve("x", credit=2000)
    for _ in range(10):
        asker.request("x", *[b"q"] * 100, ttl=3_600_000)
    net.until(lambda: len(server.contents()) == 1000)
    asker.vanish()
    net.run(10)
    requests = b.core.parts[ServiceParts].open_requests
    assert asker.stream not in requests.streams and not requests.at
    server.reply(*[(count, b"a") for count in range(1, 1001)])
    n = other.request("x", b"mine")
    net.until(lambda: len(server.contents()) == 1001)
    server.reply((1001, b"yours"))
    net.until(lambda: other.replies)
    assert other.replies[0][:3] == (n, b"yours", "")
    assert b.metric("late_replies") + b.metric("unasked") >= 1


def test_replies_wait_for_an_asker_that_is_away_for_a_moment() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    n = asker.request("x", b"1", ttl=60_000)
    net.until(server.contents)
    asker.vanish()
    server.reply((1, b"one"))
    net.run(2)
    asker.connect(boot_seen=b.core.parts.context.me.boot)
    net.until(lambda: asker.replies)
    assert asker.replies == [(n, b"one", "", server.session)]


def test_E14_headers_of_one_name_keep_their_order() -> None:
    from mesh.values import Headers
    from mesh.wire.properties import Properties, decode_properties, encode_properties

    headers = Headers([("a", "1"), ("B", "2"), ("a", "3"), ("c", "4"), ("b", "5"), ("a", "6")])
    back = decode_properties(encode_properties(Properties(headers, code="X"))).headers
    assert (back.all("a"), back.all("b"), back.all("c")) == (("1", "3", "6"), ("2", "5"), ("4",))


def test_a_link_that_breaks_for_a_moment_is_no_reason_to_say_that_nobody_serves_it() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    n = asker.send("x", b"1")
    net.until(lambda: asker.state(n) == "OK")
    net.break_all("a", "b")
    net.run(0.01)
    n = asker.send("x", b"2")
    net.until(lambda: asker.state(n))
    assert asker.state(n) == "OK"
