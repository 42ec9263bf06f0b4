"""Keys that expire, each after a lifetime of its own."""

# Law 1: keys of equal lifetime expire in the order in which they began, so no key is looked at before it is
# due. The caller has few different lifetimes, such as those of its rules.

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")


class Lifetimes(Generic[K]):
    """The times at which keys expire. A key that begins again has a new time."""

    def __init__(self) -> None:
        self._groups: dict[float, OrderedDict[K, float]] = {}  # by lifetime: when each key expires
        self._lives: OrderedDict[K, float] = OrderedDict()  # lifetime of each key, oldest first

    def __len__(self) -> int:
        return len(self._lives)

    def __contains__(self, key: K) -> bool:
        return key in self._lives

    def begin(self, key: K, life: float, now: float) -> None:
        """Let the key expire `life` seconds from `now`."""
        self.forget_key(key)
        self._lives[key] = life
        self._groups.setdefault(life, OrderedDict())[key] = now + life

    def is_over(self, key: K, now: float) -> bool:
        """Return whether the key has expired. A key that never began, or was popped, has not."""
        life = self._lives.get(key)
        return life is not None and self._groups[life][key] <= now

    def forget_key(self, key: K) -> bool:
        """Let the key never expire, and return whether it had a time."""
        life = self._lives.pop(key, None)
        if life is None:
            return False
        del self._groups[life][key]
        if not self._groups[life]:
            del self._groups[life]
        return True

    def pop_over(self, now: float, most: int) -> list[K]:
        """Remove at most `most` expired keys and return them."""
        over: list[K] = []
        for group in list(self._groups.values()):
            while group and len(over) < most and next(iter(group.values())) <= now:
                key = next(iter(group))
                self.forget_key(key)
                over.append(key)
        return over

    def pop_oldest(self) -> K:
        """Remove the key that began first, and return it."""
        key = next(iter(self._lives))
        self.forget_key(key)
        return key

    def clear(self) -> None:
        self._groups.clear()
        self._lives.clear()
