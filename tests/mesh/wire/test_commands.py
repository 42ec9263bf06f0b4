"""The commands of the wire: each survives a round trip, and malformed ones are refused."""

from typing import Any

import msgpack
import msgspec
import pytest

from mesh.errors import RemoteError
from mesh.wire import commands as c
from mesh.wire.limits import CALL_FRAME, CONTROL_FRAME, FRAME
from tests.each import each
from tools.models.messages import COMMANDS, HERON

every = each("command", COMMANDS, name=lambda command: type(command).__name__)


def array_of(command: c.Command) -> list[Any]:
    """Return the encoded array, as decoded by another library."""
    found = msgpack.unpackb(c.encode(command))
    assert isinstance(found, list)
    return found


def fields_of(command: c.Command) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(type(command))


def is_refused(value: object) -> bool:
    with pytest.raises(RemoteError) as error:
        c.decode(msgpack.packb(value))
    return error.value.code == "MALFORMED"


def test_there_is_an_example_of_each_command() -> None:
    assert {type(command) for command in COMMANDS} == set(c.COMMANDS.values())


@every
def test_what_was_encoded_comes_back(command: c.Command) -> None:
    assert c.decode(c.encode(command)) == command


@every
def test_it_travels_as_an_array_that_begins_with_its_kind(command: c.Command) -> None:
    array = array_of(command)
    assert array[0] == command.__struct_config__.tag
    assert len(array) == 1 + len(fields_of(command))


@every
def test_fields_of_a_later_release_are_passed_over(command: c.Command) -> None:
    assert c.decode(msgpack.packb([*array_of(command), None, [1, {"later": b"x"}]])) == command


@every
def test_fields_that_an_older_release_does_not_send_get_their_defaults(command: c.Command) -> None:
    needed = [field for field in fields_of(command) if field.required]
    array = array_of(command)[: 1 + len(needed)]
    short = c.decode(msgpack.packb(array))
    assert array_of(short)[: len(array)] == array
    for field in fields_of(command)[len(needed) :]:
        default = {} if field.default is msgspec.NODEFAULT else field.default
        assert getattr(short, field.name) == default


@every
def test_a_missing_field_without_a_default_is_malformed(command: c.Command) -> None:
    needed = sum(field.required for field in fields_of(command))
    for length in range(1, 1 + needed):
        assert is_refused(array_of(command)[:length])


@every
def test_a_field_of_another_type_is_malformed(command: c.Command) -> None:
    array = array_of(command)
    for place, field in enumerate(fields_of(command), start=1):
        if field.type is not Any:
            assert is_refused([*array[:place], 1.5, *array[place + 1 :]])


@pytest.mark.parametrize(
    "value",
    [
        [], [None], [0], [99, 1], [-1], ["Ping", 1], [6.0, 1], [True], [[6, 1]], {"kind": 6, "stamp": 1},
        6, None, b"\x92\x06\x01", [23, -1], [23, 2**63], [23, 1, [], 5], [23, 1, [], [[b"", -1]]], [24, [-1]],
        [25, [[b"", ["", 0, -1]]]], [25, [["", ["", 1, 1]]]], [30, 1, True, [], [], 42], [22, 1, [[-1]]],
        [22, 1, [[1, 0, b"", [[2**32, b""]]]]], [22, 1, [[1, 0, b"", [], [[1, 2**32]]]]],
        [32, 1, -1, ["exact", "a"]], [32, 1, 2**32, ["exact", "a"]], [1, [1], "client", "", b""],
        [1, [1, 1, 1], "client", "", b""], [11, -1, b"", 1], [11, 1, b"", -1], [13, 1, 1],
        [14, [[1, 0, "dead"]]], [14, [[[b"", "a", 1, ""], -1, "dead"]]],
        [14, [[[b"", "a", 1, "", ""], 0, "dead"]]], [15, "text"], [16, 1], [34, 1, "get", {1: 2}],
        [34, 1, "get", {b"kind": 2}], [34, 1, "get", {"a": {1: 2}}], [20, [1, None]],
    ],
)  # fmt: skip
def test_what_is_no_command_is_malformed(value: object) -> None:
    assert is_refused(value)


