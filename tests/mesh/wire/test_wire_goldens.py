"""Agreement of docs/wire.md and docs/wire-vectors.json with the code."""

import json
import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgpack
import msgspec
import pytest

from mesh.discovery import adverts, lines
from mesh.discovery import state as node_state
from mesh.discovery.state import Natural
from mesh.features.services.node.serving_replies import FULL, LATE, LOST, NOBODY
from mesh.kernel.peers.peer_handshake import DENIED
from mesh.mapping.decision import CHANGING
from mesh.proof import prove
from mesh.remote_names import WAY_LOST
from mesh.routing.verdict import PARTLY_REFUSED
from mesh.wire import commands as c
from mesh.wire import limits
from mesh.wire.envelope import (
    ERASED,
    EVERY,
    FIRST,
    FORCE_QUEUING,
    HELD,
    INITIAL,
    LOCAL_ONLY,
    NO_RELAY,
    ONE_SESSION,
    PERSISTENT,
    PROVISIONAL,
    REPLY,
    REQUEST,
    RESENT,
    RETRACTED,
    SECOND,
    SILENT,
)
from mesh.wire.frames import read, write
from mesh.wire.packed import PackedEnvelopes
from mesh.wire.properties import decode_properties
from tools.wire_parts import questions
from tools.wire_parts.commands import KINDS, STRUCTS, heading
from tools.wire_parts.goldens import (
    COOKIE,
    DIALLER,
    ENDPOINT,
    GOLDENS,
    GOSSIP,
    HERON,
    KEY,
    LISTENER,
    PROPS,
    READINGS,
    SEED,
    SIGNATURE,
    STATE,
    STREAM,
)
from tools.wire_parts.words import default_in_words, notation, type_in_words
from tools.wire_tables import BEGIN

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
VECTORS: dict[str, Any] = json.loads((ROOT / "docs" / "wire-vectors.json").read_text(encoding="utf-8"))
MESSAGES: dict[str, list[dict[str, str]]] = {each["name"]: each["frames"] for each in VECTORS["messages"]}
SHAPES: dict[str, type[msgspec.Struct]] = {
    **{heading(number): kind for number, kind in KINDS.items()},
    **STRUCTS,
}
REFERENCE = PAGE.partition(BEGIN)[2]


def section(title: str, page: str = REFERENCE) -> str:
    """Return the text under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", page, re.DOTALL | re.MULTILINE)
    assert found, f"no heading {title!r}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the first table, without its head."""
    found = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    lines = found[0].splitlines() if found else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def frames_of(name: str) -> list[bytes]:
    """Return the frames of an example."""
    return [bytes.fromhex(frame["hex"]) for frame in MESSAGES[name]]


def test_every_golden_message_is_among_the_examples() -> None:
    assert MESSAGES.keys() == GOLDENS.keys()
    assert len(MESSAGES) == len(VECTORS["messages"])


@pytest.mark.parametrize("name", GOLDENS)
def test_an_example_is_what_the_code_sends(name: str) -> None:
    assert frames_of(name) == GOLDENS[name], "a golden message never changes: add another one"


@pytest.mark.parametrize("name", MESSAGES)
def test_an_example_decodes_and_encodes_to_the_same_bytes(name: str) -> None:
    command, envelopes = read(frames_of(name))
    again = [PackedEnvelopes(envelopes)] if command.packed_sizes() else envelopes
    assert write(command, again) == frames_of(name)


@pytest.mark.parametrize("name", MESSAGES)
def test_an_example_says_of_its_bytes_what_another_reader_finds_in_them(name: str) -> None:
    for place, frame in enumerate(MESSAGES[name]):
        is_body = place > 0 and place % 2 == 0
        assert ("says" in frame) != is_body
        assert is_body or frame["says"] == notation(msgpack.unpackb(bytes.fromhex(frame["hex"])))


def test_the_example_of_three_messages_holds_them() -> None:
    (envelope,) = read(frames_of("publish-three"))[1]
    assert envelope.contents() == [b"21.5", b"9", b"21.75"] == [sent.content for sent in READINGS]
    properties = decode_properties(envelope.message(1)[0])
    assert list(properties.headers.items()) == [("unit", "°C")] and properties.expires == envelope.expires
    assert VECTORS["properties"] == {"says": notation(msgpack.unpackb(PROPS)), "hex": PROPS.hex()}


