"""Named contexts: a file with an address, a mesh and a state directory for each name.

Law: options and environment variables take precedence over a context, field by field.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mesh.cli.files import config_home
from mesh.errors import BadConfig
from mesh.printable import typed

NAME = "contexts.json"
LONGEST = 256 * 1024  # bytes of the file
NONE = ""  # the name of no context, also in MESH_CONTEXT
FIELDS = {"url": "MESH_URL", "cluster": "MESH_CLUSTER", "state": "MESH_STATE_DIR"}


@dataclass(frozen=True, slots=True)
class Context:
    """A node and the access to it.

    `url` is its name or address, `cluster` the mesh whose keys are used, and `state` the state directory with
    these keys. An empty field changes nothing.
    """

    url: str = ""
    cluster: str = ""
    state: str = ""

    def environ(self) -> dict[str, str]:
        """Return the context as environment variables."""
        return {FIELDS[name]: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class Contexts:
    """The content of contexts.json. `used` is the name of the context that applies by default."""

    named: Mapping[str, Context] = field(default_factory=dict)
    used: str = NONE

    def chosen(self, environ: Mapping[str, str]) -> str:
        """Return the name of the context that applies: MESH_CONTEXT, else `used`."""
        return environ.get("MESH_CONTEXT", self.used)

    def get(self, name: str, *, is_from_environ: bool = False) -> Context:
        """Return the context `name`, which MESH_CONTEXT may have named. Raises: BadConfig."""
        if name not in self.named:
            there = ", ".join(sorted(self.named)) or "none"
            hint = "See `mesh context ls`." if self.named else "Add it: mesh context add NAME --url ADDRESS"
            if is_from_environ:
                hint = "The variable MESH_CONTEXT names it: correct or unset MESH_CONTEXT."
            raise BadConfig(f"The context {name!r} does not exist; known: {there}.", hint=hint)
        return self.named[name]


def path_of(environ: Mapping[str, str]) -> Path:
    return config_home(environ) / NAME


def read(environ: Mapping[str, str]) -> Contexts:
    """Read the file. Raises: BadConfig if it is damaged, or is owned or readable by other users."""
    path = path_of(environ)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            _check(path, os.fstat(file.fileno()))
            text = file.read(LONGEST + 1)
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        if len(text) > LONGEST:
            raise ValueError(f"it has more than {LONGEST:,} bytes")
        return _parsed(json.loads(text))
    except KeyError as error:
        raise BadConfig(f"{path} is damaged: it has no {error}.", hint=_aside(path)) from error
    except (TypeError, AttributeError) as error:
        what = f"{path} is damaged: the file, its contexts and each context must be JSON objects."
        raise BadConfig(what, hint=_aside(path)) from error
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"{path} is damaged: {error}.", hint=_aside(path)) from error


def _unreadable(path: Path, error: OSError) -> BadConfig:
    why, hint = error.strerror, _aside(path)
    if error.errno == errno.ELOOP:
        why = "it is a symbolic link"
    elif isinstance(error, PermissionError):
        hint = "The file has your contexts: allow this user to read it."
    elif isinstance(error, NotADirectoryError):
        hint = "A file has the name of one of these directories: move that file aside."
    return BadConfig(f"{path} cannot be read: {why}.", hint=hint)


def _check(path: Path, found: os.stat_result) -> None:
    """Check that only this user can have written the file, as it decides where messages go."""
    if not stat.S_ISREG(found.st_mode):
        raise BadConfig(f"{path} is not a regular file, so it is not used.", hint=_aside(path))
    if found.st_uid != os.geteuid():
        hint = (
            f"Run the command as that user, or give the file to you: sudo chown {os.geteuid()} {typed(path)}"
        )
        what = f"{path} belongs to user {found.st_uid}, not to you ({os.geteuid()}), so it is not used."
        raise BadConfig(what, hint=hint)
    if stat.S_IMODE(found.st_mode) & 0o077:
        hint = f"Run: chmod 600 {typed(path)}"
        raise BadConfig(f"{path} is open to other users, so it is not used.", hint=hint)


def _aside(path: Path) -> str:
    return f"Move it aside, and add your contexts again: mv {typed(path)} {typed(f'{path}.old')}"


def _parsed(said: Any) -> Contexts:
    known = {each.name for each in fields(Context)}
    named = {}
    for name, values in said["contexts"].items():
        if unknown := sorted(values.keys() - known):
            raise ValueError(f"the context {name} has the unknown field {unknown[0]!r}")
        if not all(isinstance(value, str) for value in values.values()):
            raise ValueError(f"the context {name} has a value that is not text")
        named[name] = Context(**values)
    used = said.get("used", NONE)
    if not isinstance(used, str) or (used and used not in named):
        raise ValueError("it names a context in use that it does not have")
    return Contexts(named, used)


def write(contexts: Contexts, environ: Mapping[str, str]) -> Path:
    """Replace the file, readable by this user only. Raises: BadConfig."""
    path = path_of(environ)
    new = path.with_name(f".{path.name}.new")
    text = {"contexts": {n: asdict(c) for n, c in sorted(contexts.named.items())}, "used": contexts.used}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            new.unlink()
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(json.dumps(text, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        hint = f"Allow this user to write to {path.parent}, or free space on its disk."
        raise BadConfig(f"{path} cannot be written: {error.strerror}.", hint=hint) from error
    return path


@contextmanager
def held(environ: dict[str, str] | os._Environ[str]) -> Iterator[str]:
    """For the block, set unset environment variables from the context that applies. Yield its name, or ""."""
    contexts = read(environ)
    name = contexts.chosen(environ)
    said = contexts.get(name, is_from_environ=True).environ() if name else {}
    added = {variable: value for variable, value in said.items() if not environ.get(variable)}
    before = {variable: environ.get(variable) for variable in added}
    environ.update(added)
    try:
        yield name
    finally:
        for variable, value in before.items():
            if value is None:
                environ.pop(variable, None)
            else:
                environ[variable] = value
