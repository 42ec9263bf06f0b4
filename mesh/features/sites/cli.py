"""`mesh relay`: configures other sites, and pauses and resumes the traffic to them."""

import os
from pathlib import Path
from typing import Any

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.files import config_file, rewrite
from mesh.cli.options import count, print_message, tell_json
from mesh.cli.sites import tell_sites
from mesh.config import load
from mesh.config.editing import SettingValue, with_site, without_site
from mesh.config.source import parsed, read_text
from mesh.errors import BadConfig, LocalError, NodeNotFound
from mesh.names import node_name
from mesh.printable import harmless
from mesh.wire.replies import ReloadTold, SitePaused, SiteSync, read_result

FAILED = 1
KEYS = ("addresses", "via", "domains", "topics", "serves", "max_bytes", "one_way")  # order in mesh.toml
config = click.option(
    "--config", "file", metavar="FILE", help="Edit FILE. Default: the mesh.toml that `mesh up` reads."
)


@click.group("relay")
def command() -> None:
    """Configure the links to other sites, show their gateways, and pause the traffic to a site."""


@command.command("ls")
@options.url
@options.as_json
def ls(url: str | None, as_json: bool) -> int:
    """List other sites and their gateways, as `mesh ls --sites` does."""
    with sync.connect(url) as m:
        return tell_sites(m, as_json)


@command.command("add")
@click.argument("site")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    metavar="ADDRESS",
    help="Address of a gateway of the new site. Can be repeated.",
)
@click.option("--via", metavar="NAME", help="Reach the new site through the site NAME, without an address.")
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="DOMAIN",
    help="Forward messages of DOMAIN. Can be repeated.",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="PATTERN",
    help="Forward topics that match PATTERN. Can be repeated.",
)
@click.option(
    "--serves",
    multiple=True,
    metavar="site/NAME",
    help="Pass messages of the new site on to the site NAME. Can be repeated.",
)
@click.option("--one-way", is_flag=True, help="Accept nothing from the site.")
@click.option(
    "--max-bytes",
    metavar="SIZE",
    help="Limit of messages that wait for the site at each master, such as 512MiB. Default: 1GiB.",
)
@config
@options.as_json
@options.url
def add(site: str, file: str | None, as_json: bool, url: str | None, **given: Any) -> int:
    """Add [sites.SITE] to mesh.toml, and apply the change.

    The asked node reloads its configuration if it runs. Repeat the command for each node of this site,
    gateways last. Other settings of a site are edited by hand: see docs/configuration.md.
    """
    values: dict[str, SettingValue] = {key: given[key] for key in KEYS if given[key] not in (None, (), False)}
    path, text = _file(
        file, 'Write a mesh.toml with a section [site] that names this site, such as name = "LON"'
    )
    _write(path, with_site(path, text, node_name(site), values))
    return _reload(path, site, as_json, url)


@command.command("rm")
@click.argument("site")
@click.option(
    "--force", is_flag=True, help="Remove the site even if messages wait for it. The messages are discarded."
)
@config
@options.as_json
@options.url
def rm(site: str, force: bool, file: str | None, as_json: bool, url: str | None) -> int:
    """Remove [sites.SITE] from mesh.toml, and apply the change.

    The asked node reloads its configuration if it runs. Repeat the command for each node of this site,
    gateways first. Exit code 1: messages wait for the site, so nothing was removed.
    """
    path, text = _file(file, "Run the command in the directory of the mesh.toml")
    after = without_site(path, text, node_name(site))
    if not force and (waiting := _known(site, url).get("waiting", {}).get("messages", 0)):
        what = f"{count(waiting, 'message')} for {site} would be discarded"
        print_message(f"{what}. To remove it anyway:  mesh relay rm {site} --force")
        return FAILED
    _write(path, after)
    return _reload(path, site, as_json, url)


