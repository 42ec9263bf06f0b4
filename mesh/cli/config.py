"""`mesh config check`: is this configuration right, and what does it set?"""

import json
import os
from typing import Any

import click

from mesh.cli.files import config_file
from mesh.cli.options import count, say, tell_json
from mesh.cli.table import tell_table
from mesh.config import Setting, settings


@click.group("config")
def command() -> None:
    """Check a configuration file."""


@command.command("check")
@click.argument("file", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, with the defaults too.")
def check(file: str | None, as_json: bool) -> None:
    """Is FILE right, and what does it set? Prints each value that is set, and where.

    Without FILE: ./mesh.toml, else mesh/mesh.toml in $XDG_CONFIG_HOME, as for `mesh up`. What the
    environment sets (MESH_NODE__ID and the like) is there too.
    """
    path = config_file(file)
    found = list(settings(path, os.environ, {}).values())
    if as_json:
        tell_json({"file": path and str(path), "settings": [_described(setting) for setting in found]})
        return
    changed = [setting for setting in found if setting.origin != "default"]
    if changed:
        rows = [(setting.name, json.dumps(setting.value), setting.origin) for setting in changed]
        tell_table(("SETTING", "VALUE", "SET BY"), rows)
    say(f"{path or 'no file'}: right; {count(len(changed), 'value')} set, all else by default")


def _described(setting: Setting) -> dict[str, Any]:
    return {"name": setting.name, "value": setting.value, "origin": setting.origin}