def test_the_proofs_are_those_of_the_example() -> None:
    said = VECTORS["cookie_proof"]
    assert said == {
        "cookie": COOKIE.hex(),
        "hello_nonce": DIALLER.hex(),
        "challenge_nonce": LISTENER.hex(),
        "endpoint": ENDPOINT,
        "dialler": prove(COOKIE, "dialler", DIALLER, LISTENER, ENDPOINT).hex(),
        "listener": prove(COOKIE, "listener", DIALLER, LISTENER, ENDPOINT).hex(),
    }
    assert said["dialler"] in MESSAGES["hello-proof"][0]["hex"]
    assert said["listener"] in MESSAGES["welcome-proof"][0]["hex"]


def test_the_stream_is_that_of_the_example() -> None:
    assert VECTORS["stream"] == {
        "seed": SEED.hex(),
        "key": KEY.public.hex(),
        "stream": STREAM.hex(),
        "uuid": HERON.uuid.hex(),
        "signature": SIGNATURE.hex(),
    }
    assert SIGNATURE.hex() in MESSAGES["hello-proof"][0]["hex"]


def test_the_example_of_gossip_holds_the_state_of_a_node() -> None:
    (states, _) = read(frames_of("states"))
    assert isinstance(states, c.States)
    assert lines.decode(states.gossip) == GOSSIP
    assert node_state.decode(GOSSIP.lines[0].state) == STATE


def test_the_advert_is_that_of_the_example() -> None:
    heron = adverts.Advert(HERON.uuid, "heron", 3, 7710, ("10.0.0.5",))
    txt = adverts.Adverts("default", COOKIE, None, lambda key, text, signature: False).write_txt(heron)
    assert VECTORS["advert"] == {
        "secret": COOKIE.hex(),
        "cluster": "default",
        "uuid": heron.instance,
        "name": heron.name,
        "boot": heron.boot,
        "port": heron.port,
        "c": txt["c"].decode(),
        "m": txt["m"].decode(),
    }


def test_the_page_says_of_every_metric_what_it_counts() -> None:
    table = rows(section("Metrics"))
    named = [name for row in table for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(named) == sorted(questions.core().parts.context.figures())
    assert all(len(row[1]) > 10 for row in table)


@pytest.mark.parametrize("title", SHAPES)
def test_a_table_names_every_field_with_its_place_type_default_and_meaning(title: str) -> None:
    shape = SHAPES[title]
    hints = get_type_hints(shape, include_extras=True)
    start = 1 if issubclass(shape, c.Command) else 0
    wanted = [
        [str(place), field.name, type_in_words(hints[field.name]), default_in_words(field)]
        for place, field in enumerate(msgspec.structs.fields(shape), start)
    ]
    table = rows(section(title))
    assert [row[:4] for row in table] == wanted
    assert all(len(row[4]) > 5 for row in table)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Natural, "uint"),
        (c.U32, "u32"),
        (tuple[c.Query, ...], "[Query …]"),
        (tuple[Natural, bytes], "[uint, bin]"),
        (list[tuple[str, float | None]], "[[text, float or nil] …]"),
        (dict[str, int], "map"),
    ],
)
def test_a_type_is_written_as_the_section_on_notation_says(hint: Any, words: str) -> None:
    assert type_in_words(hint) == words


@pytest.mark.parametrize(
    ("shape", "name", "words"),
    [
        (c.Hello, "versions", ""),
        (c.Hello, "node", "`nil`"),
        (c.Hello, "stream", "`<>`"),
        (c.Hello, "next", "`1`"),
        (c.Hello, "named", "`true`"),
        (c.Welcome, "window", "`[0, 0]`"),
        (c.Answer, "state", '`"OK"`'),
        (c.Introduction, "metadata", "`{}`"),
        (c.Consume, "begun", "`4294967295`"),
    ],
)
def test_a_default_is_written_as_the_notation_says(
    shape: type[msgspec.Struct], name: str, words: str
) -> None:
    (field,) = (field for field in msgspec.structs.fields(shape) if field.name == name)
    assert default_in_words(field) == words


