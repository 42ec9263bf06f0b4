"""The retained value of a topic: cut from its envelope, stored, and compared with another."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.routing.retained_value import RetainedValue, last_values, store_key
from mesh.wire.envelope import INITIAL
from tests.mesh.envelopes import envelope


@given(st.binary(max_size=20), st.booleans(), st.sampled_from(["", "sport"]))
def test_a_value_is_the_same_after_it_was_stored(data: bytes, is_persistent: bool, domain: str) -> None:
    e = envelope("a b", [data, data], first=3, low=2, sent=9, persistent=is_persistent, domain=domain)
    for last in last_values(e):
        again = RetainedValue.unpack(last.pack())
        assert again.as_envelope() == last.as_envelope()
        assert (again.stamp, again.store_key, again.size) == (last.stamp, last.store_key, last.size)
        assert again.as_envelope().flags & ~INITIAL == e.flags


def test_each_key_has_its_last_message_but_for_those_left_out() -> None:
    e = envelope("a b a c", [b"1", b"2", b"3", b"4"], first=5)
    found = {last.key: (last.number, last.data) for last in last_values(e, {"c"})}
    assert found == {"a": (7, b"3"), "b": (6, b"2")}


def value(*, first: int = 1, sent: int = 0, stream: bytes = b"s" * 16) -> RetainedValue:
    [last] = last_values(envelope("a", first=first, sent=sent, stream=stream))
    return last


def test_the_number_decides_within_a_stream_and_the_time_between_streams() -> None:
    one, resent_late, another = (
        value(first=5, sent=1),
        value(first=3, sent=2),
        value(sent=3, stream=b"t" * 16),
    )
    assert one.is_newer_than(resent_late) and not resent_late.is_newer_than(one)
    assert another.is_newer_than(one) and not one.is_newer_than(another)


@given(st.lists(st.binary(min_size=16, max_size=16), min_size=4, max_size=4, unique=True))
def test_of_equal_timestamps_in_one_site_all_sites_choose_the_same(streams: list[bytes]) -> None:
    joe, ann = "/node/golan/client/joe/session/1", "/node/frodo/client/ann/session/1"
    chosen = []
    for site, prefix, pair in (("NYC", "", streams[:2]), ("LON", "/site/NYC", streams[2:])):
        values = []
        for sender, stream in zip((joe, ann), pair, strict=True):
            [last] = last_values(replace(envelope("a", sent=5, stream=stream), sender=prefix + sender))
            values.append(last)
        chosen.append(values[0].is_newer_than(values[1], site))
        assert values[1].is_newer_than(values[0], site) is not chosen[-1]
    assert chosen[0] == chosen[1]


def test_the_row_of_a_topic_names_its_domain_and_key() -> None:
    assert store_key("", "a") != store_key("a", "") and store_key("D", "a") == b"D\0a"
