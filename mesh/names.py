"""What is it called? Names of nodes, clients, sites and sessions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from mesh.errors import BadKey, BadName, shown
from mesh.patterns import check_pattern, matches
from mesh.values import LONGEST_KEY, check_domain, check_key

NAME = r"[A-Za-z0-9_.:-]{1,64}"
_NAME = re.compile(NAME)
# One spelling a number: no plus sign, no leading zero, and never 0.
_SESSION = re.compile(
    r"(?:(?:/site/(?P<site>[^/]+))?/node/(?P<node>[^/]+)/)?"
    r"client/(?P<client>[^/]+)(?:/session/(?P<session>-?[1-9][0-9]{0,18}))?"
)
_LARGEST_SESSION = 2**63 - 1
LONGEST_QUEUE = 200  # characters of its name


def node_name(text: str) -> str:
    """The name, if it keeps the grammar for nodes, clients and sites; else BadName.

    As a bare str: one of a class of its own, such as numpy's, could not be written down.
    """
    try:
        if _NAME.fullmatch(text) is not None:
            return str.__str__(text)
    except TypeError:  # no str
        pass
    raise BadName(
        f"{shown(text)} is not a name.", hint="A name is 1 to 64 of the characters A-Z a-z 0-9 _ . : and -"
    )


@dataclass(frozen=True, slots=True)
class SessionName:
    """A client, or one session of it: `client/joe`, `/node/heron/client/joe/session/-3`.

    A positive session is well-known, a negative one was generated; None means the client as a whole.
    A site goes with a node only. Raises BadName when a part breaks the grammar.
    """

    client: str
    session: int | None = None
    node: str | None = None
    site: str | None = None

    def __post_init__(self) -> None:
        for part in (self.client, self.node, self.site):
            if part is not None:
                node_name(part)
        if self.session is not None and not 1 <= abs(self.session) <= _LARGEST_SESSION:
            raise BadName(
                f"session {self.session} of client {self.client!r} is not a session number.",
                hint="Well-known sessions count from 1 up, generated ones from -1 down.",
            )
        if self.site is not None and self.node is None:
            raise BadName(
                f"client {self.client!r} names the site {self.site!r} but no node.",
                hint=f"Write /site/{self.site}/node/NAME/client/{self.client}",
            )

    @classmethod
    def parse(cls, text: str) -> "SessionName":
        """Read the canonical text; the only inverse of `str()`."""
        found = _SESSION.fullmatch(text)
        if found is None:
            raise BadName(
                f"{text[:80]!r} is not the name of a client or session.",
                hint="Write client/NAME, client/NAME/session/1 or /node/NODE/client/NAME/session/1, "
                "with /site/SITE before /node for another site; session 0 does not exist.",
            )
        session = found["session"]
        return cls(found["client"], int(session) if session else None, found["node"], found["site"])

    @property
    def session_is_generated(self) -> bool:
        """Was its number given by a node, so that nobody has it twice?"""
        return self.session is not None and self.session < 0

    @property
    def is_absolute(self) -> bool:
        """Does the name say on which node?"""
        return self.node is not None

    def at(self, node: str) -> "SessionName":
        """The same client or session at `node`: an absolute name."""
        return replace(self, node=node)

    def of_all_sessions(self) -> "SessionName":
        """The client as a whole."""
        return replace(self, session=None)

    def __str__(self) -> str:
        site = f"/site/{self.site}" if self.site else ""
        node = f"/node/{self.node}/" if self.node else ""
        session = f"/session/{self.session}" if self.session else ""
        return f"{site}{node}client/{self.client}{session}"


OTHERS = "/site/"  # begins the names of sessions and addresses of other sites
CLIENT, ADDRESS, QUEUE = "client", "address", "queue"  # kinds of destinations
SENDS = "address/"  # the domain in which sends to addresses are numbered
PUTS = "queue/"  # begins a queue as a destination; the domain of what goes there is called like that, too
SUBS = "sub/"  # begins the queue of a durable subscription
# First levels of addresses and domains that are the mesh's own.
RESERVED = frozenset(("address", "counter", "lock", "map", "node", "queue", "site", "sub"))


def kind_of(destination: str) -> str:
    """The kind of a destination, at a glance: what is no client and no queue is an address."""
    if destination.startswith(PUTS):
        return QUEUE
    if destination.startswith(OTHERS):
        return CLIENT if destination.split("/", 4)[3:4] in (["node"], [CLIENT], []) else ADDRESS
    return CLIENT if destination.startswith(("client/", "/")) else ADDRESS


def check_group(text: str) -> tuple[str, str, str]:
    """(group, domain, pattern) of the name of a group; BadName, BadKey or BadQuery for what can be none."""
    group, *rest = text.split("\n", 2)
    if len(rest) < 2 or len(text) > LONGEST_KEY:
        raise BadName(
            f"{text[:80]!r} is not the name of a group of subscribers.",
            hint=f"It has a name, a domain and a pattern, {LONGEST_KEY} characters together.",
        )
    return node_name(group), check_domain(rest[0]), check_pattern(rest[1])


def group_name(group: str, domain: str, pattern: str) -> str:
    """The name of a group of those who subscribe to the same; BadName, BadKey or BadQuery."""
    name = f"{node_name(group)}\n{domain}\n{pattern}"
    check_group(name)
    return name


def is_group(text: str) -> bool:
    """Is it the name of a group, and no address?"""
    return "\n" in text


def check_address(text: str) -> str:
    """The address itself, if somebody may serve it; else BadName. It is like a key: `calc/add`."""
    return _levels(text, "address", "calc/add", "One serves or asks a single address")


def check_asked(text: str) -> str:
    """The address itself, if something may be sent to it, in this site or another; else BadName."""
    if not (isinstance(text, str) and text.startswith(OTHERS)):
        return check_address(text)
    site, _, address = text.removeprefix(OTHERS).partition("/")
    node_name(site)
    check_address(address)
    if len(text) > LONGEST_KEY:  # a destination travels whole
        hint = (
            f"At most {LONGEST_KEY} are allowed, so {LONGEST_KEY - len(text) + len(address)} behind the site."
        )
        raise BadName(f"{text[:80]!r}... has {len(text)} characters.", hint=hint)
    return str.__str__(text)


def check_queue(text: str) -> str:
    """The name itself, if a queue may have it; else BadName. It is like a key: `orders/new`."""
    name = _levels(text, "name of a queue", "orders/new", "One uses a single queue")
    if len(name) > LONGEST_QUEUE:
        hint = f"At most {LONGEST_QUEUE} are allowed."
        raise BadName(f"The name of a queue {name[:40]!r}... has {len(name)} characters.", hint=hint)
    return name


def check_durable(text: str) -> str:
    """The name itself, if a durable subscription may have it; else BadName. It is like that of a queue."""
    name = _levels(text, "name of a durable subscription", "audit", "One names a single subscription")
    if len(name) > LONGEST_QUEUE - len(SUBS):
        what = f"The name of a durable subscription {name[:40]!r}... has {len(name)} characters."
        raise BadName(what, hint=f"At most {LONGEST_QUEUE - len(SUBS)} are allowed.")
    return name


def store_of(queue: str, stores: Iterable[tuple[str, str]]) -> str:
    """The store of a queue at a node, by patterns of which the first counts; "": the node's own, as for those
    of durable subscriptions, into which something comes with a commit of the node's own."""
    if queue.startswith(SUBS):
        return ""
    return next((store for pattern, store in stores if matches(pattern, queue)), "")


