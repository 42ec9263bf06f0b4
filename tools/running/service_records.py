"""The records of programs that request and serve addresses while programs are killed."""

from collections.abc import Iterable
from dataclasses import dataclass

Name = tuple[str, int]  # requester process, and request number

# Kinds of requests: one reply; one reply with a retry after a lost server; no reply but an answer; a reply of
# each server.
ONE, RETRIED, TOLD, ALL = "one", "retried", "told", "all"
NOBODY = "nobody/here"  # an address without servers


@dataclass(frozen=True, slots=True)
class Task:
    """A request, as its content describes it for its server and for the checks.

    `fate` is the action of its server: reply, fail or drop. `seconds` is the time to work on it.
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
    """A line of a requester.

    `what` is asked, got (one reply) or ended. `word` is the kind of request, the server that a reply names,
    or a code. A line "asked" also has the address, the task, and the timeout in s. A line "got" has the
    request that the reply answers.
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
    """A line of a server: the start of a request, or an action that ends it.

    `what` is began, replying, failing or dropping. The last three are written just before the action.
    """

    at: float
    what: str
    name: Name


def asked_lines(lines: Iterable[str]) -> list[Asked]:
    """Parse the lines of a requester.

    An incomplete last line is ignored.
    """
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
    """Parse the lines of a server.

    An incomplete last line is ignored.
    """
    split = [line.split() for line in lines if line.endswith("\n")]
    return [Served(float(at), what, (life, int(number))) for at, what, life, number in split]