def test_the_table_of_commands_names_them_all() -> None:
    named = [[row[0], re.sub(r"\[(\w+)\].*", r"\1", row[1])] for row in rows(section("Commands"))]
    assert named == [[str(kind), shape.__name__.upper()] for kind, shape in KINDS.items()]


def test_envelopes_follow_the_commands_that_the_table_says() -> None:
    carriers = {re.sub(r"\[(\w+)\].*", r"\1", row[1]) for row in rows(section("Commands")) if row[3] == "yes"}
    assert carriers == {
        "COMMIT",
        "PUBLISH",
        "FORWARD",
        "ITEMS",
        "REPLY",
        "SENDS",
        "RESPOND",
        "SETTLE",
        "TRANSFER",
        "RELAY",
    }


def test_the_limits_are_those_of_the_code() -> None:
    said = {name: int(value) for name, value, _ in rows(section("Limits"))}
    numbers = {name for name, value in vars(limits).items() if name.isupper() and isinstance(value, int)}
    assert said == {name: getattr(limits, name) for name in numbers - {"MIB", "KIB"}}
    assert len(said) >= 16
    assert f"{limits.FRAME:,}" in section("Finding and dialing a node", PAGE)


def test_the_flags_are_those_of_the_code() -> None:
    assert tuple(int(row[0]) for row in rows(section("Flags"))) == (
        PERSISTENT,
        LOCAL_ONLY,
        INITIAL,
        FORCE_QUEUING,
        ERASED,
        REPLY,
        NO_RELAY,
        RESENT,
        EVERY,
        SECOND,
        FIRST,
        REQUEST,
        PROVISIONAL,
        RETRACTED,
        HELD,
        SILENT,
        ONE_SESSION,
    )


def test_the_features_are_those_that_a_node_has() -> None:
    told = {row[0].strip("`") for row in rows(section("Features"))}
    names = {value for name, value in vars(limits).items() if name.isupper() and isinstance(value, str)}
    assert told == names >= set(questions.core().parts.context.face.features)


def test_numbers_end_where_the_page_says() -> None:
    assert get_args(Natural)[1].le == limits.LARGEST_NUMBER == 2**63 - 1
    assert "2⁶³" in section("Notation", PAGE)


def test_each_value_of_a_reply_has_a_table_with_all_of_its_fields() -> None:
    for shape in questions.values():
        named = [row[0].strip("`") for row in rows(section(shape.__name__))]
        assert named == [field.encode_name for field in msgspec.structs.fields(shape)]


def test_every_code_that_a_peer_can_hear_is_in_the_page_and_no_other() -> None:
    said = set(re.findall(r"`([A-Z_]{3,})`", section("Codes")))
    sources = [
        file.read_text()
        for folder in ("kernel", "features", "mapping", "wire", "routing", "streams")
        for file in (ROOT / "mesh" / folder).rglob("*.py")
        if not {"cli", "cli.py", "client", "database", "model", "postgres", "xmlblaster"} & {*file.parts}
    ]
    says = r"(?:Refuse\(\s*|code=|\.fail_run\(run, )\"([A-Z_]+)\""
    refused = {code for text in sources for code in re.findall(says, text)}
    lone = [(ROOT / "mesh" / name).read_text() for name in ("errors.py", "reserved.py", "weightset.py")]
    raised = set(re.findall(r'code ?= ?"([A-Z_]+)"', "".join(lone)))
    refused |= {PARTLY_REFUSED, LOST, NOBODY, LATE, FULL, WAY_LOST, DENIED, CHANGING}
    stores = "".join(file.read_text() for file in (ROOT / "mesh" / "store").glob("*.py"))
    raised |= set(re.findall(r'(?:code=|= )"([A-Z_]{3,})"', stores))
    models = "".join(file.read_text() for file in (ROOT / "mesh" / "features").glob("*/model/**/*.py"))
    raised |= set(re.findall(r'"([A-Z_]{3,})"', models))
    assert refused - {"ENDPOINT", "STORE_MISPLACED"} <= said  # only the node itself raises these
    assert said <= refused | raised
