"""Events of the shell: discovery on the network, changed addresses, and reports for users."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from mesh.kernel.node import NodeCore
from mesh.shell.damper import Damper
from mesh.wire.commands import Introduction

DAMPED = ("refused", "advert", "poisoned")  # kinds that strangers could flood


class ShellEventsDriver(Protocol):
    """Driver of the core that handles the events."""

    core: NodeCore

    def call(self, happens: Callable[..., Any], what: str) -> Any: ...
    def idle(self) -> None: ...


class ShellEvents:
    """Passes events of the shell to the core of `driver`, for as long as the driver does."""

    def __init__(self, driver: ShellEventsDriver) -> None:
        self.damper = Damper()
        self._driver = driver

    def advertised(self, node: Introduction) -> None:
        """Report a node that multicast DNS found."""
        self._driver.call(partial(self._driver.core.advertised, node), "an advert")
        self._driver.idle()

    def on_foreign_mesh(self, name: str, address: str) -> None:
        """Report a foreign mesh that multicast DNS found."""
        self._driver.call(partial(self._driver.core.on_foreign_mesh, name, address), "an advert")
        self._driver.idle()

    def readdressed(self, there: tuple[str, ...]) -> None:
        """Report the new addresses of this machine."""
        self._driver.call(partial(self._driver.core.readdressed, there[0], there[1:]), "a change of address")
        self._driver.idle()

    def report_event(self, kind: str, text: str, level: str = "info") -> None:
        """Report an event for users.

        Events of the kinds that strangers can cause are dropped if they repeat too often.
        """
        if kind == "advert":
            self._driver.core.parts.context.counters.add_count("adverts_rejected")
        if kind in DAMPED and not self.damper.is_news(kind, text, time.monotonic()):
            return
        self._driver.call(partial(self._driver.core.report_event, kind, text, level=level), "an event")
        self._driver.idle()

    def stranger(self, text: str) -> None:
        self.report_event("refused", text, "warning")

    def report_suppressed(self) -> None:
        """Report how many events were dropped, a minute after the first one."""
        for kind, text in self.damper.take_suppressed(time.monotonic()):
            self._driver.call(
                partial(self._driver.core.report_event, kind, text, level="warning"), "an event"
            )
