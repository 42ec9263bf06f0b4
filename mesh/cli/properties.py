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
    if given is None:
        if words:
            what = f"Unexpected argument {words[0]!r:.80}: xmlBlaster properties require --properties FILE."
            raise BadConfig(what, hint="To name the node: mesh up --id NAME.")
        if is_lenient:
            what = "command line: --lenient requires --properties."
            raise BadConfig(what, hint="Name an xmlBlaster property file.")
        return ()
    read = config_format(XMLBLASTER).settings(Path(given), words, is_lenient)
    for note in read.notes:
        print_message(note)
    return tuple(read.settings)