@pytest.mark.parametrize("ending", [b"\xc7\x00\x05", b"\xd4\x05\x00", b"\xd6\xff\x00\x00\x00\x00"])
def test_values_of_any_kind_hold_no_extension(ending: bytes) -> None:
    for start in (b"\x94\x22\x01\xa3get\x81\xa1a", b"\x93\x23\x01", b"\x93\x23\x01\x91"):
        with pytest.raises(RemoteError):
            c.decode(start + ending)


def test_values_of_any_kind_are_nested_16_deep_at_most() -> None:
    def nested(depth: int) -> object:
        value: object = 1
        for _ in range(depth):
            value = [value]
        return value

    assert c.decode(msgpack.packb([35, 1, nested(15)])) == c.Reply(1, nested(15))
    assert is_refused([35, 1, nested(16)])
    assert is_refused([34, 1, "get", {"a": nested(15)}])


def test_of_a_key_given_twice_the_last_counts_and_not_a_number_is_a_number() -> None:
    twice = c.decode(b"\x94\x22\x01\xa3get\x82\xa1a\x01\xa1a\x02")
    assert isinstance(twice, c.Call) and twice.arguments == {"a": 2}
    nan = c.decode(msgpack.packb([35, 1, float("nan")]))
    assert isinstance(nan, c.Reply) and nan.value != nan.value


@every
def test_text_that_is_not_utf_8_is_malformed(command: c.Command) -> None:
    frame = c.encode(command)
    for text in (b"heron", b"sensors", b"get", b"stopping", b"WEATHER", b"NO"):
        if text in frame:
            with pytest.raises(RemoteError):
                c.decode(frame.replace(text, b"\xff" * len(text)))


def test_only_questions_replies_and_what_nodes_list_may_be_longer_than_64_kib() -> None:
    many = c.Peers((HERON,) * 2000)
    assert CONTROL_FRAME < len(c.encode(many)) < FRAME
    assert c.decode(c.encode(many)) == many
    long = c.Outcomes((c.Outcome(bytes(16), c.Answer("", 1, 1, "EXPIRED", 0, "t" * 40)),) * 1000)
    assert CONTROL_FRAME < len(c.encode(long)) < FRAME
    assert c.decode(c.encode(long)) == long
    welcome = c.Welcome(2, HERON, "flock", nodes=(HERON,) * 700)
    assert CONTROL_FRAME < len(c.encode(welcome)) < FRAME and c.encode(welcome)[0] == 0xDC
    assert c.decode(c.encode(welcome)) == welcome
    states = c.States(bytes(256 * 1024))
    assert c.decode(c.encode(states)) == states
    for asked in (c.Call(1, "get", {"text": "y" * 250_000}), c.Reply(1, {"text": "y" * 250_000})):
        assert c.decode(c.encode(asked)) == asked
    consume = c.Consume(1, 5, "queue/a", 1000, held=((b"s" * 16, (2**61, 2**61)),) * 1000)
    settle = c.Settle(5, 1, tuple(range(2**31, 2**31 + 20_000)))
    rejected = c.Settle(5, 1, entries=((1, 1, c.REJECT, 0, "x" * 200),) * 1000)
    for sent in (consume, settle, rejected):
        assert len(c.encode(sent)) < CALL_FRAME and c.decode(c.encode(sent)) == sent
    assert min(len(c.encode(settle)), len(c.encode(rejected))) > CONTROL_FRAME
    for command, code in (
        (c.Consume(1, 5, "queue/a" * CALL_FRAME, 1), "FRAME_TOO_LARGE"),
        (c.Settle(5, 1, tuple(range(2**31, 2**31 + 60_000))), "FRAME_TOO_LARGE"),
        (c.Rumours((c.Rumour(HERON, 0, "alive"),) * 40_000), "FRAME_TOO_LARGE"),
        (c.Refuse("X", "y" * CONTROL_FRAME), "FRAME_TOO_LARGE"),
        (c.Call(1, "get", {"text": "y" * CALL_FRAME}), "FRAME_TOO_LARGE"),
        (c.Reply(1, {"text": "y" * CALL_FRAME}), "FRAME_TOO_LARGE"),
        (c.Peers((HERON,) * 40_000), "FRAME_TOO_LARGE"),
    ):
        with pytest.raises(RemoteError) as error:
            c.decode(c.encode(command))
        assert error.value.code == code


