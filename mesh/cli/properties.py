"""Reads xmlBlaster property files and command-line properties for a command."""

from collections.abc import Sequence
from pathlib import Path

from mesh.cli.options import print_message
from mesh.config.properties import from_words, merged, read_properties
from mesh.config.source import Setting
from mesh.config.xmlblaster import settings_of
from mesh.errors import BadConfig


def property_settings(given: str | None, words: Sequence[str], is_lenient: bool) -> tuple[Setting, ...]:
    """Return the settings of a property file and of the properties after `--`.

    Notes on ignored and reinterpreted properties are printed. Raises: BadConfig.
    """
    if given is None and (words or is_lenient):
        what = "properties require" if words else "--lenient requires"
        raise BadConfig(f"command line: {what} --properties.", hint="Name an xmlBlaster property file.")
    doubts: list[str] | None = [] if is_lenient else None
    file = read_properties(Path(given), doubts) if given is not None else ()
    read = settings_of(merged(file, from_words(words)), is_lenient)
    for note in (*(doubts or ()), *read.notes):
        print_message(note)
    return tuple(read.settings) if given is not None else ()
