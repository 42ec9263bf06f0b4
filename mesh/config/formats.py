"""Configuration formats of other systems: the entry points of the group `mesh.config_formats`, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mesh.config.source import Setting
from mesh.entry_points import named
from mesh.errors import BadConfig, NotAvailable
from mesh.mapping.rules import Rule

GROUP = "mesh.config_formats"
XMLBLASTER = "xmlblaster"

Rules = dict[str, tuple[Rule, ...]]  # by node


@dataclass(slots=True)
class ReadSettings:
    """The settings of foreign files. `notes` lists settings that are ignored or have another meaning."""

    settings: list[Setting] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class ConfigFormat(ABC):
    """A format of another system, which can set the settings and the rules of a node."""

    @abstractmethod
    def settings(self, file: Path | None, words: Sequence[str], is_lenient: bool) -> ReadSettings:
        """Return the settings in `file` and in the `words` of a command line. Raises: BadConfig.

        With `is_lenient`, unknown settings are ignored with a note.
        """

    @abstractmethod
    def rules(self, text: str, file: Path | None = None, node: str | None = None) -> tuple[Rules, list[str]]:
        """Return the rules in a text, by node, with notes on ignored parts. Raises: BadConfig.

        `file` is the origin of the text in errors. The text must be about `node`, unless that is None.
        """

    def addresses(self, text: str, node: str) -> tuple[str, ...]:
        """Return the addresses in a text about `node`. Raises: BadConfig if there are none.

        A format without addresses does not override this method.
        """
        what = f"The content has no address of {node}: {type(self).__name__} texts have none."
        raise BadConfig(what, hint="Publish the text of a <clusternode>.")


def config_format(name: str) -> ConfigFormat:
    """Return the format `name`. Raises: NotAvailable, or FeatureFailed if it cannot be loaded."""
    found = named(GROUP, name, "configuration format", ConfigFormat)  # type: ignore[type-abstract]
    if found is None:
        what = f"The configuration format {name} is not installed."
        raise NotAvailable(what, hint="Install Heronry again: its entry points are missing.")
    return found
