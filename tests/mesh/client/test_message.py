"""The attributes of a message."""

from msgspec.structs import replace

from mesh.client.batch import Batch
from mesh.client.message import Message
from mesh.client.retained_values import found
from mesh.values import Hop
from tests.mesh.envelopes import envelope


def test_it_was_sent_when_its_first_node_took_it_not_when_its_master_did() -> None:
    route = (Hop("bilbo", 2, 100), Hop("heron", 0, 900))
    assert Batch(replace(envelope("a", sent=950), route=route))[0].sent == 100
    assert Batch(envelope("a", sent=950))[0].sent == 950


def test_it_says_for_whom_it_is() -> None:
    assert Batch(replace(envelope("a"), to="client/joe"))[0].to == "client/joe"
    assert Batch(envelope("a"))[0].to == ""


def test_what_get_finds_says_where_it_was_and_how_stale_it_may_be() -> None:
    value = {"sources": [["heron", None], ["bilbo", 2.5]]}
    messages = list(found((value, [envelope("a b"), envelope("c", [b"x"])])))
    assert [(m.key, m.source, m.stale) for m in messages] == [
        ("a", "heron", None),
        ("b", "heron", None),
        ("c", "bilbo", 2.5),
    ]
    assert (messages[2].content, messages[2].id) == (b"x", Batch(envelope("c", [b"x"]))[0].id)


def test_an_older_node_does_not_say_where_it_found_something() -> None:
    assert [(m.key, m.source, m.stale) for m in found(({}, [envelope("a")]))] == [("a", "", None)]


def test_what_a_subscription_brings_has_no_source() -> None:
    message = Batch(envelope("a"))[0]
    assert (message.source, message.stale) == ("", None)


def test_the_sender_of_a_dead_letter_is_who_published_what_it_was() -> None:
    def letter(sender: str, **headers: str) -> Message:
        return Message.make("k", headers=headers, sender=sender)

    joe = "/node/b/client/joe/session/1"
    assert letter("/node/a/client/__sys__", **{"dead-sender": joe}).sender == joe
    assert letter("/node/a/client/__sys__").sender == "/node/a/client/__sys__"
    assert (
        letter("/node/a/client/eve/session/1", **{"dead-sender": joe}).sender
        == "/node/a/client/eve/session/1"
    )
