"""`mesh up`: run a node until it is told to stop."""

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
from mesh.cli.options import tell
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
    False: "no keys: this machine only; to reach others:  mesh init",
    True: "keys: all connections are encrypted; for another machine:  mesh token",
}


@click.command("up")
@click.option("--id", "name", metavar="NAME", help="Its name. Default: the host's name.")
@click.option(
    "--bind",
    multiple=True,
    metavar="ADDRESS",
    help="Listen here, such as tcp://127.0.0.1:7710; port 0 takes a free one. Can be repeated.",
)
@click.option(
    "--peer",
    multiple=True,
    metavar="ADDRESS",
    help="A node to meet, where multicast DNS does not find it; it introduces the others. Can be repeated.",
)
@click.option(
    "--mdns/--no-mdns",
    default=None,
    help="Announce this node by multicast DNS, and listen for others. Default: yes.",
)
@click.option("--config", metavar="FILE", help="Default: ./mesh.toml or ~/.config/mesh/mesh.toml, if there.")
@click.option(
    "--data", metavar="DIR", help="Its own directory. Default: one of its name, in your state directory."
)
@click.option(
    "--store",
    metavar="STORE",
    help="Where it keeps what must last: sqlite (default), memory, or postgresql://USER@HOST/DATABASE.",
)
@click.option("--cluster", metavar="NAME", help="Name of the mesh. Nodes of two clusters never link.")
@click.option(
    "--probe", metavar="FILE", help="Report the cpu and ram of this JSON file, not this machine's, for tests."
)
@click.option(
    "--accept-rollback",
    is_flag=True,
    help="Go on though its store lost the end of what it had (STORE_ROLLED_BACK): what is lost stays lost.",
)
@click.option(
    "--properties",
    metavar="FILE",
    help="An xmlBlaster property file, which wins over mesh.toml. More may follow: -- -NAME VALUE.",
)
@click.option("--lenient", is_flag=True, help="Pass over what is unknown in property files, and say so.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- -NAME VALUE ...]")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="A line of JSON when it is ready, and one with what it counted when it has stopped.",
)
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    help="What goes to stderr: this, and what is worse. Default: info.",
)
@click.option(
    "--log-format",
    type=click.Choice([TEXT, JSON, JOURNAL]),
    help="A line of it. Default: text; for the journal of systemd, if that reads it.",
)
def command(  # noqa: PLR0913
    name: str | None, bind: tuple[str, ...], peer: tuple[str, ...], mdns: bool | None, config: str | None,
    data: str | None, store: str | None, cluster: str | None, probe: str | None, accept_rollback: bool,
    properties: str | None, lenient: bool, words: tuple[str, ...], as_json: bool, log_level: str | None,
    log_format: str | None,
) -> None:  # fmt: skip
    """Start a node here, and stay until Ctrl-C, SIGTERM or `mesh down`; or until its terminal is closed.

    What is given here wins over the environment (MESH_NODE__ID and the like), and that over the files.
    """
    if not has_terminal():  # until the node itself listens to it
        stay_at_hangup()
    given = {
        "node.id": name,
        "node.bind": bind or None,
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
    """The settings as they are now, if a node could start with them."""
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
        # At once: a script may wait for it.
        await node.run(lambda: _say_ready(it, as_json))
    finally:
        await node.close()
    if as_json:
        _say_last({"stopped": node.name, "boot": it["boot"], "metrics": node.core.parts.desk.figures()})


def _say_ready(it: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(it))
    else:
        tell(described(it).splitlines())


def _say_last(it: dict[str, Any]) -> None:
    """To a script that may have read no more than the first line: that is no failure."""
    try:
        click.echo(json.dumps(it))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes there at exit


def described(it: dict[str, Any]) -> str:
    """The place of the node, how it finds others, and what to type next."""
    by_hand = "" if it["mdns"] else f" --peer {typed(it['at'][0])}"
    lines = [
        f"mesh {__version__}  node '{it['name']}'  id {it['uuid'][:8]}  boot {it['boot']}  "
        f"cluster '{it['cluster']}'",
        *(f"listening   {address}" for address in (*_listening(it), it["ipc"], it.get("http")) if address),
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
    """The addresses that others can type. Where every interface is bound, that is not what was bound."""
    yield from (address for address in it["tcp"] if not is_wildcard(address))
    if any(map(is_wildcard, it["tcp"])):
        far = [address for address in it["at"] if address not in it["tcp"] and not is_of_link(address)]
        first, *others = far or it["at"]
        yield f"{first}   (and every other interface)"
        yield from others


def _gossip(it: dict[str, Any]) -> Iterator[str]:
    """The second port, for a firewall. Without keys gossip stays on this machine, in a file."""
    if it["pub"].startswith("tcp://"):
        port = it["pub"].rpartition(":")[2]
        yield f"port {port}, beside the first: let both through a firewall"


def _ways(it: dict[str, Any]) -> Iterator[str]:
    """In which it looks for others."""
    yield f"mdns on {', '.join(it['mdns'])}" if it["mdns"] else "no mdns"
    yield f"peers {', '.join(it['peers'])}" if it["peers"] else "no peers named"
    if it["remembered"]:
        yield f"{it['remembered']} remembered"


def _short(path: str) -> str:
    home = str(home_directory(os.environ))
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path
