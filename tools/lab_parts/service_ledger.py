"""Checks all requests to one address, from the records of clients."""

# Law 1: each request ends once, in time.
# Law 2: a request is begun at most once, unless its sender asked for a retry after a lost server; a gathered
# request is begun at most once by each server.
# Law 3: a request that ends with a code of NOT_RUN was begun by no server.
# Law 4: a reply, or a failure, comes from a server that began this request and produced it; from each server
# at most once.
# Law 5: in the calm at the end each request of a served address has the outcome that its server produced.

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tools.running.service_records import ALL, NOBODY, ONE, RETRIED, TOLD, Asked, Name, Served

WRONG = (
    "no end",
    "two ends",
    "late end",
    "run twice",
    "run though refused",
    "wrong reply",
    "replied twice",
    "not served",
)
NOT_RUN = ("NO_HANDLERS", "EXPIRED", "ADDRESS_FULL", "TOO_MANY_REQUESTS")
MADE = {
    "OK": "replying",
    "NOT_TODAY": "failing",
    "REQUEST_FAILED": "dropping",
}  # by code: record of the server
PATIENT, QUICK = 5.0, 0.1  # s: such patience suffices for such work
SLACK = 5.0  # s by which an end may be late
LATE = 1.0  # s after a timeout for a late begin


@dataclass(frozen=True, slots=True)
class Anomaly:
    """An error of the kind `what` with a request."""

    what: str
    name: Name
    at: float = 0.0


@dataclass(slots=True)
class Book:
    """The records of one address."""

    asked_at: dict[str, str] = field(default_factory=dict)  # nodes of requesters, by process
    served_at: dict[str, str] = field(default_factory=dict)  # nodes of servers
    asked: dict[str, Sequence[Asked]] = field(default_factory=dict)  # in order, by process
    served: dict[str, Sequence[Served]] = field(default_factory=dict)
    killed: set[str] = field(default_factory=set)  # killed requesters
    calm: float = float("inf")  # end of the last fault


@dataclass(slots=True)
class Case:
    """The records of one request."""

    ask: Asked
    ends: list[Asked] = field(default_factory=list)
    replies: list[Asked] = field(default_factory=list)
    began: list[str] = field(default_factory=list)  # servers
    made: set[tuple[str, str]] = field(default_factory=set)  # server, and the outcome that it produced
    late: int = 0  # times begun after its timeout

    def note(self, life: str, event: Served) -> None:
        if event.what == "began":
            self.began.append(life)
            self.late += event.at > self.ask.at + self.ask.limit + LATE
        else:
            self.made.add((life, event.what))

    @property
    def code(self) -> str:
        return self.ends[0].word if self.ends else ""

    @property
    def is_served(self) -> bool:
        return self.ask.to != NOBODY


def cases_of(book: Book) -> dict[Name, Case]:
    found: dict[Name, Case] = {}
    for lines in book.asked.values():
        for line in lines:
            if line.what == "asked":
                found[line.name] = Case(line)
            else:
                case = found[line.name]
                (case.replies if line.what == "got" else case.ends).append(line)
    for life, served in book.served.items():
        for event in served:
            found[event.name].note(life, event)  # requests are recorded before they are sent
    return found


def judged(book: Book) -> list[Anomaly]:
    found: list[Anomaly] = []
    for name, case in cases_of(book).items():
        wrong = [*_ended(case, name[0] in book.killed), *_begun(case), *_replied(case)]
        if case.ask.at >= book.calm:
            wrong += _calm(case)
        found += (Anomaly(what, name, case.ask.at) for what in wrong)
    return found


def _ended(case: Case, is_killed: bool) -> Iterator[str]:
    if not case.ends and not is_killed:
        yield "no end"
    if len(case.ends) > 1:
        yield "two ends"
    if case.ends and case.ask.word != TOLD and case.ends[0].at > case.ask.at + case.ask.limit + SLACK:
        yield "late end"


def _begun(case: Case) -> Iterator[str]:
    times = Counter(case.began)
    if case.ask.word in (ONE, TOLD):
        if times.total() > 1:
            yield "run twice"
        if times and case.code in NOT_RUN:
            yield "run though refused"
    elif case.ask.word == ALL and max(times.values(), default=0) > 1:
        yield "run twice"
    if times and not case.is_served:
        yield "run though refused"


def _replied(case: Case) -> Iterator[str]:
    servers = [reply.word for reply in case.replies]
    for reply in case.replies:
        if reply.of != case.ask.name or (reply.word, "replying") not in case.made:
            yield "wrong reply"
    if len({*servers}) < len(servers) or (len(servers) > 1 and case.ask.word != ALL):
        yield "replied twice"
    made = MADE.get(case.code)
    if made and case.ask.word in (ONE, RETRIED) and made not in {what for _, what in case.made}:
        yield "wrong reply"


def _calm(case: Case) -> Iterator[str]:
    ask, code = case.ask, case.code
    if not case.is_served or not case.ends or ask.task is None:
        return
    if code in ("NO_HANDLERS", "HANDLER_LOST"):
        yield "not served"
    is_due = ask.limit >= PATIENT and ask.task.seconds <= QUICK and ask.task.fate != "drop"
    if is_due and code in ("TIMEOUT", "EXPIRED"):
        yield "not served"
    if is_due and ask.word == ALL and not case.replies and ask.task.fate == "reply":
        yield "not served"
    if ask.word == TOLD and code == "OK" and not case.began:
        yield "not served"


def figures(book: Book) -> dict[str, int]:
    """Return the numbers of requests, of their outcomes, and of requests handled late or at another node."""
    cases = cases_of(book)
    codes = Counter(case.code for case in cases.values() if case.is_served)
    ends = {"OK": "answered", "NOT_TODAY": "failed", "REQUEST_FAILED": "dropped", "TIMEOUT": "timed out"}
    ends |= {"HANDLER_LOST": "handler lost", "NO_HANDLERS": "no handlers"}
    elsewhere = sum(
        book.served_at[life] != book.asked_at[name[0]] for name, case in cases.items() for life in case.began
    )
    return {
        "asked": len(cases),
        **{word: codes[code] for code, word in ends.items()},
        "refused otherwise": sum(n for code, n in codes.items() if code and code not in ends),
        "begun": sum(len(case.began) for case in cases.values()),
        "elsewhere": elsewhere,
        "begun late": sum(case.late for case in cases.values()),
    }
