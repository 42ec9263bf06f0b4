"""`mesh rule`: sets and lists the mesh-wide rules that assign masters to topics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click
from msgspec import structs

from mesh import sync
from mesh.cli import agreed as shared
from mesh.cli import options
from mesh.cli.completing import complete_nodes
from mesh.cli.options import count, print_message, tell_json
from mesh.cli.settings import clauses
from mesh.cli.table import tell_table
from mesh.config.formats import XMLBLASTER, config_format
from mesh.config.nodes import NodeRecord, node_settings
from mesh.config.rule import rule_of
from mesh.config.ruled import with_rules, without_rules
from mesh.config.source import ConfigFile, read_file, read_text
from mesh.mapping.agreed import Agreed, AgreedNode, unpacked
from mesh.mapping.checking import in_vain
from mesh.mapping.rules import LONGEST_CACHED, Rule
from mesh.names import node_name
from mesh.snapshots.moment import iso
from mesh.wire.replies import RulesPut, RulesTold

HEADER = ("NODE", "RULE", "SET BY")
SHARED, FILE, ASIDE = "all", "file", "file, set aside"
NO_RULE = "no rule"
LONG = {"domains": "domain", "keys": "key", "patterns": "pattern", "xpaths": "xpath"}  # names of options


@click.group("rule")
def command() -> None:
    """Set the masters of topics for the whole mesh. Mesh-wide rules take precedence over rules in files."""


@command.command("set")
@click.argument("node", required=False, shell_complete=complete_nodes)
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="DOMAIN",
    help='Make NODE the master of DOMAIN; "*" means any domain. Can be repeated.',
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Make NODE the master of the topic KEY. Can be repeated.",
)
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Make NODE the master of topics that match PATTERN. Can be repeated.",
)
@click.option(
    "--xpath",
    "xpaths",
    multiple=True,
    metavar="XPATH",
    help="Make NODE the master of topics whose XML matches XPATH. Can be repeated.",
)
@click.option(
    "--stratum",
    type=click.IntRange(0, 15),
    default=0,
    metavar="N",
    help="Number of hops from NODE to the master. Default: 0 (NODE is the master).",
)
@click.option(
    "--refid", metavar="NAME", default="", help="With --stratum: NAME is the next hop to the master."
)
@click.option(
    "--history", type=int, metavar="N", help="Keep the latest N messages of each topic. Default: 1."
)
@click.option("--min-nodes", type=int, metavar="N", help="Accept messages only while N nodes are reachable.")
@click.option(
    "--cache-ttl",
    type=options.FiniteNumber(min=0, max=LONGEST_CACHED),
    metavar="S",
    help="Let slaves cache a value for S seconds after its last message. Default: without a limit.",
)
@click.option(
    "--cache-linger",
    type=options.FiniteNumber(min=0, max=LONGEST_CACHED),
    metavar="S",
    help="Let slaves stay subscribed for S seconds after their last subscriber left. Default: 0.",
)
@click.option("--add", is_flag=True, help="Add to the mesh-wide rules of the node instead of replacing them.")
@click.option("--none", "is_none", is_flag=True, help="Give the node no rule, even if files have one.")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the rules in [nodes] of the TOML FILE.",
)
@click.option(
    "--xml",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the rules in <clusternode> of the XML FILE.",
)
@shared.force
@options.as_json
@options.url
def set_(
    node: str | None,
    add: bool,
    is_none: bool,
    path: Path | None,
    xml: Path | None,
    force: bool,
    as_json: bool,
    url: str | None,
    **given: Any,
) -> None:
    """Replace the mesh-wide rules of NODE, or of all nodes in a FILE.

    The rules apply at all reachable nodes within five seconds, and no message is missed unless --force is
    used. Only the admin of the mesh may set rules; in a mesh without keys, every client may.
    """
    rule = {
        name: list(value) if isinstance(value, tuple) else value for name, value in given.items() if value
    }
    _check_usage(node, path, xml, rule, is_none)
    if xml is not None:
        found = _of_xml(xml)
    else:
        found = _of_file(read_file(path)) if path is not None else {str(node): _of_options(str(node), rule)}
    for what in chain.from_iterable(in_vain(each) for rules in found.values() for each in rules):
        print_message(what)
    with sync.connect(url) as m:
        told = shared.changed(m, lambda before: with_rules(before, found, add), force)
    _tell(told, f"set {count(sum(map(len, found.values())), 'rule')} of {count(len(found), 'node')}", as_json)


def _check_usage(
    node: str | None, path: Path | None, xml: Path | None, rule: dict[str, Any], is_none: bool
) -> None:
    if node is None and (rule or is_none):
        words = [f"--{LONG.get(name, name).replace('_', '-')}" for name in rule] + ["--none"] * is_none
        rest = "; with --file or --xml, the file has all rules" if path or xml else ""
        raise click.UsageError(f"NODE is missing for {', '.join(words)}{rest}.")
    if sum(each is not None for each in (node, path, xml)) != 1:
        raise click.UsageError("Give exactly one of NODE with a rule, --file and --xml.")
    if node is not None and rule and is_none:
        raise click.UsageError("--none cannot be used with options of a rule, such as --domain.")
    if node is not None and not rule and not is_none:
        raise click.UsageError("NODE requires --domain, --key, --pattern or --xpath; or --none for no rule.")


@command.command("rm")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...", shell_complete=complete_nodes)
@shared.force
@options.as_json
@options.url
def rm(nodes: tuple[str, ...], force: bool, as_json: bool, url: str | None) -> int:
    """Remove the mesh-wide rules of each NODE. The rules in files apply again.

    Exit code 1: no NODE had mesh-wide rules.
    """
    with sync.connect(url) as m:
        names = [node_name(name) for name in nodes]
        told = shared.changed(m, lambda before: without_rules(before, names), force)
    _tell(
        told,
        f"the rules of {', '.join(nodes)} are those of the files again",
        as_json,
        "no change: these nodes have no mesh-wide rules",
    )
    return 0 if told is not None else 1


@command.command("ls")
@options.as_json
@options.url
def ls(as_json: bool, url: str | None) -> None:
    """List the rules that a node applies.

    Rules are set for the whole mesh, or in the file of the asked node. Mesh-wide rules of a node override its
    rules in files.
    """
    with sync.connect(url) as m:
        found = shared.told(m)
    rows = list(listed(unpacked(found.value), unpacked(found.own)))
    if as_json:
        tell_json(
            {
                "rules": [
                    {"node": r.node, "rule": r.rule and _plain(r.rule), "set_by": r.set_by} for r in rows
                ],
                "nodes": {
                    n: e.allowed for n, e in unpacked(found.value).nodes.items() if e.allowed is not None
                },
                "stamp": found.stamp,
                "by": unpacked(found.value).by,
                "behind": found.behind,
                "changing": found.changing,
                "refused": found.refused,
            }
        )
        return
    if rows:
        shown = [(r.node, " · ".join(clauses(r.rule)) if r.rule else NO_RULE, r.set_by) for r in rows]
        tell_table(HEADER, shown, folded="RULE")
    for line in remarks(found):
        print_message(line)


class Listed(NamedTuple):
    """A rule of a node, and where the rule was set; `rule` is `None` if the node was set to have no rule."""

    node: str
    rule: Rule | None
    set_by: str


def listed(agreed: Agreed, own: Agreed) -> Iterator[Listed]:
    """Yield the rules of each node, sorted by node: first those in `agreed`, then those in `own`."""
    for name in sorted({*agreed.nodes, *own.nodes}):
        said = agreed.nodes.get(name, AgreedNode()).rules
        if said is not None:
            yield from (Listed(name, rule, SHARED) for rule in said or (None,))
        for rule in own.nodes.get(name, AgreedNode()).rules or ():
            yield Listed(name, rule, FILE if said is None else ASIDE)


def remarks(found: RulesTold) -> list[str]:
    """Return the remarks to print below the table."""
    agreed = unpacked(found.value)
    said = []
    if found.stamp:
        by = f" by {agreed.by}" if agreed.by else ""
        said.append(f"mesh-wide rules were set {iso(found.stamp)}{by}")
    else:
        said.append("no mesh-wide rules: each node uses its own file")
    names: dict[bool, list[str]] = {True: [], False: []}
    for name, entry in agreed.nodes.items():
        if entry.allowed is not None:
            names[entry.allowed].append(name)
    said += [f"allowed links: {', '.join(names[True])}"] if names[True] else []
    said += [f"denied links: {', '.join(names[False])}"] if names[False] else []
    said += [f"{name} is dialed at {', '.join(at)}" for name, at in agreed.addresses.items()]
    said += [f"not in force at this node: {found.refused}"] if found.refused else []
    said += ["in force at this node in a moment"] if found.changing else []
    said += [f"not yet in force at: {', '.join(found.behind)}"] if found.behind else []
    return said


def _plain(rule: Rule) -> dict[str, Any]:
    return {key: part for key, part in asdict(rule).items() if key != "node"}


def _of_options(node: str, given: dict[str, Any]) -> tuple[Rule, ...]:
    if not given:
        return ()
    refid = given.get("refid", "")
    return (rule_of(ConfigFile(Path("command line"), {}, {}), node_name(node), 0, given, (node, refid)),)


def _of_file(file: ConfigFile) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of each node with `master` in the file; `master = []` means no rule."""
    found = {s.value.name: s.value.masters for s in node_settings(file) if isinstance(s.value, NodeRecord)}
    silent = [name for name in found if "master" not in file.table["nodes"][name]]
    if silent:
        print_message(f"unchanged, because their sections have no rules: {', '.join(silent)}")
    return {name: rules for name, rules in found.items() if name not in silent}


def _of_xml(path: Path) -> dict[str, tuple[Rule, ...]]:
    found, notes = config_format(XMLBLASTER).rules(read_text(path), path)
    for note in notes:
        print_message(note)
    return found


def _tell(told: RulesPut | None, what: str, as_json: bool, nothing: str = "no change") -> None:
    if as_json:
        tell_json({"changed": told is not None} | (structs.asdict(told) if told is not None else {}))
        return
    if told is None:
        print_message(nothing)
        return
    print_message(f"{what}; the other nodes follow in a moment.  To list them:  mesh rule ls")
    if told.away:
        print_message(f"unreachable, notified when they return: {', '.join(told.away)}")
    if told.missing:
        print_message(f"this node will notify these again, which did not answer: {', '.join(told.missing)}")
