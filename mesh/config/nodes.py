"""Parses the nodes of a file, and their rules."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any

from msgspec import Meta

from mesh.config.rule import rule_of, spelt
from mesh.config.source import ConfigFile, Setting, values
from mesh.errors import BadConfig, BadName, BadXPath
from mesh.mapping.checking import check_xpaths
from mesh.mapping.rules import ANY, ANY_DOMAIN, DOMAIN, EXACT, PATTERN, REST, XPATH, KeyRule, Rule
from mesh.names import node_name

# Settings of [timing] that can be set for the connection to one node, too.
LINK_TIMES = ("ping", "backoff_min", "backoff_max", "forward_patience")

# Keys of [nodes.NAME]: the type, and a hint for wrong values.
NODE_KEYS: dict[str, tuple[Any, str]] = {
    "address": (Annotated[str, Meta(min_length=1)], 'Write, for example, address = "tcp://10.0.0.5:7710".'),
    **{
        name: (Annotated[float, Meta(gt=0, le=86_400)], f"Write seconds, such as {name} = 0.5.")
        for name in LINK_TIMES
    },
    "disconnect": (bool, "Write disconnect = true or false."),
    "passwd": (str, 'Write the password of that node, such as passwd = "secret".'),
    "master": (list[dict[str, Any]], "Write [[nodes.NAME.master]], in double brackets, for each rule."),
}


_KINDS = {EXACT: "key", XPATH: "XPath", PATTERN: "pattern"}


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node in the file.

    `address` is `None` if unknown, and `passwd` the password sent to that node. The settings of LINK_TIMES
    are in seconds; `None` means the value in [timing]. When this node stops, a node
    with `disconnect` drops what it holds for it.
    """

    name: str
    address: str | None = None
    masters: tuple[Rule, ...] = ()
    ping: float | None = None
    passwd: str | None = field(default=None, repr=False)
    others: tuple[str, ...] = ()  # further addresses, in order
    backoff_min: float | None = None
    backoff_max: float | None = None
    forward_patience: float | None = None
    disconnect: bool = False

    @property
    def times(self) -> dict[str, float]:
        """The settings of LINK_TIMES that differ from [timing]."""
        given = {name: getattr(self, name) for name in LINK_TIMES}
        return {name: value for name, value in given.items() if value is not None}


def node_settings(file: ConfigFile) -> tuple[Setting, ...]:
    """Return `nodes.NAME` (NodeRecord) for each node, followed by its `nodes.NAME.master` (Rule).

    Raises: BadConfig with the place, the key and a hint.
    """
    table = file.table.get("nodes", {})
    if not isinstance(table, dict):
        hint = "Write [nodes.NAME] for each node, and its keys in the lines below it."
        raise BadConfig(f"{file.origin('nodes')}: 'nodes' must be a section.", hint=hint)
    found = [setting for name in table for setting in _of_node(file, name, table)]
    check_circles(found)
    check_backups(found)
    check_costs(found)
    return tuple(found)


def _of_node(file: ConfigFile, name: str, nodes: Mapping[str, Any]) -> Iterator[Setting]:
    section, origin = nodes[name], file.origin("nodes", name)
    if not isinstance(section, dict):
        hint = "Write [nodes.NAME] for each node, and its keys in the lines below it."
        raise BadConfig(f"{origin}: {name[:80]!r} in [nodes] is not the section of a node.", hint=hint)
    try:
        title = f"nodes.{spelt(node_name(name))}"
    except BadName as error:
        raise BadConfig(f"{origin}: nodes: {error.what}", hint=error.hint) from error
    found = values(file, ("nodes", name), f"[{title}]", section, NODE_KEYS)
    rules = [
        Setting(
            f"{title}.master",
            rule_of(file, name, number, table, nodes),
            file.origin("nodes", name, "master", str(number)),
        )
        for number, table in enumerate(found.get("master", ()))
    ]
    check_strata(rules)
    masters = tuple(rule.value for rule in rules)
    given = {key: value for key, value in found.items() if key != "master"}
    yield Setting(title, NodeRecord(name, masters=masters, **given), origin)
    yield from rules


