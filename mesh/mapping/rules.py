"""What does a rule say of a node?"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

ANY_DOMAIN = "*"  # as a rule's domain: every named one


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. `node` is master (stratum 0), or a way to the master (1 and more), of domains and single keys.

    A domain is a name, `*` for any, or "" for messages without one. `refid` names the node one stratum
    closer to the master. The two `accept_` settings count under default-scope "local" only.
    """

    node: str
    stratum: int = 0
    domains: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    refid: str = ""
    accept_default: bool = True  # take the messages without domain of its own clients
    accept_other_default: bool = False  # and those of other nodes' clients


def has_several(rules: Iterable[Rule]) -> bool:
    """Does any domain or key have more than one master?"""
    return has_rivals(rules, lambda rule: rule.stratum == 0)


def has_rivals(rules: Iterable[Rule], counts: Callable[[Rule], bool]) -> bool:
    """Do several of the rules that count name a node for the same domain or key?"""
    holders: dict[tuple[str, str], set[str]] = {}
    for rule in filter(counts, rules):
        default = [("domain", "")] if rule.accept_other_default else []
        named = [("domain", domain) for domain in rule.domains] + [("key", key) for key in rule.keys]
        for what in named + default:
            holders.setdefault(what, set()).add(rule.node)
    return any(len(nodes) > 1 for nodes in holders.values())
