"""`mesh config check`: is this configuration right, and what does it set?"""

import json
import os
import re
from dataclasses import asdict
from typing import Any

import click
from msgspec import to_builtins

from mesh import sync
from mesh.cli import options
from mesh.cli.files import config_file
from mesh.cli.options import count, say, tell_json
from mesh.cli.properties import property_settings
from mesh.cli.table import tell_table
from mesh.config import load, settings
from mesh.config.balancing import OwnStrategy
from mesh.config.nodes import NodeRecord
from mesh.config.queues import QueueStore
from mesh.config.source import Setting
from mesh.mapping.rules import OWN_MAPPER, Rule
from mesh.printable import harmless
from mesh.shell.preparing import rehearsed
from mesh.wire.replies import ReloadTold, read_result

SECRET = "(hidden)"
NAMES = {"address": "pattern", "domain": "name"}  # of what a strategy is for


@click.group("config")
def command() -> None:
    """Check a configuration file."""


@command.command("check")
@click.argument("file", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, with the defaults too.")
@click.option("--properties", metavar="FILE", help="An xmlBlaster property file, as for `mesh up`.")
@click.option("--lenient", is_flag=True, help="Pass over what is unknown in it, and say so.")
def check(file: str | None, as_json: bool, properties: str | None, lenient: bool) -> None:
    """Is FILE right, and what does it set? Prints each value and each rule that is set, and where.

    It tries what `mesh up` would do with it, and leaves nothing behind: can the directory be made, the store
    opened, the plug-in loaded, the keys read, the addresses bound?

    Without FILE: ./mesh.toml, else mesh/mesh.toml in $XDG_CONFIG_HOME, as for `mesh up`. What the
    environment sets (MESH_NODE__ID and the like) is there too.
    """
    path = config_file(file)
    said = property_settings(properties, (), lenient)
    found = settings(path, os.environ, {}, properties=said)
    rehearsal = rehearsed(load(path, os.environ, {}, properties=said), os.environ)
    if as_json:
        described = [_described(setting) for setting in found]
        tell_json({"file": path and str(path), "settings": described} | asdict(rehearsal))
        return
    changed = [setting for setting in found if setting.origin != "default"]
    if changed:
        rows = [(setting.name, _shown(_shareable(setting)), setting.origin) for setting in changed]
        tell_table(("SETTING", "VALUE", "SET BY"), rows)
    say(f"{path or 'no file'}: right; {_counted(changed)} set, all else by default")
    for complaint in rehearsal.complaints:
        say(complaint)
    if rehearsal.running:
        say(f"node {rehearsal.running!r} runs now: whether its store and addresses can be had was not tried")


@command.command("reload")
@options.as_json
@options.url
def reload(as_json: bool, url: str | None) -> None:
    """Have a node read its configuration again, and go by the rules in it. Prints what is otherwise.

    It takes some seconds until the node sends by them: until then it asks for messages by both. Have all
    nodes whose rules change do it within 5 s, and no message is missed.
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
            say("the settings are as they were")


def _counted(changed: list[Setting]) -> str:
    nodes = sum(isinstance(setting.value, NodeRecord) for setting in changed)
    rules = sum(isinstance(setting.value, Rule) for setting in changed)
    strategies = sum(isinstance(setting.value, OwnStrategy) for setting in changed)
    queues = sum(isinstance(setting.value, QueueStore) for setting in changed)
    found = [count(len(changed) - nodes - rules - strategies - queues, "value")]
    found += [count(nodes, "node"), count(rules, "rule")] if nodes else []
    found += [count(strategies, "balancer")] if strategies else []
    found += [count(queues, "store")] if queues else []
    return " and ".join(filter(None, (", ".join(found[:-1]), found[-1])))


def _described(setting: Setting) -> dict[str, Any]:
    value = _shareable(setting)
    if isinstance(value, NodeRecord):
        value = {"address": value.address, "ping": value.ping, "passwd": value.passwd and SECRET}
    elif isinstance(value, Rule):
        value = {key: part for key, part in asdict(value).items() if key != "node"}
    elif isinstance(value, OwnStrategy):
        value = {NAMES[value.kind]: value.of, "strategy": value.strategy, **value.options}
    elif isinstance(value, QueueStore):
        value = {"name": value.name, "store": value.store}
    return {"name": setting.name, "value": value, "origin": setting.origin}


def _shareable(setting: Setting) -> Any:
    """The value as people may paste it into a question: no password, nor what one could be guessed from."""
    return setting.value and SECRET if setting.name == "node.passwd" else setting.value


def _shown(value: Any) -> str:
    if isinstance(value, NodeRecord):
        address = f"address {value.address}" if value.address else "no address"
        ping = f" · ping {value.ping:g} s" if value.ping is not None else ""
        return address + ping + (f" · passwd {SECRET}" if value.passwd else "")
    if isinstance(value, Rule):
        return " · ".join(_clauses(value))
    if isinstance(value, OwnStrategy):
        options = [f"{name} {_quoted(str(option))}" for name, option in value.options.items()]
        return " · ".join((f"{NAMES[value.kind]} {_quoted(value.of)}", value.strategy, *options))
    if isinstance(value, QueueStore):
        return f"name {_quoted(value.name)} · {value.store}"
    return json.dumps(value)


def _clauses(rule: Rule) -> list[str]:
    """A rule in words; what the two `accept_` settings say only where it is not the default."""
    clauses = [
        f"{what} {', '.join(map(_quoted, texts))}"
        for what, texts in (
            ("domains", rule.domains), ("keys", rule.keys), ("xpaths", rule.xpaths),
            ("patterns", rule.patterns), ("filters", tuple(map(str, rule.filters))),
            ("given", tuple(map(str, rule.given))),
        )
        if texts
    ]  # fmt: skip
    if rule.mapper != OWN_MAPPER:
        clauses.append(f"mapper {rule.mapper} {rule.version} {_quoted(rule.told)}".strip())
    clauses.append(f"stratum {rule.stratum}")
    if rule.refid:
        clauses.append(f"refid {rule.refid}")
    if not rule.accept_default:
        clauses.append("accept_default false")
    if rule.accept_other_default:
        clauses.append("accept_other_default true")
    return clauses


def _quoted(text: str) -> str:
    """As it is, unless it is empty or could be taken for two."""
    return text if re.fullmatch(r"[^\s,\"]+", text) else json.dumps(text, ensure_ascii=False)
