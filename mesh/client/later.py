"""What belongs to the interface, and is not in this release: a clear answer instead of a missing name."""

from typing import Any, NoReturn

from mesh.errors import NotAvailable

PTP = "it comes with point-to-point messages"
REGISTRATIONS = "it comes with registrations"
QUEUES = "it comes with distributed queues"


def not_yet(what: str, reason: str) -> NoReturn:
    """Raise NotAvailable."""
    raise NotAvailable(f"{what} is not in this release: {reason}.")


class Later:
    """Each of these raises NotAvailable."""

    def erase(
        self, key: str | None = None, *, xpath: str | None = None, domain: str | None = None
    ) -> NoReturn:
        """Take topics away, with their last values."""
        not_yet("erase()", "it comes with masters and slaves")

    def send(
        self, destination: str, content: object, *, force_queuing: bool = False, domain: str | None = None
    ) -> NoReturn:
        """Send to one named session."""
        not_yet("send()", PTP)

    def inbox(self) -> NoReturn:
        """What was sent to this session."""
        not_yet("inbox()", PTP)

    def serve(self, address: str, **options: Any) -> NoReturn:
        """Answer requests."""
        not_yet("serve()", REGISTRATIONS)

    def request(self, address: str, content: object, **options: Any) -> NoReturn:
        """Ask one of those who serve."""
        not_yet("request()", REGISTRATIONS)

    def gather(self, address: str, content: object, **options: Any) -> NoReturn:
        """Ask all who serve."""
        not_yet("gather()", REGISTRATIONS)

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