def test_what_is_told_to_prove_oneself_is_in_no_traceback() -> None:
    hello = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="joe", token=b"hushhush", passwd="sesame")
    welcome = c.Welcome(1, HERON, "home", token=b"hushhush", passwd="sesame")
    for command in (hello, welcome):
        assert "sesame" not in repr(command) and "hushhush" not in repr(command)
    assert repr(hello).startswith("Hello(versions=(1, 1), role='client'") and "client='joe'" in repr(hello)


def test_a_text_of_a_class_of_its_own_travels_as_any_text_and_nothing_else_of_one_does() -> None:
    class Text(str):
        """A subclass of str, like that of numpy."""

    class Number(int):
        pass

    def call(value: object) -> c.Command:
        return c.Call(1, "get", {"text": value})

    assert c.encode(call(Text("k"))) == c.encode(call("k"))
    with pytest.raises(TypeError, match="Number"):
        c.encode(call(Number(1)))


S = b"s" * 16


@pytest.mark.parametrize(
    "held",
    [
        None, "s", [S], [[S]], [[S, 1]], [[S, []]], [[S, [1]]], [[S, [1, 2, 3]]], [[S, [2, 1]]],
        [[S, [0, 1]]],
        [[S, [-1, 1]]], [[S, [3, 4, 1, 2]]], [[S, [1, 4, 4, 5]]], [[S, [1, 1, 1, 1]]], [[S, [1.0, 2.0]]],
        [[S, [1, float("nan")]]], [[S, [1, None]]], [[S, [1, 2**62]]], [[S, [1, 2**64 - 1]]],
        [[S, [1, 1001]]], [[S, [1, 2**62 - 1]]], [[S, [1, 501]], [b"t" * 16, [1, 500]]],
        [[b"s" * 15, [1, 1]]], [[b"s" * 17, [1, 1]]], [["s" * 16, [1, 1]]], [[S, [1, 1]]] * 1001,
        [[S, list(range(1, 2003))]], [[S, [1, 1], 1]],
    ],
)  # fmt: skip
def test_what_nobody_can_hold_is_malformed(held: object) -> None:
    good = array_of(c.Consume(1, 5, "queue/a", 10))[:-2]
    c.decode(msgpack.packb([*good, [[S, [1, 1000]]]]))
    assert is_refused([*good, held])


@pytest.mark.parametrize(
    "entry",
    [
        None, [], [1, 1], [1, 1, 1, 0], [1, 1, 1, 0, "", 0], [0, 1, 1, 0, ""], [2, 1, 1, 0, ""],
        [1, 2**32, 1, 0, ""], [-1, 1, 1, 0, ""], [1, 1, 9, 0, ""], [1, 1, 0, 0, ""], [1, 1, 4, 0, ""],
        [1, 1, -1, 0, ""], [1, 1, 1, 2**32, ""], [1, 1, 1, -1, ""], [1, 1, 1, float("nan"), ""],
        [1, 1, 1, float("inf"), ""], [1, 1, 1, 0.5, ""], [1, 1, 2, 0, "x" * 201], [1, 1, 2, 0, b"x"],
        [1, 1, 2, 0, None], [1, True, 1, 0, ""],
    ],
)  # fmt: skip
def test_what_cannot_become_of_a_message_is_malformed(entry: object) -> None:
    good = array_of(c.Settle(5, 1, request=2))[:-1]
    c.decode(msgpack.packb([*good, [[1, 3, 1, 0, ""]]]))
    assert is_refused([*good, [entry]])


@pytest.mark.parametrize(
    ("place", "bad"),
    [
        (7, "x" * 257), (7, None), (7, b""), (8, -1), (8, 2**32), (8, float("nan")), (8, 0.5), (8, None),
        (4, 2**32), (4, -1),
    ],
)  # fmt: skip
def test_a_consumer_that_cannot_be_is_malformed(place: int, bad: object) -> None:
    fields = array_of(c.Consume(1, 5, "queue/a", 10, selector="x" * 256, lease=2**32 - 1))
    c.decode(msgpack.packb(fields))
    fields[place] = bad
    assert is_refused(fields)


