"""Finds the libraries in C that wheels contain; no index of Python packages shows them."""

import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from typing import Any, NamedTuple

from lxml import etree

# A file in a wheel's folder of libraries: its name, and its soname version.
_FILE = re.compile(
    r"(?P<name>lib[A-Za-z0-9_+.-]*?)_?(?:-[0-9a-f]{8})+(?:\.so|\.dylib)(?:\.(?P<number>[0-9.]+))?"
)
_RELEASES = {"libsodium": "sodium_version_string"}  # functions that return the release
HERE = ("libzmq",)  # has a component of its own


class Bundled(NamedTuple):
    """A library in a wheel.

    `version` is its release, and `number` its soname version; both are empty if unknown.
    """

    package: str
    name: str
    version: str = ""
    number: str = ""

    def component(self) -> dict[str, Any]:
        """Return the component for a bill.

        The bom-ref is unique: two packages may bundle one library, or one package two versions.
        """
        known = {"version": self.version} if self.version else {}
        number = [{"name": "heronry:soname", "value": self.number}] if self.number else []
        return {
            "type": "library",
            "bom-ref": f"{self.package}/{self.name}" + (f"@{self.number}" if self.number else ""),
            "name": self.name,
            **known,
            "purl": f"pkg:generic/{self.name}" + (f"@{self.version}" if self.version else ""),
            "properties": [{"name": "heronry:bundled-by", "value": self.package}, *number],
        }


def bundled() -> list[Bundled]:
    """Return the libraries in the installed wheels."""
    found = set(_inside())
    for package in metadata.distributions():
        files = {str(file): str(package.locate_file(file)) for file in package.files or ()}
        found.update(in_folders(package.metadata["Name"].lower(), files))
    return sorted(found)


def in_folders(package: str, files: Mapping[str, str]) -> Iterator[Bundled]:
    """Yield the libraries among the files of a wheel, of which `files` maps names to paths."""
    for path, place in files.items():
        folder, _, file = path.rpartition("/")
        found = _FILE.fullmatch(file) if folder.endswith((".libs", ".dylibs")) else None
        if found is not None and found["name"] not in HERE:
            yield Bundled(package, found["name"], _release(found["name"], place), found["number"] or "")


def _inside() -> Iterable[Bundled]:
    """Yield the libraries that are linked into an extension module, without a file of their own."""
    yield Bundled("lxml", "libxml2", ".".join(map(str, etree.LIBXML_COMPILED_VERSION)))
    yield Bundled("lxml", "libxslt", ".".join(map(str, etree.LIBXSLT_COMPILED_VERSION)))
    # Their releases are unknown.
    yield from (Bundled("lxml", name) for name in ("libexslt", "libiconv", "zlib"))
    yield Bundled("pynacl", "libsodium")


def _release(library: str, path: str) -> str:
    if library in _RELEASES:
        with suppress(OSError, AttributeError):
            version = getattr(ctypes.CDLL(path), _RELEASES[library])
            version.restype = ctypes.c_char_p
            return str(version().decode())
    return ""
