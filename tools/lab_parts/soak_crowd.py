"""The clients of a long run: under each name a publisher, and a subscriber of everything."""

from collections.abc import Mapping, Sequence
from signal import SIGTERM
from typing import Any

from tools.lab_parts import ledger
from tools.running.nodes import READY
from tools.running.processes import Processes, Program


class SoakCrowd:
    """The clients of a run, and their records.

    `rate` is the number of messages per second of each publisher.
    """

    def __init__(self, processes: Processes, names: Sequence[str], rate: int) -> None:
        self._processes, self._names, self._rate = processes, names, rate
        self._publishers: list[Program] = []

    def gather(self) -> None:
        """Start all clients, and return when all have written their first records."""
        place, start, until = self._processes.place, self._processes.start, self._processes.until
        for name in self._names:
            start(
                f"sub-{name}",
                "tools.lab_parts.soak_subscriber",
                name,
                "soak/#",
                str(place / f"came-{name}.json"),
            )
        until(lambda: all(map(self.came, self._names)), READY, "no subscribers")
        for number, name in enumerate(self._names):
            own = (f"soak/{name}", str(number), str(self._rate), str(place / f"said-{name}.json"))
            self._publishers.append(start(f"pub-{name}", "tools.lab_parts.soak_publisher", name, *own))
        until(lambda: all(map(self.said, self._names)), READY, "no publishers")

    def said(self, name: str) -> Any:
        """Return the record of a publisher, at most a second old; None before the first one."""
        return ledger.read(self._processes.place / f"said-{name}.json")

    def came(self, name: str) -> Any:
        """Return the record of a subscriber, or None."""
        return ledger.read(self._processes.place / f"came-{name}.json")

    def all_said(self) -> Mapping[str, Any]:
        return {name: self.said(name) for name in self._names}

    def all_came(self) -> Mapping[str, Any]:
        return {name: self.came(name) for name in self._names}

    def rewritten(self) -> ledger.Rewritten:
        """Return a condition that is met when all records contain the arrivals and answers before now."""
        place = self._processes.place
        return ledger.Rewritten(
            [place / f"{kind}-{name}.json" for kind in ("said", "came") for name in self._names]
        )

    def answered(self) -> int:
        return sum(ledger.size(book["answered"]) for book in self.all_said().values())

    def hush(self) -> None:
        """Stop the publishers from posting; they end when everything is answered."""
        for program in self._publishers:
            program.signal(SIGTERM)

    def is_done(self) -> bool:
        return all(book["done"] for book in self.all_said().values())
