"""A line of the snapshots, a JSON object. spark/schema.py reads the same fields.

docs/spark.md describes each field. A new field has a default, so that old lines stay valid. The meaning of a
field never changes.
"""

import msgspec

STATE, EVENT, LINK, QUEUE, BALANCE, TOPIC = "state", "event", "link", "queue", "balance", "topic"
SERVICE = "service"
KINDS = (STATE, EVENT, LINK, QUEUE, BALANCE, TOPIC, SERVICE)


class HistoryLine(msgspec.Struct, omit_defaults=True, kw_only=True, gc=False):
    """A fact, as one node recorded it. Fields that have their default are not written.

    `ts` and `wall` are texts, ISO 8601 in UTC with microseconds. Durations are in seconds.
    """

    kind: str
    cluster: str
    observer: str  # name of the node that wrote the line
    observer_uuid: str  # 32 hexadecimal digits
    observer_boot: int
    # From 1 in each boot of the observer. A missing number is a lost line.
    line: int
    ts: str  # time of writing, by the observer's clock
    node: str  # the subject: state's owner, link's other end, …
    uuid: str = ""
    boot: int | None = None
    age: float | None = None  # since the observer last heard from the node itself

    # state: as the node published it. (uuid, boot, version) is the same for all receivers.
    version: int | None = None
    wall: str | None = None  # time of the state, by its own clock
    up: float | None = None  # since its start
    software: str | None = None
    cores: int | None = None
    cpu: float | None = None  # % in use, of all cores together
    ram_free: int | None = None  # bytes
    ram_total: int | None = None
    load: float | None = None  # 0 idle .. 1 busy
    lag: float | None = None  # delay of its event loop
    published: float | None = None  # messages per second accepted as master
    delivered: float | None = None  # messages per second sent to its clients
    pending: int | None = None  # messages that wait for its subscribers
    tailback: int | None = None  # messages that wait for unreachable masters
    stored: int | None = None  # envelopes on its disk
    sessions: int | None = None
    subscriptions: int | None = None
    links: int | None = None
    # Six figures that are left out when they are 0.
    requested: float | None = None  # requests per second of its clients
    request_p50: float | None = None  # recent median of the time to a reply
    request_p99: float | None = None
    request_failed: float | None = None  # requests per second that failed
    served: float | None = None  # messages per second settled by services and groups
    queued: int | None = None  # messages in its queues
    machine: str | None = None  # same for all nodes of a machine, until it restarts

    # event: as `mesh events` shows it. `event` is its kind, or "started" and "stopped" of the observer.
    event: str | None = None
    text: str | None = None

    # link: the connection of the observer with `node`
    state: str | None = None  # "logged in", "polling", "not allowed", …
    rtt: float | None = None  # round trip
    skew: float | None = None  # lead of `node`'s clock over the observer's

    # queue: a backlog at the observer
    queue: str | None = None  # "queue/jobs", "tailback/heron", "session//node/heron/client/joe/session/1"
    depth: int | None = None  # messages
    bytes: int | None = None
    oldest: float | None = None  # age of the first message
    consumers: int | None = None  # consumers; from here on only for "queue/jobs" etc.
    arrives: float | None = None  # messages per second enqueued
    leaves: float | None = None  # messages per second settled
    dead: int | None = None  # dead-lettered since the observer's start
    redelivered: int | None = None  # redelivered since then
    moved_in: int | None = None  # received from this queue at other nodes since then
    moved_out: int | None = None  # sent to this queue at other nodes since then
    ready: int | None = None  # ready messages of `depth`
    wants: int | None = None  # free credit of its consumers, beyond `ready`

    # balance: messages for the candidate `node`, counted since the observer's start
    strategy: str | None = None
    weight: float | None = None  # in effect for it
    chosen: int | None = None  # times chosen among several
    sent: int | None = None  # messages forwarded to it
    asked: int | None = None  # reads sent to it
    answered: int | None = None  # reads that it answered
    seconds: float | None = None  # total time of these answers

    # topic: messages accepted as the topic's master, counted since the observer's start
    topic: str | None = None
    domain: str | None = None
    messages: int | None = None
    content: int | None = None  # their bytes, including properties

    # service: messages of the observer's clients to an address that `node` serves ("": none), counted since
    # its start. `sent` are messages without a reply, `seconds` the total time of the replies.
    address: str | None = None
    requests: int | None = None
    replies: int | None = None
    failed: int | None = None  # requests that the server failed
    lost: int | None = None  # requests whose server disconnected
    refused: int | None = None  # requests without a consumer
    expired: int | None = None  # requests that timed out
    p50: float | None = None  # median of the time to a reply
    p99: float | None = None  # 99th percentile


encode = msgspec.json.Encoder().encode
