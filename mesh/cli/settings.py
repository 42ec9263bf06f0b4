"""Formats settings and rules as commands print them."""

import json
import re
from dataclasses import asdict
from typing import Any

from mesh.cli.options import count
from mesh.config.balancing import OwnStrategy
from mesh.config.nodes import NodeRecord
from mesh.config.queues import QueueStore
from mesh.config.sites import RemoteSite
from mesh.config.source import Setting
from mesh.mapping.rules import OWN_MAPPER, Rule
from mesh.site_policy.accepting import Accepts

SECRET = "(hidden)"
NAMES = {"address": "pattern", "domain": "name"}  # key of the strategy's target, by kind


def counted(changed: list[Setting]) -> str:
    """Return the number of changed settings of each kind, as text."""
    nodes = sum(isinstance(setting.value, NodeRecord) for setting in changed)
    rules = sum(isinstance(setting.value, Rule) for setting in changed)
    strategies = sum(isinstance(setting.value, OwnStrategy) for setting in changed)
    queues = sum(isinstance(setting.value, QueueStore) for setting in changed)
    sites = sum(isinstance(setting.value, RemoteSite) for setting in changed)
    found = [count(len(changed) - nodes - rules - strategies - queues - sites, "value")]
    found += [count(nodes, "node"), count(rules, "rule")] if nodes else []
    found += [count(strategies, "balancer")] if strategies else []
    found += [count(queues, "store")] if queues else []
    found += [count(sites, "site")] if sites else []
    return " and ".join(filter(None, (", ".join(found[:-1]), found[-1])))


def described(setting: Setting) -> dict[str, Any]:
    """Return a setting as JSON: name, value, origin."""
    value = _shareable(setting)
    if isinstance(value, NodeRecord):
        others = {"others": list(value.others)} if value.others else {}
        times = {"ping": None, **value.times}
        drops = {"disconnect": True} if value.disconnect else {}
        value = {"address": value.address, **others, **times, **drops, "passwd": value.passwd and SECRET}
    elif isinstance(value, Rule):
        value = {key: part for key, part in asdict(value).items() if key != "node"}
    elif isinstance(value, OwnStrategy):
        value = {NAMES[value.kind]: value.of, "strategy": value.strategy, **value.options}
    elif isinstance(value, QueueStore):
        value = {"name": value.name, "store": value.store}
    elif isinstance(value, RemoteSite):
        accepts = value.accepts and value.accepts._asdict()
        value = {key: part for key, part in asdict(value).items() if key != "name"} | {"accepts": accepts}
    return {"name": setting.name, "value": value, "origin": setting.origin}


def _shareable(setting: Setting) -> Any:
    """Return the value, or SECRET in place of the hash of the node's password."""
    return setting.value and SECRET if setting.name == "node.passwd" else setting.value


def shown(setting: Setting) -> str:
    """Return the value of a setting as text, without secrets."""
    value = _shareable(setting)
    if isinstance(value, NodeRecord):
        also = "".join(f" · or {each}" for each in value.others)
        address = f"address {value.address}{also}" if value.address else "no address"
        times = "".join(f" · {name} {seconds:g} s" for name, seconds in value.times.items())
        drops = " · disconnect true" if value.disconnect else ""
        return address + times + drops + (f" · passwd {SECRET}" if value.passwd else "")
    if isinstance(value, Rule):
        return " · ".join(clauses(value))
    if isinstance(value, OwnStrategy):
        options = [f"{name} {_quoted(str(option))}" for name, option in value.options.items()]
        return " · ".join((f"{NAMES[value.kind]} {_quoted(value.of)}", value.strategy, *options))
    if isinstance(value, QueueStore):
        return f"name {_quoted(value.name)} · {value.store}"
    if isinstance(value, RemoteSite):
        return " · ".join(_of_site(value))
    return json.dumps(value)


def _of_site(site: RemoteSite) -> list[str]:
    """Return the settings of another site as texts, without defaults except `max_bytes` and `when_full`."""
    accepts = site.accepts or Accepts()
    lists = {
        "addresses": site.addresses,
        "domains": site.domains,
        "topics": site.topics,
        "accepts domains": accepts.domains,
        "accepts topics": accepts.topics,
        "serves": site.serves,
        "letters": site.letters,
    }
    clauses = [f"{what} {', '.join(map(_quoted, texts))}" for what, texts in lists.items() if texts]
    clauses += ["accepts nothing"] if site.accepts == Accepts() else []
    clauses += [f"via {site.via}"] if site.via else []
    clauses += ["one_way true"] if site.one_way else []
    return [*clauses, f"max_bytes {site.max_bytes}", f"when_full {site.when_full}"]


def clauses(rule: Rule) -> list[str]:
    """Return the clauses of a rule as texts, without defaults except the stratum."""
    clauses = [
        f"{what} {', '.join(map(_quoted, texts))}"
        for what, texts in (
            ("domains", rule.domains),
            ("keys", rule.keys),
            ("xpaths", rule.xpaths),
            ("patterns", rule.patterns),
            ("filters", tuple(map(str, rule.filters))),
            ("given", tuple(map(str, rule.given))),
        )
        if texts
    ]
    if rule.mapper != OWN_MAPPER:
        clauses.append(f"mapper {rule.mapper} {rule.version} {_quoted(rule.told)}".strip())
    clauses.append("backup" if rule.backup else f"stratum {rule.stratum}")
    if rule.refid:
        clauses.append(f"refid {rule.refid}")
    if not rule.accept_default:
        clauses.append("accept_default false")
    if rule.accept_other_default:
        clauses.append("accept_other_default true")
    if rule.dirty_read:
        clauses.append("dirty_read true")
    clauses += [f"history {rule.history}"] if rule.history > 1 else []
    clauses += [f"min_nodes {rule.min_nodes}"] if rule.min_nodes > 1 else []
    clauses += [f"cache_ttl {rule.cache_ttl:g} s"] if rule.cache_ttl else []
    clauses += [f"cache_linger {rule.cache_linger:g} s"] if rule.cache_linger else []
    return clauses


def _quoted(text: str) -> str:
    """Return the text, quoted if it is empty or could be read as several."""
    return text if re.fullmatch(r"[^\s,\"]+", text) else json.dumps(text, ensure_ascii=False)
