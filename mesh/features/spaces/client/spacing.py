"""The client's calls that return the handles of maps and counters."""

from __future__ import annotations

from functools import cached_property

from mesh.client.message import T
from mesh.client.posting import Posting
from mesh.features.spaces.client.counter import Counter
from mesh.features.spaces.client.map import Map
from mesh.features.spaces.client.space import Numbers


class Spacing(Posting):
    """The client's calls that return the handles of maps and counters."""

    def map(self, name: str, *, type: type[T] | None = None) -> Map[T]:
        """Return a handle of the map, with `put`, `get`, `watch` and more. Nothing is sent yet.

        Args:
            name: The name of the map, which need not exist yet.
            type: The type of its values, as for `subscribe`.

        Raises:
            BadName, BadType: An argument is invalid.

        Example:
            prices = m.map("prices", type=float)
            await prices.put("apple", 0.5)
        """
        return Map(self, name, type)

    def counter(self, name: str, *, group: str = "default") -> Counter:
        """Return a handle of the counter, with `add`, `value` and `put_if`. Nothing is sent yet.

        Args:
            name: The name of the counter, which need not exist yet.
            group: The group of counters; the counters of a group have one home.

        Raises:
            BadName, BadKey: An argument is invalid.

        Example:
            number = await m.counter("orders").add()
        """
        return Counter(self, name, group)

    @cached_property
    def _space_numbers(self) -> dict[str, Numbers]:
        return {}

    def _numbers_of(self, space: str) -> Numbers:
        return self._space_numbers.setdefault(space, Numbers())
