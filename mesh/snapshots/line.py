"""What is one line of the snapshots? A JSON object; spark/schema.py reads the same fields.

docs/spark.md says what each means. A field added later is one more with a default, so that old lines stay
right; what a field means never changes.
"""

import msgspec

STATE, EVENT, LINK, QUEUE, BALANCE, TOPIC = "state", "event", "link", "queue", "balance", "topic"
SERVICE = "service"
KINDS = (STATE, EVENT, LINK, QUEUE, BALANCE, TOPIC, SERVICE)


class HistoryLine(msgspec.Struct, omit_defaults=True, kw_only=True, gc=False):
    """One fact, as one node wrote it down. What is None is not written.

    `ts` and `wall` are texts, ISO 8601 in UTC with microseconds. Durations are in seconds.
    """

    kind: str
    cluster: str
    observer: str  # name of the node that wrote it,
    observer_uuid: str  # 32 hexadecimal digits
    observer_boot: int
    line: int  # from 1 in each boot of the observer; a number that is missing is a line that was lost
    ts: str  # when it was written, by the observer's clock
    node: str  # whom it is about: the state's owner, the other end of the link, the candidate, …
    uuid: str = ""
    boot: int | None = None
    age: float | None = None  # since the observer last heard from that node itself

    # state: what the node said of itself. (uuid, boot, version) is the same for everybody who heard it.
    version: int | None = None
    wall: str | None = None  # when it said so, by its own clock
    up: float | None = None  # since its start
    software: str | None = None
    cores: int | None = None
    cpu: float | None = None  # % used, of all cores together
    ram_free: int | None = None  # bytes
    ram_total: int | None = None
    load: float | None = None  # 0 idle .. 1 busy
    lag: float | None = None  # how late its loop comes to its work
    published: float | None = None  # messages a second that it took as their master,
    delivered: float | None = None  # and that went to its clients
    pending: int | None = None  # messages that wait for its subscribers,
    tailback: int | None = None  # and for masters that are away
    stored: int | None = None  # envelopes on its disk
    sessions: int | None = None
    subscriptions: int | None = None
    links: int | None = None
    requested: float | None = (
        None  # requests a second of its clients; these six are left out when they are 0,
    )
    request_p50: float | None = None  # how long their replies took of late,
    request_p99: float | None = None
    request_failed: float | None = None  # and those a second that failed
    served: float | None = None  # messages a second with which servers and members of groups there were done
    queued: int | None = None  # messages in queues there
    machine: str | None = None  # the same for all nodes of one machine, until that starts anew

    # event: what `mesh events` shows; `event` is its kind, or "started" and "stopped" of the observer itself
    event: str | None = None
    text: str | None = None

    # link: what connects the observer with `node`
    state: str | None = None  # "logged in", "polling", "not allowed", …
    rtt: float | None = None  # round trip
    skew: float | None = None  # how far `node`'s clock is ahead of the observer's

    # queue: what waits at the observer
    queue: str | None = None  # "queue/jobs", "tailback/heron", "session//node/heron/client/joe/session/1"
    depth: int | None = None  # messages
    bytes: int | None = None
    oldest: float | None = None  # how long the first of them waits
    consumers: int | None = None  # that take from it; this and all below only of "queue/jobs" and its like:
    arrives: float | None = None  # messages a second that are put into it,
    leaves: float | None = None  # and that are done,
    dead: int | None = None  # and counted since the observer's start: those that it gave up,
    redelivered: int | None = None  # those that were given out in vain,
    moved_in: int | None = None  # those that came from that queue at other nodes,
    moved_out: int | None = None  # and those that went there
    ready: int | None = None  # those of `depth` that could be given out now
    wants: int | None = None  # messages that its consumers have room for, beyond these

    # balance: what the observer gave to the candidate `node`, counted since the observer's start
    strategy: str | None = None
    weight: float | None = None  # that is in force for it
    chosen: int | None = None  # times that it was chosen among several
    sent: int | None = None  # messages forwarded to it
    asked: int | None = None  # questions put to it,
    answered: int | None = None  # those that it answered,
    seconds: float | None = None  # and how long these took, all together

    # topic: what the observer took as the master of a topic, counted since its start
    topic: str | None = None
    domain: str | None = None
    messages: int | None = None
    content: int | None = None  # bytes of them, with their own properties

    # service: what clients of the observer sent to an address that `node` serves ("": nobody), counted since
    # its start; and with `sent`, messages that want no reply, and `seconds`, how long the replies took
    address: str | None = None
    requests: int | None = None
    replies: int | None = None
    failed: int | None = None  # requests that whoever had them could not do,
    lost: int | None = None  # whose server has gone meanwhile,
    refused: int | None = None  # that nobody took,
    expired: int | None = None  # or whose time was over
    p50: float | None = None  # s within which half of the replies came since the line before,
    p99: float | None = None  # and 99 of 100


encode = msgspec.json.Encoder().encode
