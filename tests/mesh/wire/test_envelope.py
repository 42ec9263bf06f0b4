"""Envelopes, whole and in pieces: they keep all properties of their messages."""

from itertools import pairwise

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.values import Hop
from mesh.wire.envelope import ERASED, FORCE_QUEUING, INITIAL, LOCAL_ONLY, PERSISTENT, Envelope, decode
from tools.models.messages import Sent, gathered, messages_of

HOP = Hop("heron", 0, 10**18)
THREE = [Sent(5, "a", b"", b"x"), Sent(6, "b", b"pp", b"yy"), Sent(7, "a", b"", b"")]


@st.composite
def message_rows(draw: st.DrawFn, most: int = 20) -> list[Sent]:
    """Draw messages with consecutive numbers, of few keys, with and without properties of their own."""
    first = draw(st.integers(1, 2**40))
    row = st.tuples(
        st.sampled_from(["a", "b/c", "ключ", ""]),
        st.sampled_from([b"", b"", b"\x90", b"props"]),
        st.binary(max_size=9),
    )
    rows = draw(st.lists(row, min_size=1, max_size=most))
    return [Sent(first + i, *row) for i, row in enumerate(rows)]


@given(message_rows(), st.booleans())
def test_what_was_encoded_comes_back(messages: list[Sent], stamped: bool) -> None:
    envelope = gathered(messages, stamped)
    back = decode(envelope.header(), envelope.body)
    assert back == envelope
    assert messages_of(back) == messages


@given(message_rows())
def test_contents_are_those_of_the_messages_one_by_one(messages: list[Sent]) -> None:
    assert gathered(messages).contents() == [m.content for m in messages]


@given(message_rows(), st.data())
def test_a_piece_keeps_numbers_keys_properties_and_contents(
    messages: list[Sent], data: st.DataObject
) -> None:
    wanted = data.draw(st.sets(st.sampled_from(range(len(messages))), min_size=1).map(sorted))
    piece = gathered(messages).cut(wanted)
    assert messages_of(piece) == [messages[i] for i in wanted]
    assert piece.contents() == [messages[i].content for i in wanted]
    assert set(piece.keys) == {messages[i].key for i in wanted}
    assert piece.number_list(range(piece.count)) == [messages[i].number for i in wanted]


@given(message_rows(), st.data())
def test_a_piece_travels_like_a_whole_and_can_be_cut_again(messages: list[Sent], data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.sampled_from(range(len(messages))), min_size=1).map(sorted))
    again = data.draw(st.sets(st.sampled_from(range(len(wanted))), min_size=1).map(sorted))
    piece = gathered(messages).cut(wanted)
    arrived = decode(piece.header(), piece.body)
    assert arrived == piece
    assert messages_of(arrived.cut(again)) == [messages[wanted[i]] for i in again]


@given(message_rows(), st.data())
def test_the_numbers_of_a_piece_are_ranges_that_do_not_touch(
    messages: list[Sent], data: st.DataObject
) -> None:
    wanted = data.draw(st.sets(st.sampled_from(range(len(messages))), min_size=1).map(sorted))
    ranges = gathered(messages).cut(wanted).ranges()
    assert [n for first, last in ranges for n in range(first, last + 1)] == [
        messages[i].number for i in wanted
    ]
    assert all(before + 1 < after for (_, before), (after, _) in pairwise(ranges))


def test_a_cut_of_everything_is_the_envelope_itself() -> None:
    envelope = gathered(THREE)
    assert envelope.cut([0, 1, 2]) is envelope


def test_a_piece_says_from_where_to_where_the_whole_went() -> None:
    piece = gathered(THREE).cut([1])
    assert (piece.first, piece.last, piece.numbers) == (5, 7, (6, 6))
    assert (piece.keys, piece.index, piece.props) == (("b",), b"", b"\2\0\0\0")
    assert gathered(THREE).cut([0, 2]).props == 0


def test_a_number_that_is_not_held_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        gathered(THREE).cut([0, 2]).number(2)


def test_the_row_of_each_message_is_known_with_one_key_and_with_many() -> None:
    assert list(gathered(THREE).rows()) == [0, 1, 0]
    assert list(gathered(THREE).cut([0, 2]).rows()) == [0, 0]
    assert gathered(THREE).cut([0, 2]).row(1) == 0


def test_sizes_that_are_alike_travel_as_one_number() -> None:
    alike = gathered([Sent(1, "a", b"", b"12"), Sent(2, "a", b"", b"34"), Sent(3, "a", b"", b"56")])
    assert alike.sizes == 2 and alike.cut([0, 2]).sizes == 2
    assert [alike.slice(i) for i in range(3)] == [(0, 2), (2, 4), (4, 6)]
    assert isinstance(gathered(THREE).sizes, bytes)


