"""`mesh relay`: which other sites are there, what goes there, and is it to wait?"""

import os
from pathlib import Path
from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.files import config_file, rewrite
from mesh.cli.options import count, say, tell_json
from mesh.cli.sites import tell_sites
from mesh.config import load
from mesh.config.editing import SettingValue, with_site, without_site
from mesh.config.source import parsed, read_text
from mesh.errors import BadConfig, LocalError, NodeNotFound
from mesh.names import node_name
from mesh.printable import harmless
from mesh.wire.replies import ReloadTold, SitePaused, SiteSync, read_result

FAILED = 1
KEYS = (
    "addresses",
    "via",
    "domains",
    "topics",
    "serves",
    "max_bytes",
    "one_way",
)  # in the order in which they are written
config = click.option("--config", "file", metavar="FILE", help="In place of the usual mesh.toml.")


@click.group("relay")
def command() -> None:
    """Name other sites in mesh.toml, see how they are reached, and have what is for one wait."""


@command.command("ls")
@options.url
@options.as_json
def ls(url: str | None, as_json: bool) -> int:
    """List the other sites, how they are reached, and what waits for them: as `mesh ls --sites`."""
    with sync.connect(url) as m:
        return tell_sites(m, as_json)


@command.command("add")
@click.argument("site")
@click.option("--address", "addresses", multiple=True, metavar="ADDRESS", help="Of a gateway there.")
@click.option("--via", metavar="SITE", help="The site by which it is reached, in place of an address.")
@click.option("--domain", "domains", multiple=True, metavar="DOMAIN", help="Its messages go there.")
@click.option("--topic", "topics", multiple=True, metavar="PATTERN", help="So do those of such topics.")
@click.option("--serves", multiple=True, metavar="site/NAME", help="What is from there passes to that site.")
@click.option("--one-way", is_flag=True, help="Nothing comes in from there.")
@click.option("--max-bytes", metavar="SIZE", help="May wait for it at each master, such as 512MiB.")
@config
@options.as_json
@options.url
def add(site: str, file: str | None, as_json: bool, url: str | None, **given: Any) -> int:
    """Write [sites.SITE] into mesh.toml, and have the node that runs go by it.

    Do that in the file of each node of this site, its gateways last. What else may be said of a site is
    written there by hand: see docs/configuration.md.
    """
    values: dict[str, SettingValue] = {key: given[key] for key in KEYS if given[key] not in (None, (), False)}
    path, text = _file(file)
    _write(path, with_site(path, text, node_name(site), values))
    return _reload(path, site, as_json, url)


@command.command("rm")
@click.argument("site")
@click.option("--force", is_flag=True, help="Also while messages wait for it, which are given up.")
@config
@options.as_json
@options.url
def rm(site: str, force: bool, file: str | None, as_json: bool, url: str | None) -> int:
    """Take [sites.SITE] out of mesh.toml, and have the node that runs go by that.

    Do that in the file of each node of this site, its gateways first. Exit code 1: messages wait for it.
    """
    path, text = _file(file)
    after = without_site(path, text, node_name(site))
    if not force and (waiting := _known(site, url).get("waiting", {}).get("messages", 0)):
        what = f"{count(waiting, 'message')} for {site} would be given up"
        say(f"{what}. To do that:  mesh relay rm {site} --force")
        return FAILED
    _write(path, after)
    return _reload(path, site, as_json, url)


@command.command("pause")
@click.argument("site")
@options.as_json
@options.url
def pause(site: str, as_json: bool, url: str | None) -> None:
    """Give SITE nothing more, at any node, until `mesh relay resume`. What is for it waits."""
    _tell_pause(site, True, as_json, url)


@command.command("resume")
@click.argument("site")
@options.as_json
@options.url
def resume(site: str, as_json: bool, url: str | None) -> None:
    """Go on giving SITE what waits for it, and what comes."""
    _tell_pause(site, False, as_json, url)


@command.command("sync")
@click.argument("site")
@options.as_json
@options.url
def sync_site(site: str, as_json: bool, url: str | None) -> int:
    """Send SITE the last value of each topic that goes there, where that is newer than what it has.

    All masters do, as soon as SITE can be reached, and after a restart begin anew. Event `site` tells when
    each has. Exit code 1: some nodes did not say that they do.
    """
    with sync.connect(url) as m:
        found = read_result(SiteSync, m.call("site_sync", site=node_name(site)))
    if as_json:
        tell_json({"site": site, "nodes": sorted(found.nodes), "missing": sorted(found.missing)})
    else:
        say(f"{site} is sent what it lacks, by {', '.join(sorted(found.nodes))}")
        if found.missing:
            say(f"mesh: these did not answer: {', '.join(sorted(found.missing))}")
    return FAILED if found.missing else 0


def _tell_pause(site: str, is_paused: bool, as_json: bool, url: str | None) -> None:
    with sync.connect(url) as m:
        found = read_result(SitePaused, m.call("site_pause", site=node_name(site), pause=is_paused))
    if as_json:
        tell_json({"site": site, "paused": is_paused, "changed": found.changed})
    elif not found.changed:
        say(f"nothing to do: {site} is {'' if is_paused else 'not '}paused")
    elif is_paused:
        say(f"what is for {site} waits, at all nodes in a moment.  To go on:  mesh relay resume {site}")
    else:
        say(f"what waits for {site} goes there")


def _file(given: str | None) -> tuple[Path, str]:
    path = config_file(given)
    if path is None:
        what = "there is no mesh.toml here, nor in the directory of settings."
        raise BadConfig(what, hint='Write one with [site] and name = "LON" below it, or say --config FILE.')
    return path, read_text(path)


def _write(path: Path, text: str) -> None:
    load(parsed(path, text), os.environ, {})
    rewrite(path, text)


def _known(site: str, url: str | None) -> dict[str, Any]:
    """What the nodes know of it, as far as one can be asked."""
    try:
        with sync.connect(url) as m:
            rows = m.call("sites")["sites"]
    except NodeNotFound:
        return {}
    return next((row for row in rows if row["site"] == site), {})


def _reload(path: Path, site: str, as_json: bool, url: str | None) -> int:
    """Have the node go by it. Returns the exit code."""
    told: ReloadTold | None = None
    why = "no node runs here"
    try:
        with sync.connect(url) as m:
            told = read_result(ReloadTold, m.call("reload"))
    except NodeNotFound:
        pass
    except LocalError as error:
        why = f"the node that runs here does not go by it: {harmless(str(error))}"
    lines = [line for line in told.now if line.startswith(f"site {site} ")] if told is not None else []
    if as_json:
        tell_json({"file": str(path), "counts": bool(lines)})
        return 0
    for line in lines:
        say(f"{harmless(line)}: so {path} says, and that counts")
    if lines and _known(site, url).get(
        "paused"
    ):  # that is said of a name, and stays when nobody is called so
        say(f"mesh: {site} is paused, and given nothing.  To go on:  mesh relay resume {site}")
    if told is not None and not lines:
        why = "it wants a restart" if "sites" in told.later else "the node that answers reads another file"
    if not lines:
        say(f"{path} is changed. It does not count yet: {why}")
    return 0
