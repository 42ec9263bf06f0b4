"""The base of all values of replies."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from mesh.errors import RemoteError
from mesh.wire.calls import Name

OTHER_RELEASE = "The node may have another release. Use the same one here and there."

Source = tuple[Name, float | None, bytes]  # node, age (None: current), uuid of the master


Figures = dict[str, int | float]


class ReplyValue(Struct, frozen=True, kw_only=True):
    """The value of a reply. Without fields: the verb has no value."""


R = TypeVar("R", bound=ReplyValue)


def read_result(shape: type[R], said: object) -> R:
    """Convert the value of a reply to `shape`. Raises: RemoteError MALFORMED if it is not valid."""
    try:
        return msgspec.convert(said, shape, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        what = f"the reply of the node cannot be read: {error}"
        raise RemoteError(what, hint=OTHER_RELEASE, code="MALFORMED") from error
