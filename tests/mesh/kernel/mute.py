"""A node that is alive and answers no calls of others."""

from mesh.wire import commands as c
from tests.simulation import SimNode


class Mute:
    """A node that answers pings, but ignores interest and calls until `speak`."""

    def __init__(self, node: SimNode) -> None:
        core = self.core = node.core
        self._wanted, self._hears = core.parts.wanted, core.parts.context.face.from_peers
        self._true = (core.parts.wanted.interest, self._hears[c.Call])
        self.missed = 0
        core.parts.wanted.interest = self._ignore  # type: ignore[method-assign, assignment]
        self._hears[c.Call] = self._ignore

    def _ignore(self, *what: object) -> None:
        self.missed += 1

    def speak(self) -> None:
        self._wanted.interest, self._hears[c.Call] = self._true  # type: ignore[method-assign]
