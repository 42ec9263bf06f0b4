"""The cases of messages to another site, and the names of their figures."""

from dataclasses import dataclass

EVERY = ("heronry", "nats-py", "jgroups")  # ours first


@dataclass(frozen=True, slots=True)
class Case:
    """A case: messages of `size` bytes.

    `window` is the number of messages in flight, for clients that wait for each answer.
    """

    what: str
    size: int
    window: int = 1000
    persistent: bool = False
    who: tuple[str, ...] = EVERY


CASES = {
    "1 KiB": Case("1 KiB", 1024),
    "100 B": Case("100 B", 100),
    "1 KiB, kept": Case("1 KiB, persistent", 1024, persistent=True, who=("heronry",)),
}


def rate_of(case: str, who: str) -> str:
    return f"sites, {case}, {who}"


def bytes_of(case: str, who: str) -> str:
    return f"{rate_of(case, who)}, bytes"


def ratio_of(case: str, theirs: str) -> str:
    return f"sites, {case}, of {theirs}"
