"""What belongs to the interface, and is not in this release: a clear answer instead of a missing name."""

from typing import NoReturn

from mesh.errors import NotAvailable

REGISTRATIONS = "it comes with registrations"
QUEUES = "it comes with distributed queues"


def not_yet(what: str, reason: str) -> NoReturn:
    """Raise NotAvailable."""
    raise NotAvailable(f"{what} is not in this release: {reason}.")


class Later:
    """Each of these raises NotAvailable."""

    def queue(self, name: str) -> NoReturn:
        """A distributed queue."""
        not_yet("queue()", QUEUES)

    def transaction(self) -> NoReturn:
        """Several sends and acknowledgements as one."""
        not_yet("transaction()", QUEUES)

    def map(self, name: str) -> NoReturn:
        """A map that the whole mesh shares."""
        not_yet("map()", REGISTRATIONS)

    def counter(self, name: str) -> NoReturn:
        """A counter that the whole mesh shares."""
        not_yet("counter()", REGISTRATIONS)

    def lock(self, name: str) -> NoReturn:
        """A lock that the whole mesh shares."""
        not_yet("lock()", REGISTRATIONS)
