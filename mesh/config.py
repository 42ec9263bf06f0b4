"""What is set, who set it, and does it make sense?

Sources, later wins: defaults, the file `mesh.toml`, the environment (`MESH_LIMITS__MAX_CONTENT`), the
command line. Each value is checked with its origin at hand, so that an error can name the place.
"""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import FieldInfo

from mesh.errors import BadConfig, BadName
from mesh.names import node_name

MIB = 1024 * 1024
LARGEST_FILE = MIB

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Bytes = Annotated[int, Meta(ge=1, le=1024 * 1024 * MIB)]


class NodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[node]`: who this node is, and where."""

    id: str | None = None  # name of the node; unset: the host's name
    bind: tuple[str, ...] = ()  # addresses it listens on; none: a free port on 127.0.0.1
    peers: tuple[str, ...] = ()  # addresses of nodes to meet; they introduce the rest
    data: str | None = None  # its own directory; unset: one of the node's name, in the user's state directory
    cluster: str = "default"  # name of the mesh; nodes of two clusters never link


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[limits]`: how much is held, and for how long."""

    max_content: Annotated[int, Meta(ge=1, le=64 * MIB)] = MIB  # bytes of one message's content
    window_bytes: Bytes = 4 * MIB  # bytes under way to a subscriber, or of a client, unanswered
    window_count: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024  # likewise, in envelopes
    backlog_bytes: Bytes = 64 * MIB  # bytes that wait at this node for one subscriber
    linger: Seconds = 60.0  # seconds that a vanished client's subscriptions are kept
    topics_bytes: Bytes = 64 * MIB  # bytes of retained values, all topics together


class Timing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[timing]`: how soon a link notices and tries again."""

    ping: Seconds = 2.0  # seconds between signs of life; less finds failures sooner, at more traffic
    silence: Seconds = 10.0  # seconds unheard until a peer counts as dead; three pings or more
    backoff_min: Seconds = 0.1  # seconds before the first redial
    backoff_max: Seconds = 30.0  # seconds between redials at most


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of one node."""

    default_scope: Literal["mesh"] = "mesh"  # where messages without a domain live: on every node
    node: NodeSettings = msgspec.field(default_factory=NodeSettings)
    limits: Limits = msgspec.field(default_factory=Limits)
    timing: Timing = msgspec.field(default_factory=Timing)


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it was set: "default", "mesh.toml:7", "environment MESH_…", "command line"."""

    name: str
    value: Any
    origin: str


SECTIONS: dict[str, type[msgspec.Struct]] = {"node": NodeSettings, "limits": Limits, "timing": Timing}
NAMES = {"node.id", "node.cluster"}  # these keep the grammar of names
FIELDS: dict[str, FieldInfo] = {
    "default_scope": msgspec.structs.fields(Config)[0],
    **{
        f"{section}.{field.name}": field
        for section, struct in SECTIONS.items()
        for field in msgspec.structs.fields(struct)
    },
}


def load(path: Path | None, environ: Mapping[str, str], overrides: Mapping[str, object]) -> Config:
    """The configuration from all sources.

    `overrides` has dotted names (`{"node.id": "heron"}`); None there means "not given".
    Raises BadConfig, which names the place, the key and what would be right.
    """
    tree: dict[str, Any] = {}
    for setting in settings(path, environ, overrides).values():
        section, _, key = setting.name.rpartition(".")
        (tree.setdefault(section, {}) if section else tree)[key] = setting.value
    return msgspec.convert(tree, Config)


def settings(
    path: Path | None, environ: Mapping[str, str], overrides: Mapping[str, object]
) -> dict[str, Setting]:
    """Every setting by its dotted name, with its value and origin; arguments and errors as for `load`."""
    found = {name: Setting(name, field.default, "default") for name, field in FIELDS.items()}
    if path is not None:
        found.update((setting.name, setting) for setting in _from_file(path))
    found.update((setting.name, setting) for setting in _from_environment(environ))
    found.update((setting.name, setting) for setting in _from_overrides(overrides))
    _check_order(found["timing.ping"], found["timing.silence"])
    _check_order(found["timing.backoff_min"], found["timing.backoff_max"])
    return found


def _from_file(path: Path) -> Iterator[Setting]:
    text = _read(path)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a plain ValueError: an integer of 5,000 digits
        raise BadConfig(f"{path}: this is not TOML: {error}.") from error
    for name, value in _flat(table):
        line = _line(text, name)
        origin = f"{path}:{line}" if line else str(path)
        yield _checked(name, value, origin)