def test_each_list_of_what_becomes_of_messages_has_an_end() -> None:
    one = (1, 1, c.REJECT, 0, "")
    for fits, is_too_long in (
        (c.Settle(5, 1, entries=(one,) * 1000), c.Settle(5, 1, entries=(one,) * 1001)),
        (c.Settle(5, 1, (1,) * 20_000), c.Settle(5, 1, (1,) * 20_001)),
        (c.Settle(5, 1, (), (1,) * 2000), c.Settle(5, 1, (), (1,) * 2001)),
        (c.Items(1, (c.ItemHead(1, tries=bytes(2000)),)), c.Items(1, (c.ItemHead(1, tries=bytes(2001)),))),
    ):
        assert c.decode(c.encode(fits)) == fits and is_refused(array_of(is_too_long))


TRIES = b"\0\0\xff\1"  # 0 and 511


@pytest.mark.parametrize(
    "entry",
    [
        None, [], [1, True, 1], [0, True, 1, b""], [-1, True, 1, b""], [2**63, True, 1, b""],
        [2**64 - 1, True, 1, b""],
        [5, True, 1, b""], [4, True, 1, b""], [9.0, True, 1, b""], [float("nan"), True, 1, b""],
        [None, True, 1, b""],
        [9, 1, 1, b""], [9, None, 1, b""], [9, True, -1, b""], [9, True, 256, b""], [9, True, 1, b"\0"],
        [9, True, 1, b"\0\2"], [9, True, 1, "\0\0"], [9, True, 1, None], [9, True, 1, bytes(4002)],
    ],
)  # fmt: skip
def test_what_cannot_move_is_malformed(entry: object) -> None:
    good: list[Any] = [52, "jobs", 1, [1, 1], [[5, False, 0, TRIES]]]
    c.decode(msgpack.packb([*good[:4], [*good[4], [2**63 - 1, True, 255, bytes(4000)]]]))
    assert is_refused([*good[:4], [*good[4], entry]])


@pytest.mark.parametrize(
    ("place", "bad"),
    [
        (1, "j" * 201), (1, None), (1, b"jobs"), (2, 0), (2, -1), (2, 2**63), (2, None), (2, float("inf")),
        (4, []),
        (4, [[n, False, 1, b""] for n in range(1, 62)]), (4, None), (3, None), (3, [-1]),
    ],
)  # fmt: skip
def test_a_transfer_that_cannot_be_is_malformed(place: int, bad: object) -> None:
    fields: list[object] = [52, "j" * 200, 1, [1], [[n, False, 1, b""] for n in range(1, 61)]]
    c.decode(msgpack.packb(fields))
    fields[place] = bad
    assert is_refused(fields)


@pytest.mark.parametrize("place", [2, 3, 4])
@pytest.mark.parametrize(
    "numbers",
    [None, [1], [0, 1], [2, 1], [-1, 1], [1, 2**63], [1, 2, 2, 3], [3, 3, 1, 1], [1, float("nan")], [1, 2, 3],
     list(range(1, 2003))],
)  # fmt: skip
def test_answers_to_what_nobody_can_have_sent_are_malformed(place: int, numbers: object) -> None:
    fields: list[object] = [53, "jobs", [], [], []]
    c.decode(msgpack.packb([*fields[:place], [1, 2**63 - 1], *fields[place + 1 :]]))
    fields[place] = numbers
    assert is_refused(fields)


def test_a_refusal_of_an_earlier_release_names_no_other_node() -> None:
    frame = bytes.fromhex("9904a14ea15aa0c2c400c400c400c400")  # without the fields from `forward` on
    assert c.decode(frame) == c.Refuse("N", "Z", forward=(), retry_ms=0)


def test_a_redirect_says_where_and_when() -> None:
    refusal = c.Refuse("NODE_FULL", "full", forward=("tcp://10.0.0.5:7710",), retry_ms=250)
    assert c.decode(c.encode(refusal)) == refusal
    with pytest.raises(RemoteError):
        c.decode(c.encode(c.Refuse("N", "Z", retry_ms=-1)))
