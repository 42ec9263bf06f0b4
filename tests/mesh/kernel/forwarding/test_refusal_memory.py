"""A publisher that missed a refusal receives the same one again, and no later acceptance."""

from msgspec.structs import replace

from mesh.kernel.forwarding.refusal_memory import EACH, RefusalMemory
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer, Publish
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.masters import RUGBY, cluster

STREAM = b"s" * 16


def refused(first: int, last: int) -> Answer:
    return Answer("", first, last, "TAILBACK_FULL", 0, "full")


def test_what_was_refused_is_told_apart_from_the_rest() -> None:
    words = RefusalMemory("heron", lambda envelope: None)
    words.remember(STREAM, refused(3, 5))
    words.remember(STREAM, refused(8, 9))
    parts = list(words.parts(STREAM, "", 1, 8, 1))
    assert parts == [(1, 2, None), (3, 5, refused(3, 5)), (6, 7, None), (8, 8, refused(8, 8))]
    assert list(words.parts(STREAM, "other", 1, 8, 1)) == [(1, 8, None)]
    assert list(words.parts(STREAM, "", 3, 9, 6)) == [(3, 7, None), (8, 9, refused(8, 9))], "it knows of 5"


def test_a_refusal_is_remembered_until_its_publisher_knows_all_of_it() -> None:
    words = RefusalMemory("heron", lambda envelope: None)
    words.remember(STREAM, refused(3, 5))
    for low in (4, 5):
        assert list(words.parts(STREAM, "", low, 6, low)) == [(low, 5, refused(low, 5)), (6, 6, None)], low
    assert list(words.parts(STREAM, "", 5, 6, 6)) == [(5, 6, None)]


def test_no_more_is_remembered_than_a_bound() -> None:
    words = RefusalMemory("heron", lambda envelope: None)
    for n in range(1, EACH + 3):
        words.remember(STREAM, refused(n, n))
    assert list(words.parts(STREAM, "", 1, 3, 1)) == [(1, 2, None), (3, 3, refused(3, 3))]


def test_a_part_that_is_told_again_does_not_make_the_rest_unknown() -> None:
    words = RefusalMemory("heron", lambda envelope: None)
    words.remember(STREAM, refused(1, 9))
    words.remember(STREAM, refused(1, 4))
    assert list(words.parts(STREAM, "", 5, 9, 1)) == [(5, 9, refused(5, 9))]


def test_what_its_node_had_given_up_before_its_restart_is_told_of_its_own_clients_only() -> None:
    words = RefusalMemory("heron", lambda envelope: Ranges.of((4, 5, 9)))
    words.remember(STREAM, refused(3, 3))
    e = envelope("k", [b""] * 8, first=2, stream=STREAM)
    assert list(words.split_repeated(e, 2, 9, False)) == [(2, 2, None), (3, 3, refused(3, 3)), (4, 9, None)]
    told = [
        (first, last, answer and answer.state) for first, last, answer in words.split_repeated(e, 2, 9, True)
    ]
    assert told == [(2, 2, None), (3, 3, "TAILBACK_FULL"), (6, 8, None), (4, 5, "REFUSED"), (9, 9, "REFUSED")]


def test_what_was_refused_for_want_of_room_is_not_taken_when_it_comes_again() -> None:
    c = cluster("heron", "frodo", "bilbo", tailback_count=2)
    joe = c.client("bilbo")
    c["heron"].kill()
    c["frodo"].kill()
    c.net.run(20)
    for n in range(4):
        joe.publish("k", b"%d" % n, domain=RUGBY, persistent=True)
    c.net.until(lambda: joe.state(2, RUGBY) == "FORWARD_WARNING")
    c.net.until(lambda: joe.state(4, RUGBY) == "TAILBACK_FULL")
    c["heron"].start()
    c["frodo"].start()
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")
    c.net.run(5)
    taken = c["heron"].metric("published")
    again = envelope("k", [b"2"], first=3, domain=RUGBY, persistent=True, stream=joe.stream)
    joe.say(Publish((1,)), again)  # as if a lost connection had taken the refusal
    c.net.run(5)
    assert joe.state(3, RUGBY) == joe.state(4, RUGBY) == "TAILBACK_FULL"
    assert c["heron"].metric("published") == taken


def test_what_a_way_refused_in_vain_it_does_not_take_behind_what_followed() -> None:
    c = cluster("heron", "frodo", "bilbo", tailback_ttl=20.0)
    joe = c.client("bilbo")
    c["heron"].kill()
    c.net.run(15)
    joe.publish("k", b"waits too long", domain=RUGBY)
    c.net.until(lambda: joe.state(1, RUGBY) == "FORWARD_WARNING")
    c.net.run(10)
    joe.publish("k", b"follows", domain=RUGBY)
    c.net.until(lambda: c["frodo"].core.parts.forwarder.onward.messages == 2)
    frodo, bilbo = c["frodo"].core, c["bilbo"].uuid
    (first,) = (e for e in frodo.parts.forwarder.onward.entries() if e.envelope.first == 1)
    c.net.until(lambda: first.is_done)
    came = replace(first.envelope, route=first.envelope.route[:-1])
    frodo.parts.forwarder.incoming.forwarded(frodo.parts.neighbours.peers[bilbo], [came])  # as if lost
    c.net.run(1)
    assert frodo.parts.forwarder.onward.messages == 1
    c["heron"].start()
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")
    assert joe.state(1, RUGBY) == "EXPIRED"
    assert c["heron"].metric("published") == 1


def test_a_letter_that_was_refused_is_not_taken_behind_what_followed_after_a_restart_either() -> None:
    c = cluster("heron", "avalon", rules=dict.fromkeys(("heron", "avalon"), ()), links="any")
    c.net.run(2)

    def forwarded(number: int) -> None:
        letter = replace(
            envelope("", [b"%d" % number], first=number, persistent=True),
            keys=("",),
            to="/node/heron/client/joe/session/1",
            sender="/node/avalon/client/ann/session/1",
            count=1,
            last=number,
            route=(c["avalon"].core.parts.context.hop(0),),
        )
        heron = c["heron"].core
        heron.parts.forwarder.incoming.forwarded(heron.parts.neighbours.peers[c["avalon"].uuid], [letter])
        c.net.run(5)

    forwarded(1)
    assert c["heron"].metric("refused") == 1
    inbox = c.client("heron", "joe", session=1).inbox()
    forwarded(2)
    c["heron"].restart()  # it forgets its answers
    c.net.run(5)
    forwarded(1)  # avalon was down, and missed the answer
    assert inbox.contents == [b"2"]


def test_what_is_refused_while_it_is_taken_is_told_once() -> None:
    given_up = Ranges()
    given_up.add(1, 1)
    words = RefusalMemory("heron", lambda envelope: given_up)
    two = envelope("a b", first=2)
    for first, last, _ in words.split_repeated(two, 2, 3, is_own=True):
        assert (first, last) == (2, 3)
        given_up.add(first, last)  # its answer is under way
    assert len(list(words.split_repeated(two, 2, 3, is_own=True))) == 1