def check_strata(settings: Iterable[Setting]) -> None:
    """Check that no node has two strata, or is both master and backup, for the same topic.

    Raises: BadConfig.
    """
    first: dict[tuple[str, str], Setting] = {}
    for setting in settings:
        rule = setting.value
        for topic in _named(rule) if isinstance(rule, Rule) else ():
            before = first.setdefault((rule.node, topic), setting)
            other = "" if before.origin == setting.origin else f" (see {before.origin})"
            if before.value.backup != rule.backup:
                raise BadConfig(
                    f"{setting.origin}: {rule.node} is both master and backup of {topic}{other}.",
                    hint="A backup replaces another node: keep one of the two rules.",
                )
            if before.value.stratum != rule.stratum:
                raise BadConfig(
                    f"{setting.origin}: {rule.node} has stratum {rule.stratum} for {topic}, "
                    f"and also stratum {before.value.stratum}{other}.",
                    hint="A node has one stratum for a topic: keep one of the two rules.",
                )


def check_backups(settings: Iterable[Setting]) -> None:
    """Check that each backup has a master to replace. Raises: BadConfig."""
    rules = [(each.value, each) for each in settings if isinstance(each.value, Rule)]
    mastered = {key for rule, _ in rules if rule.is_master for key in rule.alternatives()}
    for rule, setting in rules:
        for key in rule.alternatives() if rule.backup else ():
            if key not in mastered:
                raise BadConfig(
                    f"{setting.origin}: {rule.node} is a backup of {_shown(key)}, but no node is its master.",
                    hint="Add the same condition to a [[nodes.NAME.master]] of another node, or omit backup.",
                )


def check_costs(settings: Iterable[Setting]) -> None:
    """Check that all rules together can be evaluated quickly enough. Raises: BadConfig."""
    rules: list[Rule] = []
    for setting in settings:
        if isinstance(setting.value, Rule):
            rules.append(setting.value)
    try:
        check_xpaths(rules)
    except BadXPath as error:
        raise BadConfig(error.what, hint=error.hint) from error


def check_circles(settings: Iterable[Setting]) -> None:
    """Check, for each topic by itself, that no chain of refids forms a cycle. Raises: BadConfig."""
    ways: dict[str, dict[str, dict[str, str]]] = {}  # topic, node, refid: origin
    for setting in settings:
        rule = setting.value
        if isinstance(rule, Rule) and rule.refid:
            for topic in (*_named(rule), *([_domain("")] if rule.accept_other_default else [])):
                ways.setdefault(topic, {}).setdefault(rule.node, {}).setdefault(rule.refid, setting.origin)
    for topic, steps in ways.items():
        try:
            TopologicalSorter(steps).prepare()
        except CycleError as error:
            circle = error.args[1][::-1]
            origin = steps[circle[0]][circle[1]]
            raise BadConfig(
                f"{origin}: for {topic} the refids form a loop: {' -> '.join(circle)}.",
                hint="A refid names the node one stratum closer to the master. The master has no refid.",
            ) from None


def _named(rule: Rule) -> Iterator[str]:
    """Yield the topics of a rule as texts for errors. A filter names no topic."""
    yield from map(_domain, rule.domains)
    yield from (f"key {key!r}" for key in rule.keys)
    yield from (f"XPath {xpath!r}" for xpath in rule.xpaths)
    yield from (f"pattern {pattern!r}" for pattern in rule.patterns)
    if rule.is_rest:
        yield str(KeyRule(REST))


def _domain(domain: str) -> str:
    return f"domain {domain!r}" if domain else "messages without a domain"


def _shown(key: KeyRule) -> str:
    """Return the topics of an alternative as a text for errors."""
    if key.kind in (ANY, DOMAIN):
        named = _domain(ANY_DOMAIN if key.kind == ANY else key.text)
    else:
        named = f"{_KINDS[key.kind]} {key.text!r}" if key.kind in _KINDS else "messages"
    filters = " and ".join(str(each) for each in key.filters)
    return f"{named} with {filters}" if filters else named
