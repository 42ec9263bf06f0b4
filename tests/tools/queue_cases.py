"""Histories of queues that keep each promise, and some that break it."""

from dataclasses import replace

from tools.simulator.checks.facts import Facts
from tools.simulator.history import Event

S, JOBS = "5" * 32, "queue/jobs"
FACTS = Facts(("a", "b"), {"": ()})
ANN, BOB = "/node/a/client/ann/session/1", "/node/a/client/bob/session/1"
INFO = "ready 1 out 0 delayed 0 bytes {} consumers 1"


def put(number: int = 1, at: float = 3.0, flags: str = "p") -> Event:
    return Event(at, "put", "joe", stream=S, domain=JOBS, first=number, flags=flags, keys=("", "x"))


def put_said(text: str = "OK", at: float = 3.1) -> Event:
    return Event(at, "put said", "joe", stream=S, domain=JOBS, first=1, text=text)


def takes(to: str = ANN, at: float = 2.0, flags: str = "", lease: int = 0, selector: str = "") -> Event:
    return Event(at, "takes", "a", 1, domain=JOBS, sub=1, to=to, flags=flags, stamp=lease, text=selector)


def gives(number: int = 1, at: float = 4.0, to: str = ANN, tries: int = 0, boot: int = 1) -> Event:
    return Event(
        at, "gives", "a", boot, stream=S, domain=JOBS, first=number, sub=1, to=to, gap=tries, keys=("",)
    )


def tells(kind: str, text: str = "", at: float = 4.1, who: str = ANN) -> Event:
    """Return the event that a client began a job, settled it, or learned that this is stored."""
    return Event(at, kind, "ann", stream=S, domain=JOBS, first=1, sub=1, text=text, keys=(who,))


def opened(who: str = BOB, at: float = 8.0) -> Event:
    """Return the event that a client has opened the job."""
    return Event(at, "opened", "bob", domain=JOBS, sub=1, keys=(who, f"{S} {JOBS} 1"))


def there(*numbers: int, at: float = 5.0) -> Event:
    """Return all messages that are at any node, or in transit."""
    return Event(at, "there", "", keys=tuple(f"{S} {JOBS} {number}" for number in numbers))


def comes(at: float, who: str = "b", boot: int = 1) -> Event:
    return Event(at, "comes", who, boot, stream=S, domain=JOBS, first=1, gap=1)


def goes(at: float, who: str = "b", flags: str = "w", boot: int = 1) -> Event:
    """Return the event that a message moves by itself. The flag w means that a consumer there wants it."""
    return Event(at, "goes", who, boot, stream=S, domain=JOBS, first=1, text="later", flags=flags)


DOUBLED = Event(5.0, "doubled", "", stream=S, domain=JOBS, first=1, text="a, b")
CRASH, START = Event(5.0, "crash", "a"), Event(6.0, "start", "a")
OF_G = [replace(put(n, 3.0 + n / 10), keys=("5 0 g", "x")) for n in (1, 2)]
ACKED, SETTLED, BEGAN = tells("says", "ack"), tells("settled", "ack", 4.2), tells("began")

QUEUES: dict[str, tuple[Facts, tuple[Event, ...], tuple[Event, ...]]] = {
    "Q1": (FACTS, (put(), put_said(), there(1), ACKED, there(at=6.0)), (put(), put_said(), there(at=6.0))),
    "Q2": (FACTS, (put(), put_said(), gives(), ACKED), (put(), put_said(), gives())),
    "Q3": (
        FACTS,
        (put(), takes(), takes(BOB), gives(), ACKED, gives(to=BOB, at=5.0)),
        (put(), takes(), takes(BOB), gives(), gives(to=BOB, at=5.0)),
    ),
    "Q4": (FACTS, (put(), gives(), SETTLED, CRASH), (put(), gives(), SETTLED, CRASH, gives(at=7.0, boot=2))),
    "Q5": (
        FACTS,
        (put(), gives(), BEGAN, CRASH, gives(at=7.0, tries=1, boot=2)),
        (put(), gives(), BEGAN, CRASH, gives(at=7.0, boot=2)),
    ),
    "Q6": (
        FACTS,
        (put(), put(2), gives(), gives(2, 5.0), gives(1, 6.0, tries=1)),
        (put(), put(2), gives(2), gives(1, 5.0)),
    ),
    "Q7": (
        FACTS,
        (Event(9.0, "left", "a", text="messages in queues"),),
        (Event(9.0, "left", "a", text="messages in queues", stamp=1),),
    ),
    "Q8": (FACTS, (comes(10.0), goes(40.1)), (comes(10.0), goes(39.0))),
    "Q9": (
        FACTS,
        (put(), Event(4.0, "queue info", "joe", domain=JOBS, text=INFO.format(9))),
        (put(), Event(4.0, "queue info", "joe", domain=JOBS, text=INFO.format(0))),
    ),
    "Q10": (
        FACTS,
        (put(), takes(selector="kind == 'x'"), gives(), BEGAN),
        (put(), takes(selector="kind != 'x'"), gives(), BEGAN),
    ),
    "Q11": (FACTS, (*OF_G, gives(1, 5.0), gives(2, 5.1)), (*OF_G, gives(2, 5.0), gives(1, 5.1))),
}
