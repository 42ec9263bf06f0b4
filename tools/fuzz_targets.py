"""The readers of key files, tokens, adverts, gossip and segments, with valid inputs and mutations of each."""

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgpack

from mesh.discovery import lines, state
from mesh.discovery.adverts import Advert, Adverts, Near
from mesh.discovery.gossip import StateGossip
from mesh.errors import KeysRefused
from mesh.local.private import private_directory, write_private
from mesh.local.segmentfiles import read_marker, recover
from mesh.security.joining import new_mesh, token_of
from mesh.security.keyfiles import mesh_path, node_keys, read_mesh
from mesh.security.token import CHECK_BYTES, PREFIX, _check, read_token, write_token
from mesh.snapshots.marker import Marker
from mesh.snapshots.segment import Segment, SegmentName
from tools.fuzz_wire import changed, scratched

NOW = 1_790_000_000.0  # s since 1970
ME, HERON, FRODO = b"m" * 16, b"h" * 16, b"f" * 16
SECRET, KEY = b"s" * 32, b"k" * 32

Read = Callable[[bytes], bool]
"""Is it admitted? False: it was refused by name. Any error ends the program."""


@dataclass(frozen=True)
class Target:
    """A reader, its valid inputs, and a function that mutates them."""

    good: tuple[bytes, ...]
    read: Read
    mutate: Callable[[bytes, bytes, random.Random], bytes]


# --- mutations ------------------------------------------------------------------------------------------


