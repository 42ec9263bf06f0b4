"""Which settings can a node take on while it runs, and what differs between two configurations?"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from mesh.config import FIELDS, Config

LOG = ("log.level", "log.levels")
LIMITS: Mapping[str, str] = {  # by their names in the core, which reads them anew each time
    "limits.sessions": "max_sessions",
    "limits.key_sessions": "max_key_sessions",
    "limits.subscriptions": "max_all_subscriptions",
    "limits.slow_consumer": "slow_consumer",
}
LIVE = (*LOG, *LIMITS)
WHOLE = ("nodes", "strategies", "queues")  # sections that are no single settings
SECRET = ("node.passwd", "node.store")


class Difference(NamedTuple):
    """A setting that is another one now."""

    name: str
    old: Any
    new: Any

    @property
    def is_live(self) -> bool:
        return self.name in LIVE

    def __str__(self) -> str:
        if self.name in WHOLE or self.name in SECRET:
            return f"{self.name} changed"
        return f"{self.name}: {self.old!r:.60} -> {self.new!r:.60}"


def differences(old: Config, new: Config) -> list[Difference]:
    """All of them, in the order of the settings."""
    both = [(name, setting(old, name), setting(new, name)) for name in FIELDS]
    both += [(name, getattr(old, name), getattr(new, name)) for name in WHOLE]
    return [Difference(*each) for each in both if each[1] != each[2]]


def setting(config: Config, name: str) -> Any:
    """The value of a setting, by its dotted name."""
    section, _, key = name.rpartition(".")
    return getattr(getattr(config, section) if section else config, key)


def told(found: list[Difference]) -> str:
    """What was taken on and what was not, in words."""
    live = [str(each) for each in found if each.is_live]
    rest = [str(each) for each in found if not each.is_live]
    if not found:
        return "the settings are as they were"
    parts = [f"taken on: {'; '.join(live)}"] if live else []
    if rest:
        parts.append(f"wants a restart, and is as before: {'; '.join(rest)}")
    return ". ".join(parts)


def with_live(old: Config, new: Config) -> Config:
    """The settings that a node has after it has taken on what it can."""
    for each in differences(old, new):
        if each.is_live:
            section, _, key = each.name.rpartition(".")
            part = msgspec.structs.replace(getattr(old, section), **{key: each.new})
            old = msgspec.structs.replace(old, **{section: part})
    return old
