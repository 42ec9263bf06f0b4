"""The record of a value that lost against another site's."""

from msgspec.structs import replace

from mesh.features.sites.node.lostvalue import LostValue, letter_of
from mesh.routing.retained_value import RetainedValue
from mesh.values import Headers
from mesh.wire.properties import Properties, decode_properties, encode_properties
from tests.mesh.envelopes import envelope


def last(content: bytes, props: bytes = b"") -> RetainedValue:
    of = replace(envelope("quote"), sender="/site/NYC/node/a/client/joe/session/1")
    return RetainedValue(of, 1, "quote", props + content, len(props))


def test_a_lost_value_keeps_its_headers_and_whether_it_is_text() -> None:
    for is_text in (True, False):
        own = encode_properties(Properties(Headers([("a", "b")]), is_text=is_text))
        kept = letter_of(LostValue(last(b"older", own), last(b"newer")), "LON")
        said = decode_properties(kept.props)
        assert (kept.content, said.is_text) == (b"older", is_text)
        assert (said.headers["a"], said.headers["conflict-key"]) == ("b", "quote")


def test_a_lost_value_whose_properties_cannot_be_read_is_kept_without_them() -> None:
    kept = letter_of(LostValue(last(b"older", b"\xc1"), last(b"newer")), "LON")
    said = decode_properties(kept.props)
    assert (kept.content, said.is_text, said.headers["conflict-key"]) == (b"older", False, "quote")