def spoilt_bytes(data: bytes, other: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = scratched(data, other, chance)
    return data


def spoilt_json(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change one value in a JSON text, or a few bytes."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return spoilt_bytes(data, other, chance)
    if chance.random() < 0.4:
        return spoilt_bytes(data, other, chance)
    return json.dumps(spoilt(value, chance), default=lambda found: found.hex()).encode()


def spoilt_pack(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change one value in msgpack data, or a few bytes."""
    try:
        value = msgpack.unpackb(data, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException):
        return spoilt_bytes(data, other, chance)
    if chance.random() < 0.3:
        return spoilt_bytes(data, other, chance)
    return bytes(msgpack.packb(spoilt(value, chance)))


def spoilt(value: Any, chance: random.Random) -> Any:
    """Return a JSON or msgpack value with one place changed, even within maps and lists."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        match chance.randrange(6):
            case 0:
                return {key: found for key, found in value.items() if key != name}
            case 1:
                return {**value, f"{name!s}x": value[name]}
            case _:
                return {**value, name: spoilt(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], spoilt(value[at], chance), *value[at + chance.randrange(2) :]]
    if isinstance(value, str) and chance.random() < 0.7:
        raw = value.encode("utf-8", "surrogatepass")
        return scratched(raw, raw, chance).decode("utf-8", "replace")
    return changed(value, chance)


# --- readers --------------------------------------------------------------------------------------------


def key_files(place: Path) -> Target:
    state_dir, data = place / "keys-state", private_directory(place / "keys-data", "")
    new_mesh(state_dir, "default")
    node_keys(data)
    good = mesh_path(state_dir, "default").read_bytes(), (data / "keys.json").read_bytes()

    def read(content: bytes) -> bool:
        write_private(mesh_path(state_dir, "default"), content, durable=False)
        write_private(data / "keys.json", content, durable=False)
        return any([_admits(lambda: read_mesh(state_dir, "default")), _admits(lambda: node_keys(data))])

    return Target(good, read, spoilt_json)


def _admits(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except KeysRefused as refusal:
        assert refusal.hint and refusal.code
        return False
    return True


def tokens(place: Path) -> Target:
    """Return the target of tokens: as text, and their content with a correct checksum."""
    file = new_mesh(place / "tokens-state", "default")
    words = [
        write_token(token_of(file, role, expires)) for role in ("node", "client") for expires in (0, 2**31)
    ]
    inner = [_content(word) for word in words]

    def read(content: bytes) -> bool:
        text = content.decode("utf-8", "replace")
        return _admits(lambda: read_token(text, NOW)) | _admits(lambda: read_token(_sealed(content), NOW))

    return Target((*(word.encode() for word in words), *inner), read, spoilt_pack)


def _content(word: str) -> bytes:
    letters = word.removeprefix(PREFIX)
    return base64.b32decode(letters + "=" * (-len(letters) % 8))[:-CHECK_BYTES]


def _sealed(content: bytes) -> str:
    return PREFIX + base64.b32encode(content + _check(content)).decode().rstrip("=")


def adverts(place: Path) -> Target:
    """Return the target of adverts, with correct and wrong MACs, in meshes with keys and without."""
    readers = [Adverts("birds", SECRET, sign, _verify) for sign in (None, _sign)]
    plain = Advert(HERON, "heron", 7, 7710, ("10.0.0.5",))
    good = []
    for reader, advert in zip(readers, (plain, replace(plain, key=KEY)), strict=True):
        txt = {name.encode(): value for name, value in reader.write_txt(advert).items()}
        good.append(bytes(msgpack.packb([advert.instance, txt, 7710, ["10.0.0.5"]])))

    def read(content: bytes) -> bool:
        try:
            instance, txt, port, hosts = msgpack.unpackb(
                content, strict_map_key=False, unicode_errors="replace"
            )
        except (ValueError, TypeError, msgpack.UnpackException):
            return False
        # zeroconf provides texts, bytes, and a number or None.
        heard = (
            {_bytes(k): None if v is None else _bytes(v) for k, v in txt.items()}
            if isinstance(txt, dict)
            else {}
        )
        names = [str(host) for host in hosts] if isinstance(hosts, list) else []
        number = port if isinstance(port, int) else None
        told = [reader.read_advert(str(instance), heard, number, names) for reader in readers]
        for one in told:
            assert one is None or isinstance(one, Near) or len(one.instance) <= 64
        return any(isinstance(one, Advert) for one in told)

    return Target(tuple(good), read, spoilt_pack)


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def _sign(text: bytes) -> bytes:
    return bytes(len(text) % 256 for _ in range(64))


def _verify(key: bytes, text: bytes, signature: bytes) -> bool:
    return signature == _sign(text)


def gossip(place: Path) -> Target:
    """Return the target of gossip; a member that admits it must still write readable gossip."""
    said = _state(FRODO).encode()
    line = lines.StateLine(FRODO, 1, 5, said)
    other = lines.StateLine(HERON, 1, 4, _state(HERON).encode(), b"x" * 64, True)
    message = lines.StateMessage(FRODO, 1, 9, (line, other), ((HERON, 1, 4),), ((ME, 1),), (b"", b"\xff"))
    boots = {FRODO: 1, HERON: 1}

    def read(content: bytes) -> bool:
        for decode in (state.decode, lines.decode):
            try:
                found = decode(content)
            except ValueError:
                continue
            if isinstance(found, lines.StateMessage):
                _take_part(found, boots)
            return True
        return False

    return Target((lines.encode(message), said), read, spoilt_pack)


def _take_part(message: lines.StateMessage, boots: dict[bytes, int]) -> None:
    one = StateGossip(ME, lambda: 0.5)
    one.own(lines.StateLine(ME, 1, 1, _state(ME).encode()))
    for alive in (3, 100):  # a small mesh, and a large one
        for known in one.heard(message, boots.get, 1.0):
            assert 0 <= known.state.load <= 1 and known.state.uuid in boots
        assert lines.decode(lines.encode(one.outgoing(alive, 2.0)))
        message = lines.StateMessage(
            message.sender, message.boot, message.number ^ 1, message.lines, message.digest
        )


def _state(uuid: bytes) -> state.NodeState:
    return state.NodeState(
        uuid=uuid,
        name="heron",
        boot=1,
        counter=5,
        wall=1,
        up=1.0,
        software="0.1.0",
        cpu=(50.0,),
        load=0.5,
        lag=0.0,
        published=0.0,
        delivered=0.0,
        pending=0,
        tailback=0,
        stored=0,
        sessions=0,
        subscriptions=0,
        links=0,
        ram_free=0,
        ram_total=0,
    )


def segments(place: Path) -> Target:
    """Return the target of segment names, unfinished segments, and markers of ingested ones."""
    name = SegmentName("heron", "1a2b3c4d", 7, 3)
    left = Segment(name, "date=2026-01-31/hour=09", 0)
    directory = place / "snapshots" / left.hour
    directory.mkdir(parents=True)
    text = b'{"kind":"event","node":"heron","line":1}\n{"kind":"event","node":"heron","line":2}\n{"ki'
    good = str(name).encode(), Marker().add([name]).encode(), text

    def read(content: bytes) -> bool:
        called = content.decode("utf-8", "surrogateescape")
        parsed = SegmentName.parse(called)
        assert parsed is None or str(parsed) == called
        marker, wrong = read_marker(_written(place / "_ingested.json", content))
        assert wrong or Marker.parse(marker.encode()) == marker
        unfinished, whole = directory / name.unfinished, content.rfind(b"\n") + 1
        found = recover(place / "snapshots", left) if _written(unfinished, content) else None
        assert (found.bytes if found else 0) == whole and not unfinished.exists()
        if found:
            assert (place / "snapshots" / found.path).read_bytes() == content[:whole]
        return parsed is not None or not wrong or whole > 0

    return Target(good, read, spoilt_json)


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


TARGETS: dict[str, Callable[[Path], Target]] = {
    "keys": key_files,
    "tokens": tokens,
    "adverts": adverts,
    "gossip": gossip,
    "segments": segments,
}
