"""The error of arguments of the public API that are not in this release."""

from typing import NoReturn

from mesh.errors import NotAvailable

LATER = "it is planned for a later one"


def not_yet(what: str, hint: str) -> NoReturn:
    """Raise NotAvailable for `what`; `hint` says what to use until then."""
    raise NotAvailable(f"{what} is not in this release: {LATER}.", hint=hint)