def _from_environment(environ: Mapping[str, str]) -> Iterator[Setting]:
    for variable, text in environ.items():
        name = variable.removeprefix("MESH_").lower().replace("__", ".")
        # Without a section it may be another program's, or one that the command line reads: MESH_URL.
        if variable.startswith("MESH_") and ("." in name or name in FIELDS):
            is_list = name in FIELDS and FIELDS[name].type == tuple[str, ...]
            value = [part.strip() for part in text.split(",") if part.strip()] if is_list else text
            yield _checked(name, value, f"environment {variable}", strict=False)


def _from_overrides(overrides: Mapping[str, object]) -> Iterator[Setting]:
    for name, value in overrides.items():
        if value is not None:
            yield _checked(name, value, "command line")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        hint = "Check its name, or leave it out: every setting has a default."
        raise BadConfig(f"{path}: there is no such file.", hint=hint) from None
    except IsADirectoryError:
        raise BadConfig(f"{path}: this is a directory.", hint=f"Try {path / 'mesh.toml'}.") from None
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}.") from error
    if len(content) > LARGEST_FILE:
        raise BadConfig(f"{path}: larger than 1 MiB, hence hardly a configuration.", hint="Check its name.")
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadConfig(f"{path}:{line}: this is not UTF-8.", hint="Save the file as UTF-8.") from error


def _flat(table: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if key in SECTIONS and isinstance(value, dict):
            yield from ((f"{key}.{inner}", inner_value) for inner, inner_value in value.items())
        else:
            yield key, value


def _line(text: str, name: str) -> int | None:
    """The line that sets `name`, or opens the section of that name."""
    # tomllib keeps no places. This reads lines, so a multi-line string that looks like a key may mislead it.
    section = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(r"\s*\[{1,2}([^\[\]]*)\]", line):
            section = _bare(header[1]) + "."
            if section.startswith(f"{name}."):
                return number
        key, assigned, _ = line.partition("=")
        if assigned and f"{name}.".startswith(f"{section}{_bare(key)}."):
            return number
    return None


def _bare(key: str) -> str:
    return re.sub(r"[\s\"']", "", key)


def _checked(name: str, value: object, origin: str, strict: bool = True) -> Setting:
    if name in SECTIONS:
        hint = f"Write [{name}], and its keys in the lines below."
        raise BadConfig(f"{origin}: '{name}' is a section and holds no value itself.", hint=hint)
    if name not in FIELDS:
        raise _unknown(name, "section" if isinstance(value, dict) else "key", origin)
    if name == "default_scope" and value == "local":
        hint = 'Leave it out, or write default_scope = "mesh".'
        raise BadConfig(f'{origin}: default_scope = "local" is not available yet.', hint=hint)
    field = FIELDS[name]
    try:
        converted = msgspec.convert(value, field.type, strict=strict)
        if name in NAMES and converted is not None:
            node_name(converted)
    except msgspec.ValidationError as error:
        hint = "Leave it out for the default" + (f", {field.default!r}." if field.default else ".")
        raise BadConfig(f"{origin}: {name} = {_shown(value)} does not fit: {error}.", hint=hint) from error
    except BadName as error:
        raise BadConfig(f"{origin}: {name}: {error.what}", hint=error.hint) from error
    return Setting(name, converted, origin)


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except ValueError:  # Python refuses to spell out an integer of thousands of hexadecimal digits
        return "a huge number"


def _unknown(name: str, kind: str, origin: str) -> BadConfig:
    section, _, key = name.rpartition(".")
    known = {name.rpartition(".")[2]: name for name in (*FIELDS, *SECTIONS)}
    if near := difflib.get_close_matches(key, known, n=1):
        meant = known[near[0]]
        if origin.startswith("environment MESH_"):
            meant = "MESH_" + meant.upper().replace(".", "__")
        hint = f"Did you mean '{meant.removeprefix(f'{section}.')}'?"
    elif section in SECTIONS:
        hint = f"Known there: {', '.join(SECTIONS[section].__struct_fields__)}."
    else:
        hint = f"Known: {', '.join(Config.__struct_fields__)}."
    place = f" in section [{section}]" if section else ""
    return BadConfig(f"{origin}: unknown {kind} {key[:80]!r}{place}.", hint=hint)


def _check_order(shorter: Setting, longer: Setting) -> None:
    if longer.value <= shorter.value:
        raise BadConfig(
            f"{longer.name} = {longer.value} ({longer.origin}) must be longer than "
            f"{shorter.name} = {shorter.value} ({shorter.origin})."
        )
