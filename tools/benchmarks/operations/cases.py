"""The cases of repeated operations, and the names and limits of their figures and ratios."""

from dataclasses import dataclass
from itertools import product

from tools.benchmarks.operations.contestants import CONTESTANTS, OURS
from tools.benchmarks.operations.timing import Load

TRANSACTIONS, MAPS = "transactions", "maps"
PLAIN, STORES = "heronry, no transaction", "heronry, three stores"
PLAIN_LIMIT = 0.8  # of 100 acks and puts without a transaction
FEW = 0.2  # share of the operations for transactions of 100 jobs
TEXTS = {
    "put": "put",
    "get": "get",
    "put_if": "compare and set",
    "lock": "acquire and release",
    "publish": "persistent publish",
}


@dataclass(frozen=True, slots=True)
class Case:
    """An operation, and how many of them are under way at the same time.

    `jobs` is the number of acks in a transaction, and of its messages. Peers take no part if `is_ours`.
    """

    part: str
    what: str
    window: int
    jobs: int = 1
    is_ours: bool = False

    @property
    def name(self) -> str:
        return (
            f"{self.what} {self.jobs}, {self.window}"
            if self.what == "commit"
            else f"{self.what}, {self.window}"
        )

    @property
    def text(self) -> str:
        what = TEXTS.get(self.what) or f"commit of {self.jobs} acks, {self.jobs} puts"
        return f"{self.part}, {what}, {self.window} at a time"

    @property
    def who(self) -> list[str]:
        """The names of the programs that repeat this case."""
        return [OURS] if self.is_ours else list(CONTESTANTS[self.part])

    @property
    def theirs(self) -> list[str]:
        """The names of the programs that ours is compared with."""
        return [name for name in self.who if name not in (OURS, STORES)]

    def load(self, name: str, who: str, count: int, seconds: float) -> Load:
        """Return the load of a run: `count` operations, or fewer large ones, at least two for each worker."""
        fewer = FEW if self.jobs >= 100 else 1
        what = CONTESTANTS[self.part][who].how or self.what
        return Load(name, what, max(2 * self.window, int(count * fewer)), self.window, self.jobs, seconds)


_COMMITS = [Case(TRANSACTIONS, "commit", window, jobs) for jobs, window in product((1, 10, 100), (1, 8))]
_MAPS = [Case(MAPS, what, window) for what, window in product(("get", "put", "put_if", "lock"), (1, 16))]
_ALL = {
    TRANSACTIONS: [*_COMMITS, Case(TRANSACTIONS, "put", 1, is_ours=True)],
    MAPS: [*_MAPS, Case(MAPS, "publish", 1, is_ours=True)],
}
CASES = {part: {case.name: case for case in cases} for part, cases in _ALL.items()}


def row_of(case: Case, who: str) -> str:
    return f"{case.part}, {case.name}: {who}"


def ratio_of(case: Case, theirs: str) -> str:
    return f"{case.part}, {case.name}: {OURS} / {theirs}"


def limit_of(case: Case, theirs: str) -> float | None:
    """Return the goal of a ratio, or None if it has no goal."""
    return PLAIN_LIMIT if (theirs, case.jobs, case.window) == (PLAIN, 100, 1) else None
