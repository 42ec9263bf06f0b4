"""The configuration of a node that runs: what is otherwise in it when it is read again?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mesh.config import Config, rules
from mesh.config.difference import LOG, adopted, difference, setting
from mesh.core.desk.part import Reloaded
from mesh.mapping.agreed import RuleSet
from mesh.shell.logs import set_levels

LIMITS = {  # what of them is taken on, and by which names the core has it, which looks at it each time
    "limits.sessions": "max_sessions",
    "limits.key_sessions": "max_key_sessions",
    "limits.subscriptions": "max_all_subscriptions",
    "limits.slow_consumer": "slow_consumer",
}


class Reloading:
    """Reads it again, each time against what the node goes by since; `keep` sets the levels of the log, too.

    `again` reads it. BadConfig: nothing of it is taken on then.
    """

    def __init__(self, config: Config, again: Callable[[], Config]) -> None:
        self._config = config
        self._again = again

    def __call__(self) -> Reloaded:
        old, new = self._config, self._again()
        before, after = _ruleset(old), _ruleset(new)
        found, counts = difference(old, new), adopted(old, new)
        limits = {core: setting(counts, name) for name, core in LIMITS.items()}
        ruleset = None if before == after else after
        return Reloaded(ruleset, limits, found.now, found.later, partial(self._keep, counts))

    def _keep(self, new: Config) -> None:
        old, self._config = self._config, new
        if any(setting(old, name) != setting(new, name) for name in LOG):
            set_levels(new.log.level, new.log.levels or {})


def _ruleset(config: Config) -> RuleSet:
    return RuleSet(rules(config), tuple(node.name for node in config.nodes))
