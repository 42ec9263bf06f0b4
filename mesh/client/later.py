"""Names of the public API that are not in this release and raise NotAvailable."""

from typing import NoReturn

from mesh.errors import NotAvailable

LATER = "it is planned for a later one"


def not_yet(what: str, hint: str) -> NoReturn:
    """Raise NotAvailable for `what`; `hint` says what to use until then."""
    raise NotAvailable(f"{what} is not in this release: {LATER}.", hint=hint)


class Later:
    """Calls that a later release implements; each raises NotAvailable."""

    def lock(self, name: str) -> NoReturn:
        """Raise NotAvailable: locks shared by the whole mesh come later."""
        not_yet("lock()", "Until then use a queue, which gives each job to one consumer, with a lease.")
