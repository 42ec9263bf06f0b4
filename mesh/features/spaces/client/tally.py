"""Tallies, to which every node adds by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mesh.client.arguments import whole
from mesh.errors import LocalError
from mesh.features.spaces.client.space import NODE_AWAY, REASONS, Asking
from mesh.features.spaces.model.space import LEAST, MOST
from mesh.features.spaces.model.tally import check_tally
from mesh.features.spaces.tally_proof import add_text
from mesh.wire.calls import AskTally, AskTallyAdd
from mesh.wire.replies import TallyAdded, TallySum

if TYPE_CHECKING:
    from mesh.features.spaces.client.spacing import Spacing


@dataclass(frozen=True, slots=True)
class TallyValue:
    """The value of a tally.

    Attributes:
        value: The sum of all additions that the node knows.
        missing: The names of known nodes that did not answer; some of their additions may be missing.
    """

    value: int
    missing: list[str]


class Tally(Asking):
    """A tally by name: a number to which clients of all nodes add, also while nodes are cut off.

    Each addition is on the disk of the client's node before it is answered, and counts once.

    Example:
        await m.tally("clicks").add(1)
    """

    def __init__(self, client: Spacing, name: str) -> None:
        """Create a handle; the node is not contacted yet. Raises: BadName, BadKey."""
        self._client = client
        self._name = check_tally(name)

    @property
    def name(self) -> str:
        """The name of the tally."""
        return self._name

    async def add(self, amount: int = 1, *, timeout: float | None = None) -> None:
        """Add to the tally, which begins at 0.

        Args:
            amount: The amount, which may be negative.
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            BadArgument: The amount is not a whole number of 64 bits.
            LocalError: OVERFLOW, TOO_MANY_ROWS, STORE_FULL. NODE_AWAY: the client has lost its node, and the
                amount may have been added.
            MeshTimeout: No answer in time: the amount may have been added.

        Example:
            await m.tally("clicks").add()
        """
        checked = whole("amount", amount, LEAST, MOST)
        client = self._client
        node = str(client._core.line.home)
        numbers = client._numbers_of(f"tally/{node}/{self._name}")
        number = numbers.begin()
        ask = AskTallyAdd(
            tally=self._name, node=node, amount=checked, number=number, low=numbers.low,
            writer=client._key.public,
        )  # fmt: skip
        ask = replace(ask, signature=client._key.sign(add_text(ask)))
        try:
            found = await self._repeated(ask, TallyAdded, timeout, [NODE_AWAY])
        except LocalError as error:
            if error.code != NODE_AWAY:
                raise
            what = f"{error.what} The amount may have been added."
            raise LocalError(what, hint=error.hint, code=error.code) from None
        finally:
            numbers.end(number)
        if found.code:
            what, hint = REASONS.get(found.code, (f"The addition was refused: {found.code}.", ""))
            raise LocalError(f"tally {self._name!r}: {what}", hint=hint, code=found.code)

    async def value(self, *, timeout: float | None = None) -> TallyValue:
        """Return the value of the tally.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            LocalError: OVERFLOW: the sum exceeds 64 bits.

        Example:
            found = await m.tally("clicks").value()
            print(found.value, found.missing)
        """
        found = await self._ask(AskTally(tally=self._name), TallySum, timeout)
        return TallyValue(found.value, found.missing)
