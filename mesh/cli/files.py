"""Which configuration file counts, and where do others of this user lie?"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mesh.cli.options import say
from mesh.config.properties import from_words, merged, read_properties
from mesh.config.source import Setting
from mesh.config.xmlblaster import settings_of
from mesh.errors import BadConfig

NAME = "mesh.toml"


def config_file(given: str | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The one given, else ./mesh.toml, else $XDG_CONFIG_HOME/mesh/mesh.toml; None: every default holds."""
    if given is not None:
        return Path(given)
    return next((path for path in (Path(NAME), config_home(environ) / NAME) if path.is_file()), None)


def config_home(environ: Mapping[str, str]) -> Path:
    """This user's directory for settings: $XDG_CONFIG_HOME/mesh, else ~/.config/mesh."""
    xdg = Path(environ.get("XDG_CONFIG_HOME", ""))
    home = xdg if xdg.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".config"
    return home / "mesh"


def property_settings(given: str | None, words: Sequence[str], is_lenient: bool) -> tuple[Setting, ...]:
    """What a property file sets, and properties behind `--`. Says what was passed over, or read as something
    else. BadConfig."""
    if given is None and (words or is_lenient):
        what = f"{words[0][:80]!r} is no option" if words else "--lenient"
        raise BadConfig(
            f"command line: {what} without --properties.", hint="Name an xmlBlaster property file."
        )
    file = read_properties(Path(given)) if given is not None else ()
    read = settings_of(merged(file, from_words(words)), is_lenient)
    for note in read.notes:
        say(note)
    return tuple(read.settings) if given is not None else ()