def check_taken(text: str) -> str:
    """The name itself, if a queue may have it from which somebody takes; else BadName. Nobody puts into those
    of durable subscriptions."""
    if isinstance(text, str) and text.startswith(SUBS):
        return SUBS + check_durable(text.removeprefix(SUBS))
    return check_queue(text)


@lru_cache(maxsize=1024)
def taken_of(destination: str) -> str:
    """The name of the queue from which somebody takes who says `queue/NAME`; BadName."""
    if kind_of(destination) != QUEUE:
        raise BadName(f"{destination[:80]!r} is no queue.", hint="One is written queue/NAME.")
    return check_taken(destination.removeprefix(PUTS))


@lru_cache(maxsize=1024)  # there are few; what is refused is not kept
def queue_of(destination: str) -> str:
    """The name of the queue that is meant by `queue/NAME`; BadName for any other destination."""
    if kind_of(destination) != QUEUE:
        raise BadName(f"{destination[:80]!r} is no queue.", hint="One is written queue/NAME.")
    return check_queue(destination.removeprefix(PUTS))


def _levels(text: str, what: str, example: str, single: str) -> str:
    """A name with levels, whose first one is not the mesh's own; else BadName."""
    if text == "":
        raise BadName(f"the {what} is empty.", hint=f"It is text with levels, such as {example}.")
    try:
        name = check_key(text)
    except BadKey as error:
        if isinstance(text, str) and not {"+", "#"}.isdisjoint(text.split("/")):
            hint = f"{single}, such as {example}."
            raise BadName(f"{text[:80]!r} is a pattern, and no {what}.", hint=hint) from None
        raise BadName(error.what.replace("key", what, 1), hint=error.hint) from None
    first = name.split("/", 1)[0]
    if first in ("", CLIENT, *RESERVED) or first.startswith("__sys__"):
        hint = f"Choose another first level, such as {example}."
        raise BadName(f"{name[:80]!r} is no {what}: names of that kind are the mesh's own.", hint=hint)
    return name
