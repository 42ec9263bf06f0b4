"""Rules and addresses of a node as xmlBlaster's `<clusternode>` text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mesh.mapping.filters import VERSION, Filter
from mesh.mapping.rules import ANY, ANY_DOMAIN, DOMAIN, EXACT, FILTER, OWN_MAPPER, REST, KeyRule, Rule
from mesh.mapping.xmltext import attribute, content


def master_xml(node: str, rules: Iterable[Rule]) -> bytes:
    """Return the XML of a node's rules, with the names of its backups.

    Rules that make the node itself a backup are left out.
    """
    rules = tuple(rules)
    mine = [rule for rule in rules if rule.node == node and not rule.backup]
    keys = {key for rule in mine if rule.is_master for key in rule.alternatives()}
    backups = dict.fromkeys(r.node for r in rules if r.backup and not keys.isdisjoint(r.alternatives()))
    names = "".join(f"<clusternode id={_quoted(name)}/>" for name in backups)
    lines = [f"<backupnode>{names}</backupnode>"] if names else []
    return _node(node, [*lines, *(line for rule in mine for line in _rule(rule))])


def info_xml(node: str, *addresses: str) -> bytes:
    """Return the XML of the addresses of a node that others can dial over TCP."""
    said = [f"socket://{each.removeprefix('tcp://')}" for each in addresses if each.startswith("tcp://")]
    inside = "".join(f'<address type="SOCKET">{_text(each)}</address>' for each in said)
    return _node(node, [f"<connect><qos>{inside}</qos></connect>"] if said else [])


def _node(node: str, lines: Iterable[str]) -> bytes:
    head = f"<clusternode id={_quoted(node)}>"
    return "\n".join([head, *(f"  {line}" for line in lines), "</clusternode>\n"]).encode()


def _rule(rule: Rule) -> Iterator[str]:
    said = {
        "type": rule.mapper if rule.mapper != OWN_MAPPER else "",
        "version": rule.version if rule.version != VERSION else "",
        "stratum": str(rule.stratum),
        "refid": rule.refid,
        "acceptDefault": "" if rule.accept_default else "false",
        "acceptOtherDefault": "true" if rule.accept_other_default else "",
        "dirtyRead": "true" if rule.dirty_read else "",
        "history": str(rule.history) if rule.history > 1 else "",
        "minNodes": str(rule.min_nodes) if rule.min_nodes > 1 else "",
        "cacheTtl": _milliseconds(rule.cache_ttl),
        "cacheLinger": _milliseconds(rule.cache_linger),
    }
    attributes = "".join(f" {name}={_quoted(value)}" for name, value in said.items() if value)
    yield f"<master{attributes}>"
    if rule.mapper != OWN_MAPPER:
        yield f"  {_text(rule.told)}"
    else:
        yield from (f"  {_alternative(key)}" for key in rule.alternatives() if key.kind != REST)
    yield "</master>"


def _milliseconds(seconds: float) -> str:
    return str(max(1, round(1000 * seconds))) if seconds else ""


def _alternative(key: KeyRule) -> str:
    filters = "".join(map(_filter, key.filters))
    if key.kind == FILTER:
        return filters
    kind = {ANY: DOMAIN}.get(key.kind, key.kind)
    if kind == EXACT:
        return f'<key queryType="EXACT" oid={_quoted(key.text)}>{filters}</key>'
    if kind == DOMAIN:
        domain = ANY_DOMAIN if key.kind == ANY else key.text
        return f'<key queryType="DOMAIN" domain={_quoted(domain)}>{filters}</key>'
    return f'<key queryType="{kind}">{_text(key.text)}{filters}</key>'


def _filter(it: Filter) -> str:
    version = f" version={_quoted(it.version)}" if it.version != VERSION else ""
    return f"<filter type={_quoted(it.type)}{version}>{_text(it.text)}</filter>"


def _quoted(text: str) -> str:
    return attribute(text, instead="?")


def _text(text: str) -> str:
    return content(text, instead="?")
