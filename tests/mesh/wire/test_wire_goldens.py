"""Does docs/wire.md tell the truth? Its boxes, tables, limits and codes against the code."""

import re
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgpack
import msgspec
import pytest

from discovery import adverts, lines
from discovery import state as node_state
from discovery.state import Natural
from mesh.core.desk.settings import Settings
from mesh.core.forwarding.deciding import CHANGING
from mesh.core.node import NodeCore
from mesh.core.parts import Parts
from mesh.core.peers.meeting import DENIED
from mesh.core.services.serving import FULL, LATE, LOST, NOBODY
from mesh.proof import prove
from mesh.queues.moves.stock import Stock
from mesh.routing.verdict import PARTLY_REFUSED
from mesh.sites.letters import WAY_LOST
from mesh.values import Hop
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
    PERSISTENT,
    PROVISIONAL,
    REPLY,
    REQUEST,
    RESENT,
    RETRACTED,
    SECOND,
)
from mesh.wire.frames import read, write
from mesh.wire.header import Header
from mesh.wire.properties import PropertiesRecord, decode_properties
from tests.mesh.wire.goldens import (
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
    block,
    notation,
)

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
BOXES = dict(re.findall(r"^```golden (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
KINDS: dict[int, type[c.Command]] = {kind.__struct_config__.tag: kind for kind in get_args(c.AnyCommand)}
PARTS = (c.Introduction, c.Rumour, c.Answer, c.Outcome, c.Query, c.ItemHead, c.Row, c.Stratum)
SHAPES: dict[str, type[msgspec.Struct]] = {
    **{f"{shape.__name__.upper()} ({kind})": shape for kind, shape in KINDS.items()},
    **{shape.__name__: shape for shape in PARTS},
    **{shape.__name__: shape for shape in (lines.StateMessage, lines.StateLine, node_state.NodeState)},
    "Header": Header,
    "Stock": Stock,
    "Properties": PropertiesRecord,
}


def section(title: str) -> str:
    """What stands under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, f"no heading {title!r}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of the first table, without its head."""
    found = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    lines = found[0].splitlines() if found else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def frames_of(box: str) -> list[tuple[str, bytes]]:
    """(what is said of it, its bytes) of each frame."""
    frames: list[tuple[str, bytes]] = []
    for line in box.splitlines():
        if line.startswith("# ") and not line.startswith("#   "):
            frames.append((line[2:], b""))
        elif line.startswith("#   "):
            frames[-1] = (f"{frames[-1][0]} {line[4:]}", frames[-1][1])
        else:
            frames[-1] = (frames[-1][0], frames[-1][1] + bytes.fromhex(line))
    return frames


def test_every_box_is_known_and_every_golden_message_stands_in_the_page() -> None:
    assert BOXES.keys() == GOLDENS.keys()


@pytest.mark.parametrize("name", GOLDENS)
def test_a_box_shows_what_the_code_sends(name: str) -> None:
    shown = f"```golden {name}\n{BOXES[name]}```"
    assert shown == block(name), f"docs/wire.md should say:\n{block(name)}"


@pytest.mark.parametrize("name", BOXES)
def test_a_box_decodes_and_encodes_to_the_same_bytes(name: str) -> None:
    frames = [frame for _, frame in frames_of(BOXES[name])]
    assert write(*read(frames)) == frames


@pytest.mark.parametrize("name", BOXES)
def test_a_box_says_of_its_bytes_what_another_reader_finds_in_them(name: str) -> None:
    for said, frame in frames_of(BOXES[name]):
        assert said == f"body <{frame.hex()}>" or said == notation(msgpack.unpackb(frame))


def test_the_box_of_three_messages_holds_them() -> None:
    (envelope,) = read([frame for _, frame in frames_of(BOXES["publish-three"])])[1]
    assert envelope.contents() == [b"21.5", b"9", b"21.75"] == [sent.content for sent in READINGS]
    properties = decode_properties(envelope.message(1)[0])
    assert list(properties.headers.items()) == [("unit", "°C")] and properties.expires == envelope.expires
    assert f"`{PROPS.hex(' ')}`" in section("Properties")


def test_the_proofs_are_those_of_the_example() -> None:
    found = re.search(r"^```proof\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    said = dict(line.split() for line in found[1].splitlines())
    assert said == {
        "cookie": COOKIE.hex(),
        "HELLO": DIALLER.hex(),
        "CHALLENGE": LISTENER.hex(),
        "endpoint": ENDPOINT,
        "dialler": prove(COOKIE, "dialler", DIALLER, LISTENER, ENDPOINT).hex(),
        "listener": prove(COOKIE, "listener", DIALLER, LISTENER, ENDPOINT).hex(),
    }
    assert said["dialler"] in BOXES["hello-proof"].replace(" ", "")
    assert said["listener"] in BOXES["welcome-proof"].replace(" ", "")


def test_the_stream_is_that_of_the_example() -> None:
    found = re.search(r"^```stream\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    assert dict(line.split() for line in found[1].splitlines()) == {
        "seed": SEED.hex(),
        "key": KEY.public.hex(),
        "stream": STREAM.hex(),
        "uuid": HERON.uuid.hex(),
        "signature": SIGNATURE.hex(),
    }
    assert SIGNATURE.hex(" ") in " ".join(frame.hex(" ") for _, frame in frames_of(BOXES["hello-proof"]))


def test_the_box_of_gossip_holds_the_state_of_a_node() -> None:
    (states, _) = read([frame for _, frame in frames_of(BOXES["states"])])
    assert isinstance(states, c.States)
    assert lines.decode(states.gossip) == GOSSIP
    assert node_state.decode(GOSSIP.lines[0].state) == STATE


def test_the_advert_is_that_of_the_example() -> None:
    found = re.search(r"^```advert\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    heron = adverts.Advert(HERON.uuid, "heron", 3, 7710, ("10.0.0.5",))
    txt = adverts.Adverts("default", COOKIE, None, lambda key, text, signature: False).write(heron)
    assert dict(line.split() for line in found[1].splitlines()) == {
        "secret": COOKIE.hex(),
        "cluster": "default",
        "uuid": heron.instance,
        "name": heron.name,
        "boot": str(heron.boot),
        "port": str(heron.port),
        "c": txt["c"].decode(),
        "m": txt["m"].decode(),
    }


def test_the_page_says_of_every_metric_what_it_counts() -> None:
    core = NodeCore(Parts(Settings(me=HERON), bytes, lambda: 0.5))
    named = [name for row in rows(section("Metrics")) for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(named) == sorted(core.parts.desk.figures())


def type_in_words(hint: Any) -> str:
    """A type as the page writes it."""
    plain = {
        bytes: "bin",
        str: "text",
        bool: "bool",
        int: "int",
        type(None): "nil",
        Any: "any",
        msgspec.Raw: "map",
    }
    if hint == c.U32:
        return "u32"
    if hasattr(hint, "__metadata__"):
        base = get_args(hint)[0]
        is_number = base is int and any(getattr(meta, "ge", None) is not None for meta in hint.__metadata__)
        return "uint" if is_number else type_in_words(base)
    if get_origin(hint) is tuple:
        first, *more = get_args(hint)
        if more == [...]:
            return f"[{type_in_words(first)} …]"
        return f"[{', '.join(map(type_in_words, get_args(hint)))}]"
    if hint is Hop:
        return f"[{', '.join(map(type_in_words, get_type_hints(Hop, include_extras=True).values()))}]"
    if get_origin(hint) is dict:
        return "map"
    if get_origin(hint) is Union or type(hint).__name__ == "UnionType":
        return " or ".join(map(type_in_words, get_args(hint)))
    return plain.get(hint) or str(hint.__name__)


def default_in_words(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return ""
    default = {} if field.default is msgspec.NODEFAULT else field.default
    if isinstance(default, msgspec.Raw):
        default = msgpack.unpackb(bytes(default))
    return f"`{notation(list(default) if isinstance(default, tuple) else default)}`"


@pytest.mark.parametrize("title", SHAPES)
def test_a_table_names_every_field_with_its_place_type_and_default(title: str) -> None:
    shape = SHAPES[title]
    hints = get_type_hints(shape, include_extras=True)
    start = 1 if issubclass(shape, c.Command) else 0
    wanted = [
        [str(place), field.name, type_in_words(hints[field.name]), default_in_words(field)]
        for place, field in enumerate(msgspec.structs.fields(shape), start)
    ]
    assert [row[:4] for row in rows(section(title))] == wanted


def test_the_table_of_commands_names_them_all() -> None:
    assert [row[:2] for row in rows(section("Messages"))] == [
        [str(kind), shape.__name__.upper()] for kind, shape in KINDS.items()
    ]


def test_envelopes_follow_the_commands_that_the_table_says() -> None:
    carriers = {row[1] for row in rows(section("Messages")) if row[3] == "yes"}
    assert carriers == {
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
    assert said == {name: getattr(limits, name) for name in said}
    assert len(said) == 16
    assert f"{limits.FRAME:,}" in section("Finding a node, and dialling it")


def test_the_flags_are_those_of_the_code() -> None:
    flags = next(row[4] for row in rows(section("Header")) if row[1] == "flags")
    assert tuple(map(int, re.findall(r"\d+", flags))) == (
        PERSISTENT,
        LOCAL_ONLY,
        INITIAL,
        FORCE_QUEUING,
        ERASED,
        NO_RELAY,
        REPLY,
        RESENT,
        EVERY,
        REQUEST,
        SECOND,
        FIRST,
        PROVISIONAL,
        RETRACTED,
        HELD,
    )


def test_numbers_end_where_the_page_says() -> None:
    assert get_args(Natural)[1].le == limits.LARGEST_NUMBER == 2**63 - 1
    assert "2⁶³" in section("Notation")


def test_every_code_that_a_peer_can_hear_is_in_the_page_and_no_other() -> None:
    said = set(re.findall(r"`([A-Z_]{3,})`", section("Codes")))
    sources = [
        file.read_text()
        for folder in ("core", "mapping", "wire", "routing", "streams")
        for file in (ROOT / "mesh" / folder).rglob("*.py")
    ]
    says = r"(?:Refuse\(\s*|code=|_fail\(given, )\"([A-Z_]+)\""
    refused = {code for text in sources for code in re.findall(says, text)}
    lone = [(ROOT / "mesh" / name).read_text() for name in ("errors.py", "reserved.py", "weightset.py")]
    raised = set(re.findall(r'code ?= ?"([A-Z_]+)"', "".join(lone)))
    refused |= {PARTLY_REFUSED, LOST, NOBODY, LATE, FULL, WAY_LOST, DENIED, CHANGING}
    stores = "".join(file.read_text() for file in (ROOT / "mesh" / "store").glob("*.py"))
    raised |= set(re.findall(r'(?:code=|= )"([A-Z_]{3,})"', stores))
    assert refused - {"ENDPOINT", "STORE_MISPLACED"} <= said  # said to oneself only
    assert said <= refused | raised
