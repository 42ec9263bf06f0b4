"""`mesh config`: checks, shows and reloads a configuration."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.files import config_file
from mesh.cli.options import print_message, tell_json
from mesh.cli.properties import property_settings
from mesh.cli.settings import counted, described, shown
from mesh.cli.table import tell_table
from mesh.config import load, settings
from mesh.config.nodes import NodeRecord
from mesh.config.schema import schema as schema_of_a_file
from mesh.config.source import Setting
from mesh.mapping.checking import has_unruled, in_vain, without_effect
from mesh.mapping.rules import Rule
from mesh.printable import harmless
from mesh.shell.preparing import rehearsed
from mesh.wire.replies import ReloadTold, read_result

UNRULED = (
    "note: in a domain without a rule, messages of a node that failed arrive late when it returns "
    '(message.late); a rule for "*" keeps their order'
)


@click.group("config")
def command() -> None:
    """Check, show and reload a configuration."""


@command.command("check")
@click.argument("file", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, including the defaults.")
@click.option("--properties", metavar="FILE", help="Read the xmlBlaster property FILE, as `mesh up` does.")
@click.option("--lenient", is_flag=True, help="Ignore unknown properties with a warning.")
def check(file: str | None, as_json: bool, properties: str | None, lenient: bool) -> None:
    """Check FILE, and print each setting that is not a default, with its origin.

    The check tries what `mesh up` would do: create the directory, open the store, load the plug-ins, read the
    keys, bind the addresses. The check leaves nothing behind, except a new token for HTTP.

    FILE defaults to the file that `mesh up` reads: ./mesh.toml, else mesh/mesh.toml in $XDG_CONFIG_HOME or
    ~/.config. Settings from the environment (MESH_NODE__ID and the like) are included.
    """
    path = config_file(file)
    said = property_settings(properties, (), lenient)
    found = settings(path, os.environ, {}, properties=said)
    rehearsal = rehearsed(load(path, os.environ, {}, properties=said), os.environ)
    if as_json:
        told = [described(setting) for setting in found]
        tell_json({"file": path and str(path), "settings": told} | asdict(rehearsal))
        return
    changed = [setting for setting in found if setting.origin != "default"]
    if changed:
        _tell(changed)
    files = " and ".join(str(each) for each in (path, properties) if each)
    print_message(f"{files or 'no file'}: valid; {counted(changed)} set, all others have defaults")
    for line in _without_effect(found):
        print_message(line)
    is_mesh = all(setting.value == "mesh" for setting in found if setting.name.endswith("default_scope"))
    if is_mesh and has_unruled([setting.value for setting in found if isinstance(setting.value, Rule)]):
        print_message(UNRULED)
    for complaint in rehearsal.complaints:
        print_message(complaint)
    if rehearsal.running:
        print_message(f"node {rehearsal.running!r} runs now, so its store and addresses were not tried")


def _without_effect(found: Sequence[Setting]) -> Iterator[str]:
    """Yield a line, with the place, for each part of a rule or node that has no effect."""
    named = {setting.name: setting for setting in found}
    name, most, clients = (
        named[each].value for each in ("node.id", "limits.connections", "node.max_connections")
    )
    if clients is not None and clients > most:
        what = f"{clients:,} is more than limits.connections, so TCP ends at {most:,}"
        yield f"{named['node.max_connections'].origin}: node.max_connections: {what}"
    for setting in found:
        if isinstance(setting.value, NodeRecord) and setting.value.disconnect and setting.value.name == name:
            yield f"{setting.origin}: disconnect has an effect only in the files of other nodes"
    placed = [setting for setting in found if isinstance(setting.value, Rule)]
    rules = [setting.value for setting in placed]
    for number, (setting, rule) in enumerate(zip(placed, rules, strict=True)):
        for what in (*in_vain(rule), *(without_effect(rules, number, name) if name else ())):
            yield f"{setting.origin}: {what}"


@command.command("show")
@click.argument("file", required=False)
@click.option("--origin", is_flag=True, help="Print where each setting comes from, defaults included.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--properties", metavar="FILE", help="Read the xmlBlaster property FILE, as `mesh up` does.")
@click.option("--lenient", is_flag=True, help="Ignore unknown properties with a warning.")
def show(file: str | None, origin: bool, as_json: bool, properties: str | None, lenient: bool) -> None:
    """Print all settings that a node would have here, defaults included.

    FILE defaults to the file that `mesh up` reads. `mesh config check` also tries the settings.
    """
    said = property_settings(properties, (), lenient)
    found = settings(config_file(file), os.environ, {}, properties=said)
    if as_json:
        tell_json([described(setting) for setting in found])
    elif origin:
        _tell(found)
        if any(isinstance(setting.value, Rule) for setting in found):
            print_message("mesh-wide rules, if any, take precedence over these:  mesh rule ls")
    else:
        tell_table(("SETTING", "VALUE"), [(setting.name, shown(setting)) for setting in found])


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of mesh.toml.

    Editors use the schema to complete and check mesh.toml. Save the schema, for example in mesh.schema.json,
    and name that file in the first line of mesh.toml: #:schema mesh.schema.json
    """
    click.echo(json.dumps(schema_of_a_file(), indent=2))


@command.command("reload")
@options.as_json
@options.url
def reload(as_json: bool, url: str | None) -> None:
    """Reload the configuration of a node, and print all changes.

    Changes that need a restart are not applied. New rules apply after 5 s, in which the node subscribes under
    both the old and the new rules. No message is missed if all nodes with changed rules reload within 5 s of
    each other.
    """
    with sync.connect(url) as m:
        found = read_result(ReloadTold, m.call("reload"))
    if as_json:
        tell_json(to_builtins(found))
    else:
        for line in found.now:
            click.echo(harmless(line))
        for name in found.later:
            click.echo(f"{harmless(name)}: after a restart")
        if not (found.now or found.later):
            print_message("no setting has changed")


def _tell(found: Sequence[Setting]) -> None:
    tell_table(("SETTING", "VALUE", "SET BY"), [(each.name, shown(each), each.origin) for each in found])
