"""Was a commit put together before an earlier one was refused? Then it may count in what is nowhere."""

from collections.abc import Iterable

from mesh.store.base import Op, Put


class Refusals:
    """Of commits for want of room, in the order in which they are tried.

    Law: the row of a publisher's stream counts in what every earlier commit has taken of it. Once one of them
    was refused, those that were put together in ignorance of that must not be written: after a crash, what
    was refused would be called known, and answered OK.
    """

    def __init__(self) -> None:
        self._count = 0
        self._rows: dict[bytes, int] = {}  # key of a stream -> the number of its last refusal

    def refuse(self, ops: Iterable[Op]) -> None:
        """This commit was refused."""
        self._count += 1
        self._rows.update((key, self._count) for key in _streams(ops))

    def concern(self, ops: Iterable[Op], heard: int) -> bool:
        """Does a refusal concern this commit, of which it does not know? `heard` of them it does; never
        fewer than the one before it."""
        if not self._rows:
            return False
        self._rows = {key: number for key, number in self._rows.items() if number > heard}
        return any(key in self._rows for key in _streams(ops))


def _streams(ops: Iterable[Op]) -> Iterable[bytes]:
    return (op.key for op in ops if isinstance(op, Put) and op.table == "stream")
