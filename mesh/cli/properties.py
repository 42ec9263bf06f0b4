"""Reads xmlBlaster property files and command-line properties for a command."""

from collections.abc import Sequence
from pathlib import Path

from mesh.cli.options import print_message
from mesh.config.formats import XMLBLASTER, config_format
from mesh.config.source import Setting
from mesh.errors import BadConfig


def property_settings(given: str | None, words: Sequence[str], is_lenient: bool) -> tuple[Setting, ...]:
    """Return the settings of a property file and of the properties after `--`.

    Notes on ignored and reinterpreted properties are printed. Raises: BadConfig.
    """
    if given is None and (words or is_lenient):
        what = "properties require" if words else "--lenient requires"
        raise BadConfig(f"command line: {what} --properties.", hint="Name an xmlBlaster property file.")
    if given is None:
        return ()
    read = config_format(XMLBLASTER).settings(Path(given), words, is_lenient)
    for note in read.notes:
        print_message(note)
    return tuple(read.settings)
