"""Does each request get a reply, or a reason, wherever it is served?"""

from mesh.wire.envelope import EVERY, LOCAL_ONLY, REQUEST, RESENT
from tests.mesh.core.services.user import User
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
    assert (near.state(n), far.state(f)) == ("OK", "OK")
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
    asker.connect(boot_seen=b.core.parts.desk.me.boot)
    asker.answers.clear()
    asker.publish("x", n, (b"1",))
    net.until(lambda: asker.state(n) == "OK")
    assert sum(len(server.contents()) for server in servers) == 1
    asker.publish("x", 7, (b"7",), flags=RESENT)
    net.until(lambda: asker.state(7) == "HANDLER_LOST")
    assert sum(len(server.contents()) for server in servers) == 1
