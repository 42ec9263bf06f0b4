"""Templates of lines: the same bytes as those of mesh.snapshots.line, but faster."""

# Law 1: a float is the repr of a rounded one, and 0 or at least 0.0001: there repr and msgspec agree.

from datetime import UTC, datetime
from functools import lru_cache

from mesh.snapshots.line import KINDS
from tools.generating.cast import CLUSTER, SECOND, Machine

SOFTWARE = "heronry 0.1.0"


@lru_cache(maxsize=4096)
def second(at: int) -> str:
    """Return seconds since 1970 as "2026-11-21T09:57:25."."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.")


def moment(at: int) -> str:
    """Return µs since 1970 as "2026-11-21T09:57:25.000001Z"."""
    seconds, rest = divmod(at, SECOND)
    return f"{second(seconds)}{rest:06}Z"


def heads(observer: Machine, boot: int) -> dict[str, str]:
    """Return the beginning of the lines of an observer's boot, by kind; line number and `ts` follow."""
    who = f'"observer":"{observer.name}","observer_uuid":"{observer.uuid}","observer_boot":{boot}'
    return {kind: f'{{"kind":"{kind}","cluster":"{CLUSTER}",{who},"line":' for kind in KINDS}


def about(machine: Machine, boot: int) -> str:
    """Return the fields about the subject of a line; the value of `age` follows."""
    return f'"node":"{machine.name}","uuid":"{machine.uuid}","boot":{boot},"age":'


def state(
    machine: Machine, version: int, wall: int, up: int, busy: float, pending: int, sessions: int, links: int
) -> str:
    """Return the rest of a line with a node state.

    `wall` and `up` are in µs.
    """
    cpu = round(min(100.0, 2 + 96 * busy), 3)
    published = round(machine.capacity * busy, 3)
    free = int(machine.ram * (0.7 - 0.4 * busy))
    return (
        f',"version":{version},"wall":"{moment(wall)}","up":{round(up / SECOND, 3)!r}'
        f',"software":"{SOFTWARE}","cores":{machine.cores},"cpu":{cpu!r},"ram_free":{free}'
        f',"ram_total":{machine.ram},"load":{round(cpu / 100, 4)!r}'
        f',"lag":{round(0.0005 + 0.019 * busy**4, 6)!r},"published":{published!r}'
        f',"delivered":{round(1.7 * published, 3)!r},"pending":{pending},"tailback":0,"stored":{pending}'
        f',"sessions":{sessions},"subscriptions":{2 * sessions},"links":{links}}}'
    )


def event(kind: str, text: str) -> str:
    """Return the rest of a line with an event.

    `text` must not need JSON escapes.
    """
    return f',"event":"{kind}","text":"{text}"}}'


def link(rtt: float, skew: float) -> str:
    return f',"state":"logged in","rtt":{round(rtt, 6)!r},"skew":{round(skew, 3)!r}}}'


def queue(name: str, depth: int, size: int, oldest: float) -> str:
    waits = f',"oldest":{round(oldest, 3)!r}' if depth else ""
    return f',"queue":"{name}","depth":{depth},"bytes":{depth * size}{waits}}}'


def balance(chosen: int, sent: int, asked: int, answered: int, seconds: float) -> str:
    return (
        f',"strategy":"RoundRobin","weight":1.0,"chosen":{chosen},"sent":{sent}'
        f',"asked":{asked},"answered":{answered},"seconds":{round(seconds, 6)!r}}}'
    )


def topic(name: str, domain: str, messages: int, content: int) -> str:
    return f',"topic":"{name}","domain":"{domain}","messages":{messages},"content":{content}}}'


def service(
    address: str, requests: int, replies: int, failed: int, lost: int, seconds: float, p50: float, p99: float
) -> str:
    return (
        f',"sent":0,"seconds":{round(seconds, 6)!r},"address":"{address}","requests":{requests}'
        f',"replies":{replies},"failed":{failed},"lost":{lost},"refused":0,"expired":0'
        f',"p50":{round(p50, 6)!r},"p99":{round(p99, 6)!r}}}'
    )
