"""Parses one rule of a file, and checks it."""

from collections.abc import Collection, Iterable
from typing import Annotated, Any

from msgspec import Meta

from mesh.config.source import ConfigFile, near_miss, values
from mesh.errors import BadConfig, LocalError
from mesh.mapping.checking import check_alternative
from mesh.mapping.filters import VERSION, Filter, made
from mesh.mapping.rules import (
    ANY,
    DOMAIN,
    EXACT,
    FILTER,
    LONGEST_CACHED,
    MOST_NODES,
    PATTERN,
    REST,
    XPATH,
    KeyRule,
    Rule,
)
from mesh.wire.limits import HISTORY_MESSAGES

Seconds = Annotated[float, Meta(ge=0, le=LONGEST_CACHED)]

# Keys of [[nodes.NAME.master]]: the type, and a hint for wrong values. Defaults are those of `Rule`.
RULE_KEYS: dict[str, tuple[Any, str]] = {
    "domains": (tuple[str, ...], 'Write a list, such as domains = ["NEWS", "SPORTS"].'),
    "keys": (tuple[str, ...], 'Write a list, such as keys = ["radar/status"].'),
    "stratum": (Annotated[int, Meta(ge=0, le=15)], "0 is the master, 1 to 15 are hops to it."),
    "refid": (str, 'Write the name of a node, such as refid = "heron".'),
    "accept_default": (bool, "Write true or false."),
    "accept_other_default": (bool, "Write true or false."),
    "xpaths": (tuple[str, ...], 'Write a list, such as xpaths = ["//STOCK_EXCHANGE"].'),
    "patterns": (tuple[str, ...], 'Write a list, such as patterns = ["radar/+/track"].'),
    "filters": (
        list[dict[str, Any]],
        'Write a list, such as filters = [{type = "ContentLength", text = "8000"}].',
    ),
    "given": (
        list[dict[str, Any]],
        "Write [[nodes.NAME.master.given]] for each, with a domain, key, xpath or pattern, and filters.",
    ),
    "mapper": (str, 'Write the type of a plug-in, such as mapper = "MyOwnMapperPlugin".'),
    "version": (str, 'Write the version of the mapper, such as version = "2.0".'),
    "told": (str, "Write the argument of the mapper as a text."),
    "backup": (bool, "Write true or false."),
    "dirty_read": (bool, "Write true or false."),
    "history": (
        Annotated[int, Meta(ge=1, le=HISTORY_MESSAGES)],
        "Write the number of messages that the master keeps of each topic.",
    ),
    "min_nodes": (
        Annotated[int, Meta(ge=1, le=MOST_NODES)],
        "Write the number of nodes that the master must reach, itself included.",
    ),
    "cache_ttl": (Seconds, "Write seconds, such as cache_ttl = 60. 0 means no limit."),
    "cache_linger": (Seconds, "Write seconds, such as cache_linger = 10. 0 means not at all."),
}
# A rule sets at least one of the keys in MATTERS, or makes its node a slave for everything else.
MATTERS = (
    "domains", "keys", "xpaths", "patterns", "filters", "given", "mapper", "accept_default",
    "accept_other_default",
)  # fmt: skip
FILTER_KEYS: dict[str, tuple[Any, str]] = {
    "type": (str, 'Write, for example, type = "ContentLength".'),
    "text": (str, 'Write the argument of the filter, such as text = "8000".'),
    "version": (str, 'Write, for example, version = "1.0".'),
}
GIVEN_KEYS: dict[str, tuple[Any, str]] = {
    "key": (str, 'Write, for example, key = "radar.track".'),
    "xpath": (str, 'Write, for example, xpath = "//STOCK_EXCHANGE".'),
    "pattern": (str, 'Write, for example, pattern = "radar/+/track".'),
    "domain": (str, 'Write, for example, domain = "NEWS".'),
    "filters": RULE_KEYS["filters"],
}
LISTED = {
    EXACT: "keys", XPATH: "xpaths", PATTERN: "patterns", DOMAIN: "domains", ANY: "domains", FILTER: "filters",
    REST: "refid",
}  # fmt: skip
GIVEN_KINDS = {"key": EXACT, "xpath": XPATH, "pattern": PATTERN, "domain": DOMAIN}


