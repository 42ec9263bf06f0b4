"""Reloads the configuration of a running node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from mesh.config import Config, rules
from mesh.config.difference import LOG, adopted, difference, setting
from mesh.kernel.context.component import Reloaded
from mesh.kernel.context.settings import Keyring
from mesh.mapping.agreed import RuleSet
from mesh.security.keyring import MeshKeys
from mesh.security.keys import Keys
from mesh.shell.logs import set_levels
from mesh.shell.settings import max_connections, site_settings

LIMITS = {  # settings applied live, with their names in the core
    "node.max_connections": "max_connections",
    "limits.sessions": "max_sessions",
    "limits.key_sessions": "max_key_sessions",
    "limits.subscriptions": "max_all_subscriptions",
    "limits.slow_consumer": "slow_consumer",
}


class Reloading:
    """Rereads the configuration, and compares it with the one in effect.

    `again` reads the configuration; if it raises BadConfig, nothing is applied. `keys` reads the node's keys,
    of which only those of other sites are applied, and `keep_sites` receives the keys for dialing sites.
    Applying the result also sets the log levels.
    """

    def __init__(
        self,
        config: Config,
        again: Callable[[], Config],
        ring: Keyring | None = None,
        keys: Callable[[Config], MeshKeys | None] = lambda config: None,
        keep_sites: Callable[[Mapping[str, Keys]], None] = lambda sites: None,
    ) -> None:
        self._config = config
        self._again = again
        self._ring = ring
        self._keys = keys
        self._keep_sites = keep_sites

    def __call__(self) -> Reloaded:
        old, new = self._config, self._again()
        before, after = _ruleset(old), _ruleset(new)
        found, counts = difference(old, new), adopted(old, new)
        core = {name: setting(counts, of) for of, name in LIMITS.items()}
        core["max_connections"] = max_connections(counts)
        core["site"] = site_settings(counts)
        keys = self._keys(counts) if self._ring is not None else None
        if self._ring is not None and keys is not None:
            core["keyring"] = replace(self._ring, relays=keys.ring.relays, sites=keys.ring.sites)
        ruleset = None if before == after else after
        return Reloaded(ruleset, core, found.now, found.later, partial(self._adopt_config, counts, keys))

    def _adopt_config(self, new: Config, keys: MeshKeys | None) -> None:
        old, self._config = self._config, new
        if any(setting(old, name) != setting(new, name) for name in LOG):
            set_levels(new.log.level, new.log.levels or {})
        if keys is not None:
            self._keep_sites(keys.sites)


def _ruleset(config: Config) -> RuleSet:
    return RuleSet(rules(config), tuple(node.name for node in config.nodes))
