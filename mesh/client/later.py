"""What belongs to the interface, and is not in this release: a clear answer instead of a missing name."""

from typing import NoReturn

from mesh.errors import NotAvailable

REGISTRATIONS = "it comes with registrations"
TRANSACTIONS = "it comes with transactions"


def not_yet(what: str, reason: str) -> NoReturn:
    """Raise NotAvailable."""
    raise NotAvailable(f"{what} is not in this release: {reason}.")


class Later:
    """Each of these raises NotAvailable."""

    def transaction(self) -> NoReturn:
        """Several sends and acknowledgements as one."""
        not_yet("transaction()", TRANSACTIONS)

    def map(self, name: str) -> NoReturn:
        """A map that the whole mesh shares."""
        not_yet("map()", REGISTRATIONS)

    def counter(self, name: str) -> NoReturn:
        """A counter that the whole mesh shares."""
        not_yet("counter()", REGISTRATIONS)

    def lock(self, name: str) -> NoReturn:
        """A lock that the whole mesh shares."""
        not_yet("lock()", REGISTRATIONS)
