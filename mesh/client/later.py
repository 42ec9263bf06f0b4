"""What belongs to the interface, and is not in this release: a clear answer instead of a missing name."""

from typing import NoReturn

from mesh.errors import NotAvailable

LATER = "maps, counters, locks and transactions come with a later one"


def not_yet(what: str, hint: str) -> NoReturn:
    """Raise NotAvailable."""
    raise NotAvailable(f"{what} is not in this release: {LATER}.", hint=hint)


class Later:
    """Each of these raises NotAvailable."""

    def transaction(self) -> NoReturn:
        """Several sends and acknowledgements as one."""
        not_yet("transaction()", "Until then have each receiver bear that a message comes twice, by its id.")

    def map(self, name: str) -> NoReturn:
        """A map that the whole mesh shares."""
        not_yet("map()", "Until then publish last values: publish(key, value, persistent=True), get(key).")

    def counter(self, name: str) -> NoReturn:
        """A counter that the whole mesh shares."""
        not_yet("counter()", "Until then let one service count: serve(address), request(address).")

    def lock(self, name: str) -> NoReturn:
        """A lock that the whole mesh shares."""
        not_yet("lock()", "Until then let a queue give each job to one consumer, with a lease.")
