"""`mesh up`: runs a node until it is stopped."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from mesh import __version__
from mesh.cli.files import config_file
from mesh.cli.options import print_data
from mesh.cli.properties import property_settings
from mesh.config import Config, load
from mesh.dialable import is_of_link
from mesh.local.addresses import is_wildcard
from mesh.local.private import state_dir
from mesh.local.user import home_directory
from mesh.loglevels import LEVELS
from mesh.printable import typed
from mesh.shell.logs import JOURNAL, JSON, TEXT, called, formatter, set_levels, write_to
from mesh.shell.memory import take_descriptors
from mesh.shell.preparing import prepared
from mesh.shell.starting import start
from mesh.shell.terminal import has_terminal, stay_at_hangup

KEYS = {
    False: "no keys: only this machine can connect; to change that:  mesh init",
    True: "keys: all connections are encrypted; to add a machine:  mesh token",
}


@click.command("up")
@click.option("--id", "name", metavar="NAME", help="Name of the node. Default: the host's name.")
@click.option(
    "--bind",
    multiple=True,
    metavar="ADDRESS",
    help="Listen at ADDRESS, such as tcp://127.0.0.1:7710; port 0 means a free port. Can be repeated. "
    "Default: a free port of 127.0.0.1; with keys tcp://*:7710.",
)
@click.option(
    "--advertise",
    metavar="ADDRESS",
    help="IP or IP:PORT at which other nodes dial this one, such as behind NAT. Default: its interfaces.",
)
@click.option(
    "--peer",
    multiple=True,
    metavar="ADDRESS",
    help="Dial the node at ADDRESS, which introduces other nodes. Can be repeated.",
)
@click.option(
    "--mdns/--no-mdns",
    default=None,
    help="Announce this node by multicast DNS, and listen for others. Default: yes.",
)
@click.option("--config", metavar="FILE", help="Read FILE. Default: ./mesh.toml or ~/.config/mesh/mesh.toml.")
@click.option("--data", metavar="DIR", help="Store data in DIR. Default: data/NAME in your state directory.")
@click.option(
    "--store",
    metavar="STORE",
    help="Storage of messages: sqlite (default), memory, or postgresql://USER@HOST/DATABASE.",
)
@click.option(
    "--cluster", metavar="NAME", help="Name of the mesh; nodes of two meshes never link. Default: default."
)
@click.option(
    "--probe",
    metavar="FILE",
    help="Read the load of CPU and RAM from the JSON FILE instead of this machine, for tests.",
)
@click.option(
    "--accept-rollback",
    is_flag=True,
    help="Start with a store that lost its latest data (STORE_ROLLED_BACK). The data stays lost.",
)
@click.option(
    "--properties",
    metavar="FILE",
    help="Read the xmlBlaster property FILE, which overrides mesh.toml. "
    "Further properties can follow `--`, as -NAME VALUE.",
)
@click.option("--lenient", is_flag=True, help="Ignore unknown properties with a warning.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- -NAME VALUE ...]")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a line of JSON when the node is ready, and one with its counters at the end.",
)
@click.option(
    "--log-level", type=click.Choice(LEVELS), help="Lowest level of the log on stderr. Default: info."
)
@click.option(
    "--log-format",
    type=click.Choice([TEXT, JSON, JOURNAL]),
    help="Format of the log. Default: text, or journal if systemd reads stderr.",
)
def command(  # noqa: PLR0913
    name: str | None, bind: tuple[str, ...], advertise: str | None, peer: tuple[str, ...], mdns: bool | None,
    config: str | None, data: str | None, store: str | None, cluster: str | None, probe: str | None,
    accept_rollback: bool, properties: str | None, lenient: bool, words: tuple[str, ...], as_json: bool,
    log_level: str | None, log_format: str | None,
) -> None:  # fmt: skip
    """Run a node in the foreground until Ctrl-C, SIGTERM, `mesh down`, or the end of its terminal.

    Options override the environment (MESH_NODE__ID and the like), which overrides files.
    """
    if not has_terminal():  # until the node handles SIGHUP itself
        stay_at_hangup()
    given = {
        "node.id": name,
        "node.bind": bind or None,
        "node.advertise": advertise,
        "node.peers": peer or None,
        "node.data": data,
        "node.store": store,
        "node.cluster": cluster,
        "node.probe": probe,
        "discovery.mdns": mdns,
        "log.level": log_level,
        "log.format": log_format,
    }
    read = partial(_read, config, given, properties, words, lenient)
    settings = read()
    how = formatter(settings.log.format, os.environ, sys.stderr)
    write_to(sys.stderr, how)
    set_levels(settings.log.level, settings.log.levels or {})
    asyncio.run(
        _run(settings, config_file(config), as_json, accept_rollback, how, partial(_read_again, read))
    )


def _read(
    config: str | None, given: dict[str, Any], properties: str | None, words: tuple[str, ...], lenient: bool
) -> Config:
    said = property_settings(properties, words, lenient)
    return load(config_file(config), os.environ, given, properties=said)


def _read_again(read: Callable[[], Config]) -> Config:
    """Read the settings again, and check that a node could start with them."""
    settings = read()
    prepared(settings, state_dir(os.environ))
    return settings


async def _run(
    settings: Config,
    file: Path | None,
    as_json: bool,
    accept_rollback: bool,
    how: logging.Formatter,
    again: Callable[[], Config],
) -> None:
    take_descriptors()
    node = await start(settings, os.environ, accept_rollback, partial(called, how), again)
    try:
        it = {
            **node.described(),
            "cluster": settings.node.cluster,
            "peers": settings.node.peers,
            "config": file and str(file),
        }
        # Without delay, as a script may wait for the line.
        await node.run(lambda: _say_ready(it, as_json))
    finally:
        await node.close()
    if as_json:
        _say_last({"stopped": node.name, "boot": it["boot"], "metrics": node.core.parts.context.figures()})


def _say_ready(it: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(it))
    else:
        print_data(described(it).splitlines())


def _say_last(it: dict[str, Any]) -> None:
    """Print the last line. A closed pipe is not an error."""
    try:
        click.echo(json.dumps(it))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # remaining output is dropped at exit


def described(it: dict[str, Any]) -> str:
    """Return the lines that a starting node prints: addresses, discovery, next commands."""
    by_hand = "" if it["mdns"] else f" --peer {typed(it['at'][0])}"
    lines = [
        f"mesh {__version__}  node '{it['name']}'  id {it['uuid'][:8]}  boot {it['boot']}  "
        f"cluster '{it['cluster']}'",
        *(f"listening   {address}" for address in (*_listening(it), it["ipc"], it.get("http")) if address),
        *(f"advertised  {address}" for address in (it.get("named"),) if address),
        *(f"ignored     {interface} ({why})" for interface, why in it["skipped"]),
        *(f"gossip      {address}" for address in _gossip(it)),
        f"data        {_short(it['data'])}",
        f"config      {it['config'] or 'no file'}",
        f"discovery   {' · '.join(_ways(it))}",
        f"security    {KEYS[it['keys']]}",
        f"next        mesh up --id NAME{by_hand}   (another node)",
        "            mesh sub 'demo/#'   mesh pub demo/hello world   mesh ls   mesh top",
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines)


def _listening(it: dict[str, Any]) -> Iterator[str]:
    """Yield addresses that others can dial: for a wildcard, those of the interfaces."""
    yield from (address for address in it["tcp"] if not is_wildcard(address))
    if any(map(is_wildcard, it["tcp"])):
        own = [address for address in it["at"] if address != it.get("named")]
        far = [address for address in own if address not in it["tcp"] and not is_of_link(address)]
        first, *others = far or own or it["tcp"]
        yield f"{first}   (and every other interface)"
        yield from others


def _gossip(it: dict[str, Any]) -> Iterator[str]:
    """Yield a line about the second port, for firewalls; without keys gossip uses a local socket file."""
    if it["pub"].startswith("tcp://"):
        port = it["pub"].rpartition(":")[2]
        yield f"port {port}, next to the first: open both in a firewall"


def _ways(it: dict[str, Any]) -> Iterator[str]:
    """Yield descriptions of how the node finds other nodes."""
    yield f"mdns on {', '.join(it['mdns'])}" if it["mdns"] else "no mdns"
    yield f"peers {', '.join(it['peers'])}" if it["peers"] else "no peers configured"
    if it["remembered"]:
        yield f"{it['remembered']} remembered"


def _short(path: str) -> str:
    home = str(home_directory(os.environ))
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path
