"""Runs the script of a seed, and checks its history."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

from mesh.kernel.rules.ruling import ENDS
from mesh.names import PUTS
from tools.simulator.checks import checked
from tools.simulator.checks.facts import Facts, SiteFacts, Violation
from tools.simulator.history import History
from tools.simulator.met import met_of_queues
from tools.simulator.places import Place
from tools.simulator.script import Script, roaming, windows
from tools.simulator.stage.stage import Stage

STAYS = {"distribution=strict", "redistribution=none"}
SLACK = 6_000  # bytes: envelopes may overdraw credit and backlog


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run."""

    script: Script
    history: History
    violations: list[Violation]
    seconds: float = 0.0  # of simulated time
    faults: dict[str, int] = field(default_factory=dict)


def told(script: Script) -> Outcome:
    return judged(Stage(script))


def judged(stage: Stage) -> Outcome:
    """Play the script of `stage`, and check its history."""
    script = stage.script
    history, facts = stage.played(), facts_of(script)
    history.counts += met_of_queues(history, facts)
    return Outcome(script, history, checked(history, facts), stage.net.now)


def facts_of(script: Script) -> Facts:
    window = script.settings.get("window_bytes", 4 << 20)
    backlog = script.settings.get("backlog_bytes", 64 << 20)
    cap = window + 2 * backlog + SLACK
    kinds = {step.kind for step in script.steps}
    ttl = script.settings.get("tailback_ttl", inf)
    waits = ttl == inf and "set clock" not in kinds
    void_after = ttl if "set clock" in kinds or roaming(script) else inf
    moved = "move" in kinds
    may_wait = moved or {"fill", "unlisten"} <= kinds
    tail = script.settings.get("tailback_count", inf)
    cast = script.cast
    room = backlog - windows(cast, window)
    liar = next((str(step.args[0]) for step in script.steps if step.kind == "lie"), "")
    apart = cast.behind(liar) if liar else frozenset[str]()
    deceived = (_clients_of(node, script) for node in ({liar, *apart} if liar else ()))
    twisted = frozenset(domain for domain in cast.masters if liar and liar in cast.masters[domain])
    facts = Facts(
        script.nodes, cast.masters, cast.rules, cap, tail, waits, moved, void_after, may_wait, cast.keys,
        room, liar, frozenset().union(*deceived), apart, twisted, _in_memory(script), _staying(script),
    )  # fmt: skip
    outdated = "set rules" in kinds and any(
        s.kind == "pause" and float(s.args[1]) >= ENDS for s in script.steps
    )
    sites = tuple(_of_site(place, facts, script) for place in cast.sites)
    return replace(facts, outdated=outdated, sites=sites)


def _of_site(place: Place, facts: Facts, script: Script) -> SiteFacts:
    own = replace(
        facts,
        nodes=place.nodes,
        before=script.nodes.index(place.nodes[0]),
        masters=dict(place.masters),
        keys=dict(place.keys),
        rules=place.rules,
    )
    clients = (_clients_of(node, script) for node in place.nodes)
    return SiteFacts(place, own, frozenset(place.nodes).union(*clients))


def _in_memory(script: Script) -> frozenset[tuple[str, str]]:
    return frozenset(
        (node, PUTS + queue)
        for node, own in script.own.items()
        for queue, store in own.get("stores", ())
        if store in own.get("volatile", ())
    )


def _staying(script: Script) -> frozenset[str]:
    said = ((str(step.args[1]), str(step.args[2]).split()) for step in script.steps if step.kind == "declare")
    return frozenset(PUTS + queue for queue, words in said if STAYS & set(words))


def _clients_of(node: str, script: Script) -> frozenset[str]:
    """Return all clients that were ever at `node`."""
    at = {name for name, where in script.clients.items() if where == node}
    asked = {
        step.args[0] for step in script.steps if step.kind in ("client", "move") and step.args[1] == node
    }
    return frozenset(f"client {name}" for name in {*at, *asked, f"asker-{node}", f"later-{node}"})
