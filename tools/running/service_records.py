"""The lines that programs write which ask services, and which serve, while things die."""

from collections.abc import Iterable
from dataclasses import dataclass

Name = tuple[str, int]  # the life of a program that asks, and the number of its request there

# Kinds of request: one reply; the same, and another server is asked when one is lost; no reply, only an
# answer; a reply of each server.
ONE, RETRIED, TOLD, ALL = "one", "retried", "told", "all"
NOBODY = "nobody/here"  # an address that nobody serves


@dataclass(frozen=True, slots=True)
class Task:
    """A request, as it is written in its content, for its server and for who counts.

    `fate`: what its server makes of it: reply, fail, drop. `seconds`: how long it works on it.
    """

    name: Name
    fate: str
    seconds: float

    def written(self) -> bytes:
        life, number = self.name
        return f"{life} {number} {self.fate} {self.seconds:.3f}".encode()


def task_of(content: bytes) -> Task:
    life, number, fate, seconds = content.decode().split()
    return Task((life, int(number)), fate, float(seconds))


@dataclass(frozen=True, slots=True)
class Asked:
    """A line of who asks. `what`: asked, got (one reply), ended.

    `word` is the kind of request, the server that a reply names, or a code. A line "asked" also says where,
    what shall be done, and for how many seconds its sender waits; a line "got" the request that is answered.
    """

    at: float
    what: str
    name: Name
    word: str
    to: str = ""
    task: Task | None = None
    limit: float = 0.0
    of: Name | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """A line of who serves. `what`: began; replying, failing, dropping, just before that."""

    at: float
    what: str
    name: Name


def asked_lines(lines: Iterable[str]) -> list[Asked]:
    """A last line that was not written to its end is none."""
    return [_asked(line.split()) for line in lines if line.endswith("\n")]


def _asked(words: list[str]) -> Asked:
    at, what, life, number, word, *more = words
    name = (life, int(number))
    if what == "asked":
        to, fate, seconds, limit = more
        return Asked(float(at), what, name, word, to, Task(name, fate, float(seconds)), float(limit))
    if what == "got":
        return Asked(float(at), what, name, word, of=(more[0], int(more[1])))
    return Asked(float(at), what, name, word)


def served_lines(lines: Iterable[str]) -> list[Served]:
    """Likewise what servers have written."""
    split = [line.split() for line in lines if line.endswith("\n")]
    return [Served(float(at), what, (life, int(number))) for at, what, life, number in split]