def rule_of(file: ConfigFile, name: str, number: int, table: dict[str, Any], nodes: Collection[str]) -> Rule:
    """Return the rule in a table, the `number`-th of its node. Raises: BadConfig.

    `nodes` are the names of nodes with a section.
    """
    at = ("nodes", name, "master", str(number))
    is_file = bool(file.table)  # else options of a command line
    title = f"[[nodes.{spelt(name)}.master]]" if is_file else f"the rule of {name}"
    said = values(file, at, title, table, RULE_KEYS)
    is_rest = bool(said.get("stratum") and said.get("refid"))
    if not is_rest and all(table.get(key) in (None, [], "") for key in MATTERS):
        names = MATTERS if is_file else ("--domain", "--key", "--pattern", "--xpath")
        rest = "or stratum and refid, for a slave's parent for everything else"
        hint = f"Add one of {', '.join(names)}; {rest}."
        raise BadConfig(f"{file.origin(*at)}: {title} has no condition, so it matches no message.", hint=hint)
    said["filters"] = _filters(file, (*at, "filters"), title, said.get("filters", ()))
    said["given"] = tuple(
        _given(file, (*at, "given", str(i)), f"[[{title.strip('[]')}.given]]", each)
        for i, each in enumerate(said.get("given", ()))
    )
    rule = Rule(name, **said)
    for key in rule.alternatives():
        check_key_rule(key, title, file.origin(*at, LISTED.get(key.kind, "given")))
    if rule.refid:
        _check_refid(rule, title, file.origin(*at, "refid"), nodes)
    if rule.backup and rule.stratum:
        what = f"{file.origin(*at, 'backup')}: {title} is a backup, but has stratum {rule.stratum}."
        raise BadConfig(what, hint="A backup replaces the master: omit the stratum.")
    return rule


def _given(file: ConfigFile, at: tuple[str, ...], title: str, table: dict[str, Any]) -> KeyRule:
    said = values(file, at, title, table, GIVEN_KEYS)
    named = [name for name in GIVEN_KINDS if name in said]
    if len(named) != 1:
        what = (
            f"{file.origin(*at)}: {title} needs exactly one of key, xpath, pattern and domain, but has "
            f"{' and '.join(named) or 'none'}."
        )
        hint = "Add `filters` to narrow it. A rule with filters alone needs no `given`."
        raise BadConfig(what, hint=hint)
    filters = _filters(file, at, title, said.get("filters", ()))
    return KeyRule(GIVEN_KINDS[named[0]], said[named[0]], filters)


def _filters(
    file: ConfigFile, at: tuple[str, ...], title: str, tables: Iterable[dict[str, Any]]
) -> tuple[Filter, ...]:
    found = []
    for table in tables:
        said = values(file, at, f"a filter in {title}", table, FILTER_KEYS)
        if "type" not in said:
            hint = 'Write, for example, {type = "ContentLength", text = "8000"}.'
            raise BadConfig(f"{file.origin(*at)}: a filter in {title} has no type.", hint=hint)
        found.append(Filter(said["type"], said.get("text", ""), said.get("version", VERSION)))
    return tuple(found)


def check_key_rule(rule: KeyRule, title: str, origin: str) -> None:
    try:
        check_alternative(rule)
        for each in rule.filters:
            made(each)
    except LocalError as error:
        what = f"{origin}: {LISTED[rule.kind]} in {title}: {error.what}"
        raise BadConfig(what, hint=error.hint) from error


def _check_refid(rule: Rule, title: str, origin: str, nodes: Collection[str]) -> None:
    what = f"{origin}: refid = {rule.refid[:80]!r} in {title}"
    if rule.refid == rule.node:
        hint = "A refid names the node one stratum closer to the master. The master has no refid."
        raise BadConfig(f"{what} is the node of the rule itself.", hint=hint)
    if rule.refid not in nodes:
        hint = near_miss(rule.refid, nodes) or "Add a section [nodes.NAME] for it, or omit the refid."
        raise BadConfig(f"{what} names a node without a section.", hint=hint)
    if rule.stratum == 0:
        if rule.backup:
            hint = "Omit the refid: a backup is the master while all others are unreachable."
            raise BadConfig(f"{what}: a backup needs no refid.", hint=hint)
        hint = f"Set the stratum to 1 if {rule.node} is a hop to {rule.refid}; otherwise omit the refid."
        raise BadConfig(f"{what}: a node at stratum 0 is the master and needs no refid.", hint=hint)


def spelt(name: str) -> str:
    """Return the name as a TOML key."""
    return f'"{name}"' if "." in name or ":" in name else name
