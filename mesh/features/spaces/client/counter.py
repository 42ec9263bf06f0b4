"""Counters, which the whole mesh shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mesh.client.arguments import whole
from mesh.features.spaces.client.space import ANY, MoveReport, Space
from mesh.features.spaces.model.definition import COUNTER, check_space_key
from mesh.features.spaces.model.space import LEAST, MOST, NUMBER, number_of

if TYPE_CHECKING:
    from mesh.features.spaces.client.spacing import Spacing


class Counter(Space):
    """A counter by name: a whole number of 64 bits, at one node, its home.

    Each addition is on the disk of the home before it is answered, and counts once, even if the client lost
    its node meanwhile.

    Example:
        number = await m.counter("orders").add(1)
    """

    def __init__(self, client: Spacing, name: str, group: str = "default") -> None:
        """Create a handle; the node is not contacted yet. Raises: BadName, BadKey."""
        super().__init__(client, f"{COUNTER}/{group}")
        self._name = check_space_key(name)

    @property
    def name(self) -> str:
        """The name of the counter."""
        return self._name

    async def add(self, amount: int = 1, *, timeout: float | None = None) -> int:
        """Add to the counter, which begins at 0.

        Args:
            amount: The amount, which may be negative.
            timeout: Seconds to wait. Default: the client's patience.

        Returns:
            The new value.

        Raises:
            BadArgument: The amount is not a whole number of 64 bits.
            LocalError: OVERFLOW, NODE_AWAY, NODES_AWAY, STORE_FULL.
            MeshTimeout: No answer in time: the amount may have been added.

        Example:
            number = await m.counter("orders").add()
        """
        checked = whole("amount", amount, LEAST, MOST)
        return number_of((await self._write("add", self._name, timeout, amount=checked)).content)

    async def value(self, *, timeout: float | None = None) -> int:
        """Return the value of the counter.

        Args:
            timeout: Seconds to wait. Default: the client's patience.

        Raises:
            LocalError: NODE_AWAY, NODES_AWAY.

        Example:
            print(await m.counter("orders").value())
        """
        row, _ = await self._read(self._name, timeout)
        return number_of(row.content) if row is not None else 0

    async def items(self, *, timeout: float | None = None) -> dict[str, int]:
        """Return the values of all counters of the group, by name.

        Args:
            timeout: Seconds to wait for each page of values. Default: the client's patience.

        Raises:
            LocalError: NODE_AWAY, NODES_AWAY.

        Example:
            print(await m.counter("orders").items())
        """
        return {row.key: number_of(row.content) async for row, _ in self._rows(timeout)}

    async def put_if(self, value: int, *, expected: int, timeout: float | None = None) -> bool:
        """Set the counter if it has a certain value.

        Args:
            value: The new value.
            expected: The value that must be there.
            timeout: As for `add`.

        Returns:
            Whether it was set.

        Raises:
            BadArgument, LocalError, MeshTimeout: As for `add`.

        Example:
            await m.counter("orders").put_if(0, expected=99)
        """
        content = whole("value", value, LEAST, MOST).to_bytes(NUMBER, signed=True)
        wanted = whole("expected", expected, LEAST, MOST)
        row, _ = await self._read(self._name, timeout)
        if (number_of(row.content) if row is not None else 0) != wanted:
            return False
        version = row.version if row is not None else 0
        found = await self._write("put_if", self._name, timeout, content=content, version=version)
        return not found.code

    async def move(
        self,
        to: str,
        *,
        force: bool = False,
        stopped: str | Sequence[str] = (),
        accept_loss: bool = False,
        timeout: float | None = None,
    ) -> MoveReport:
        """Move the group of the counter to another home. Additions wait meanwhile.

        Args:
            to: The new home. The present home: only choose its voters anew.
            force: As for `Map.move`.
            stopped: As for `Map.move`.
            accept_loss: As for `Map.move`.
            timeout: As for `Map.move`.

        Raises:
            BadArgument, LocalError: As for `Map.move`.

        Example:
            await m.counter("orders").move("stork")
        """
        return await self._move(to, force, stopped, accept_loss, timeout)

    async def remove(self, *, timeout: float | None = None) -> bool:
        """Remove the counter, which begins at 0 again.

        Args:
            timeout: As for `add`.

        Returns:
            Whether it existed.

        Raises:
            LocalError, MeshTimeout: As for `add`.

        Example:
            await m.counter("orders").remove()
        """
        return (await self._write("remove", self._name, timeout, version=ANY)).version > 0

    async def drop_group(self, *, timeout: float | None = None) -> None:
        """Remove the group of the counter with all its counters. Its next use creates it anew.

        Args:
            timeout: As for `add`.

        Raises:
            LocalError: NO_SPACE, NODE_AWAY, NODES_AWAY.

        Example:
            await m.counter("orders", group="2026").drop_group()
        """
        await self._drop(timeout)
