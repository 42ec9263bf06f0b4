"""The configuration of a node: from mesh.toml, environment, command line and xmlBlaster files."""

from mesh.config.loading import addresses, balancing_options, load, rules, settings
from mesh.config.sections import (
    DAY,
    FIELDS,
    MIB,
    Config,
    Discovery,
    Limits,
    NodeSettings,
    Snapshots,
    TimingSettings,
)

__all__ = [
    "DAY",
    "FIELDS",
    "MIB",
    "Config",
    "Discovery",
    "Limits",
    "NodeSettings",
    "Snapshots",
    "TimingSettings",
    "addresses",
    "balancing_options",
    "load",
    "rules",
    "settings",
]
