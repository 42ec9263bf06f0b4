"""The configuration of a node that runs: what is otherwise in it when it is read again?"""

from __future__ import annotations

from collections.abc import Callable

from mesh.config import Config, rules
from mesh.config.difference import LOG, adopted, difference, setting
from mesh.core.desk.part import Reloaded, RuleSet
from mesh.errors import NotAvailable
from mesh.mapping.rules import has_several
from mesh.shell.logs import set_levels

LIMITS = {  # what of them is taken on, and by which names the core has it, which looks at it each time
    "limits.sessions": "max_sessions",
    "limits.key_sessions": "max_key_sessions",
    "limits.subscriptions": "max_all_subscriptions",
    "limits.slow_consumer": "slow_consumer",
}


class Reloading:
    """Reads it again, each time against what the node goes by since, and sets the levels of the log.

    `again` reads it. BadConfig, and NotAvailable for rules that cannot change while it runs: nothing of it is
    taken on then.
    """

    def __init__(self, config: Config, again: Callable[[], Config]) -> None:
        self._config = config
        self._again = again

    def __call__(self) -> Reloaded:
        old, new = self._config, self._again()
        before, after = _ruleset(old), _ruleset(new)
        if before != after and (has_several(before.rules) or has_several(after.rules)):
            # What several masters bring is told apart by the order in which each brings it.
            text = "where a message has several masters, rules count after a restart only."
            raise NotAvailable(text, hint="Start the nodes again, each with its new file.")
        found = difference(old, new)
        self._config = adopted(old, new)
        if any(setting(old, name) != setting(new, name) for name in LOG):
            set_levels(new.log.level, new.log.levels or {})
        limits = {core: setting(self._config, name) for name, core in LIMITS.items()}
        return Reloaded(None if before == after else after, limits, found.now, found.later)


def _ruleset(config: Config) -> RuleSet:
    return RuleSet(rules(config), tuple(node.name for node in config.nodes))
