"""Parses the words with which a step describes rules."""

from __future__ import annotations

from mesh.mapping.agreed import NONE, Agreed, AgreedNode, RuleSet, counting
from mesh.mapping.rules import Rule


def agreed_of(words: str) -> Agreed:
    """Parse words as a list of rules: NODE=DOMAIN, NODE:KEY, or NODE! for a node that must not be linked."""
    found = NONE
    for word in words.split():
        if word.endswith("!"):
            found = found.with_(word[:-1], AgreedNode(allowed=False))
            continue
        rule = _rule(word)
        before = found.nodes.get(rule.node, AgreedNode())
        found = found.with_(rule.node, AgreedNode((*(before.rules or ()), rule), before.allowed))
    return found


def own_of(words: str) -> tuple[Rule, ...]:
    """Return the rules of a node's file."""
    return tuple(map(_rule, words.split()))


def _rule(word: str) -> Rule:
    node, _, domain = word.partition("=")
    if domain:
        return Rule(node, domains=(domain,))
    node, _, key = word.partition(":")
    return Rule(node, keys=(key,))


def master_of(own: str, words: str, domain: str, key: str) -> str:
    """Return the master by file and shared rules; "" means the node where the message is published."""
    rules = counting(RuleSet(own_of(own), ()), agreed_of(words)).rules
    by_key = [rule.node for rule in rules if key in rule.keys]
    return next(iter(by_key or [rule.node for rule in rules if domain in rule.domains]), "")