@command.command("pause")
@click.argument("site")
@options.as_json
@options.url
def pause(site: str, as_json: bool, url: str | None) -> None:
    """Pause the traffic from all nodes to SITE until `mesh relay resume`. Messages for SITE wait."""
    _tell_pause(site, True, as_json, url)


@command.command("resume")
@click.argument("site")
@options.as_json
@options.url
def resume(site: str, as_json: bool, url: str | None) -> None:
    """Resume the traffic to SITE, with the messages that wait."""
    _tell_pause(site, False, as_json, url)


@command.command("sync")
@click.argument("site")
@options.as_json
@options.url
def sync_site(site: str, as_json: bool, url: str | None) -> int:
    """Send SITE the newer retained values of its topics.

    A value is sent if its topic is forwarded to SITE and SITE has no newer value. Every master sends its
    values as soon as SITE is reachable, and starts again after a restart. The event `site` reports when a
    master is done. Exit code 1: a node did not confirm.
    """
    with sync.connect(url) as m:
        found = read_result(SiteSync, m.call("site_sync", site=node_name(site)))
    if as_json:
        tell_json({"site": site, "nodes": sorted(found.nodes), "missing": sorted(found.missing)})
    else:
        print_message(f"{site} receives what it lacks, from {', '.join(sorted(found.nodes))}")
        if found.missing:
            print_message(f"mesh: these nodes did not answer: {', '.join(sorted(found.missing))}")
    return FAILED if found.missing else 0


def _tell_pause(site: str, is_paused: bool, as_json: bool, url: str | None) -> None:
    with sync.connect(url) as m:
        found = read_result(SitePaused, m.call("site_pause", site=node_name(site), pause=is_paused))
    if as_json:
        tell_json({"site": site, "paused": is_paused, "changed": found.changed})
    elif not found.changed:
        print_message(f"no change: {site} is {'' if is_paused else 'not '}paused")
    elif is_paused:
        print_message(
            f"messages for {site} wait; the other nodes follow in a moment.  "
            f"To resume:  mesh relay resume {site}"
        )
    else:
        print_message(f"messages for {site} are forwarded")


def _file(given: str | None, hint: str) -> tuple[Path, str]:
    """Return the configuration file and its text. Raises: BadConfig, with `hint`, if there is none."""
    path = config_file(given)
    if path is None:
        what = "No mesh.toml was found here or in the configuration directory."
        raise BadConfig(what, hint=f"{hint}, or use --config FILE.")
    return path, read_text(path)


def _write(path: Path, text: str) -> None:
    load(parsed(path, text), os.environ, {})
    rewrite(path, text)


def _known(site: str, url: str | None) -> dict[str, Any]:
    """Return the row of the site at a running node, or {} if there is none."""
    try:
        with sync.connect(url) as m:
            rows = m.call("sites")["sites"]
    except NodeNotFound:
        return {}
    return next((row for row in rows if row["site"] == site), {})


def _reload(path: Path, site: str, as_json: bool, url: str | None) -> int:
    """Reload the node's configuration and report the outcome. Return the exit code."""
    told: ReloadTold | None = None
    why = "no node runs here"
    try:
        with sync.connect(url) as m:
            told = read_result(ReloadTold, m.call("reload"))
    except NodeNotFound:
        pass
    except LocalError as error:
        why = f"the node rejected the change: {harmless(str(error))}"
    lines = [line for line in told.now if line.startswith(f"site {site} ")] if told is not None else []
    if as_json:
        tell_json({"file": str(path), "counts": bool(lines)})
        return 0
    for line in lines:
        print_message(f"{harmless(line)}: set in {path}, and in force")
    if lines and _known(site, url).get("paused"):  # a pause belongs to the name and outlives the site
        print_message(f"mesh: {site} is paused and receives nothing.  To resume:  mesh relay resume {site}")
    if told is not None and not lines:
        why = (
            "the change requires a restart"
            if "sites" in told.later
            else "the node that answers reads another file"
        )
    if not lines:
        print_message(f"{path} was changed, but is not in force yet: {why}")
    return 0
