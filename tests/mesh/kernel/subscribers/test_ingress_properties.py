"""Properties of messages that no reader could decode are refused, and never stored."""

from array import array
from typing import Any

import pytest

from mesh.client.batch import Batch
from mesh.client.message import UNREADABLE
from mesh.errors import BadArgument
from mesh.wire import commands as c
from mesh.wire.codec import pack
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import Properties, check_properties, encode_properties
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.stranger import STREAM, Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

BAD: dict[str, bytes] = {
    "priority 2.5": pack([[], 0, 2.5, ""]),
    "priority 10": pack([[], 0, 10, ""]),
    "priority True": pack([[], 0, True, ""]),
    "expiry inf": pack([[], float("inf"), 5, ""]),
    "expiry below 0": pack([[], -5, 5, ""]),
    "expiry 2**63": pack([[], 2**63, 5, ""]),
    "a header of one": pack([[["a"]], 0, 5, ""]),
    "a header that is no text": pack([[["a", 5]], 0, 5, ""]),
    "lone surrogates": pack([[["a", "?"]], 0, 5, ""]).replace(b"?", b"\xed\xa0\x80"[:1]),
    "a map": pack({"priority": 5}),
    "nothing at all": b"\xc1",
    "half of it": pack([[], 0, 5, ""])[:-1],
}


def with_properties(data: bytes, key: str = "k", number: int = 1, **fields: Any) -> Envelope:
    body = data + b"content"
    return Envelope(
        STREAM,
        "",
        number,
        number,
        (key,),
        1,
        len(body),
        body,
        props=array("I", [len(data)]).tobytes(),
        **fields,
    )


@pytest.mark.parametrize("name", BAD)
def test_trial_B1_properties_that_no_reader_decodes_are_found(name: str) -> None:
    with pytest.raises(BadArgument):
        check_properties(with_properties(BAD[name]))


@pytest.mark.parametrize("flags", [0, PERSISTENT])
def test_trial_B1_properties_that_no_reader_decodes_are_refused_and_not_stored(flags: int) -> None:
    a = SimNetwork().node("a")
    reader = client_of(a, "reader")
    reader.subscribed("k")
    stranger = Stranger(a)
    stranger.as_client()
    stranger.say(c.Publish((1,)), with_properties(BAD["priority 2.5"], flags=flags))
    (answers,) = [command for command in stranger.heard if isinstance(command, c.Answers)]
    assert [answer.state for answer in answers.answers] == ["BAD_PROPERTIES"]
    assert not stranger.is_gone and not stranger.refusal
    assert (a.metric("published"), a.metric("stored_envelopes")) == (0, 0)
    stranger.say(c.Publish((1,)), envelope("k", stream=STREAM, first=2))
    a.net.run(1)
    assert a.metric("published") == 1, "what follows is taken"


def test_trial_B1_a_letter_is_looked_at_too() -> None:
    a = SimNetwork().node("a")
    stranger = Stranger(a)
    stranger.as_client()
    stranger.say(c.Publish((1,)), with_properties(BAD["priority 2.5"], "", to="client/joe"))
    stranger.say(c.Publish((1,)), with_properties(b"", "a\nb", 2, to="client/joe"))
    states = [a.state for said in stranger.heard if isinstance(said, c.Answers) for a in said.answers]
    assert states == ["BAD_PROPERTIES", "BAD_KEY"]


def test_each_of_many_messages_is_looked_at() -> None:
    good = encode_properties(Properties(priority=9))
    bad = BAD["priority 2.5"]
    slices = [good + b"1", b"2", good + b"3", bad + b"4"]
    props = array("I", [len(good), 0, len(good), len(bad)]).tobytes()
    sizes = array("I", map(len, slices)).tobytes()
    many = Envelope(STREAM, "", 1, 4, ("k",), 4, sizes, b"".join(slices), props=props)
    with pytest.raises(BadArgument):
        check_properties(many)
    check_properties(many.cut([0, 1, 2]))


def test_trial_B1_a_reader_is_told_instead_of_stopped_by_what_an_older_node_has_stored() -> None:
    [message] = Batch(with_properties(BAD["priority 2.5"]))
    assert message.content == b"content"
    assert "MALFORMED" not in message.headers[UNREADABLE] and "malformed" in message.headers[UNREADABLE]
    assert (message.priority, message.expires) == (5, 0)