def test_messages_without_a_byte_are_messages() -> None:
    empty = gathered([Sent(1, "a", b"", b""), Sent(2, "a", b"", b"")])
    assert empty.contents() == [b"", b""]
    assert messages_of(decode(empty.header(), b"").cut([1])) == [Sent(2, "a", b"", b"")]


def test_flags_say_what_they_say() -> None:
    envelope = gathered(THREE)
    assert not envelope.persistent
    assert replace(envelope, flags=PERSISTENT | LOCAL_ONLY | INITIAL).persistent
    assert not replace(envelope, flags=LOCAL_ONLY | INITIAL | FORCE_QUEUING | ERASED).persistent


def test_each_node_on_the_way_adds_itself_and_the_master_counts_the_strata_down_to_itself() -> None:
    sent = gathered(THREE, stamped=False)
    arrived = sent.passed(Hop("a", 0, 5)).passed(Hop("b", 0, 6)).mastered(7, Hop("c", 0, 8))
    assert arrived.route == (Hop("a", 2, 5), Hop("b", 1, 6), Hop("c", 0, 8))
    assert (sent.sent, arrived.sent) == (0, 7)


def test_a_master_that_stands_in_the_route_already_stands_in_it_once() -> None:
    kept = gathered(THREE, stamped=False).passed(Hop("a", 0, 5))
    assert kept.mastered(7, Hop("a", 0, 9)).route == (Hop("a", 0, 9),)


def test_two_envelopes_are_equal_though_one_has_been_looked_into() -> None:
    looked_into, fresh = gathered(THREE), gathered(THREE)
    looked_into.contents()
    assert looked_into == fresh and "_offsets" not in repr(looked_into)


def test_a_header_of_an_older_release_is_filled_with_defaults() -> None:
    short = msgpack.packb([bytes(16), "", 4, 4, ["k"], 1, 2])
    assert decode(short, b"hi") == Envelope(bytes(16), "", 4, 4, ("k",), 1, 2, b"hi")


def test_a_field_of_a_later_release_is_passed_over() -> None:
    envelope = gathered(THREE)
    put = replace(envelope, to="queue/a", put=(9, 0, ""), xml="<a/>")
    longer = msgpack.packb([*msgpack.unpackb(put.header()), "later", {"and": "later"}])
    assert decode(longer, envelope.body) == put


def test_whom_it_is_for_survives_the_way_and_takes_no_byte_when_it_is_for_all() -> None:
    envelope = gathered(THREE)
    to_joe = replace(envelope, to="client/joe")
    assert decode(to_joe.header(), to_joe.body).to == "client/joe" == to_joe.cut([1]).to
    assert decode(envelope.header(), envelope.body).to == ""
    assert len(msgpack.unpackb(envelope.header())) + 1 == len(msgpack.unpackb(to_joe.header()))


def test_how_it_is_put_survives_the_way_a_cut_a_part_and_its_master() -> None:
    put = replace(gathered(THREE, stamped=False), to="queue/a", put=(7, 1500, "joe"))
    for one in (put, put.cut([1]), put.part(put.first, put.first), put.passed(HOP, 5), put.mastered(5, HOP)):
        assert one.put == (7, 1500, "joe") == decode(one.header(), one.body).put
        assert decode(one.header(), one.body) == one


def test_the_xml_of_its_keys_survives_the_way_a_cut_a_part_and_its_master() -> None:
    said = replace(gathered(THREE, stamped=False), xml="<a/>")
    for one in (
        said,
        said.cut([1]),
        said.part(said.first, said.first),
        said.passed(HOP, 5),
        said.mastered(5, HOP),
    ):
        assert one.xml == "<a/>" and one.put == () and one.to == ""
        assert decode(one.header(), one.body) == one


def test_a_put_with_nothing_special_takes_no_byte_and_is_the_same_as_one_that_says_so() -> None:
    plain = replace(gathered(THREE), to="queue/a")
    fields = msgpack.unpackb(plain.header())
    assert len(fields) == 17 and decode(plain.header(), plain.body).put == ()
    assert decode(msgpack.packb([*fields, [5, 0, ""]]), plain.body) == plain
    assert decode(replace(plain, put=(5, 0, "")).header(), plain.body) == plain


def test_a_put_into_nothing_is_not_lost_on_the_way_to_who_refuses_it() -> None:
    nowhere = replace(gathered(THREE), put=(9, 0, ""))
    assert decode(nowhere.header(), nowhere.body) == nowhere
