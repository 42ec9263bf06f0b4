"""Names of nodes, clients, sites, sessions, addresses, groups, queues and durable subscriptions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from mesh.errors import BadKey, BadName
from mesh.patterns import check_pattern, matches
from mesh.shortening import shown
from mesh.values import LONGEST_KEY, check_domain, check_key

NAME = r"[A-Za-z0-9_.:-]{1,64}"
_NAME = re.compile(NAME)
# A number has one spelling: no plus sign, no leading zero, and never 0.
_SESSION = re.compile(
    r"(?:(?:/site/(?P<site>[^/]+))?(?:/node/(?P<node>[^/]+))?/)?"
    r"client/(?P<client>[^/]+)(?:/session/(?P<session>-?[1-9][0-9]{0,18}))?"
)
# A name as users also write it: without `session/` before the number.
_SHORT = re.compile(r"(?P<client>(?:/.*/)?client/[^/]+)/(?P<session>-?[1-9][0-9]{0,18})")
_LARGEST_SESSION = 2**63 - 1
LONGEST_QUEUE = 200  # characters of a queue's name


def node_name(text: str) -> str:
    """Return `text`, as a plain str, if it is a valid name of a node, client or site. Raises: BadName.

    Subclasses of str, such as numpy's, could not be stored.
    """
    try:
        if _NAME.fullmatch(text) is not None:
            return str.__str__(text)
    except TypeError:
        hint = 'Write a name such as "joe".'
        raise BadName(f"A name must be a str, not {shown(text)}.", hint=hint) from None
    raise BadName(
        f"{shown(text)} is not a name.", hint="A name has 1 to 64 of the characters A-Z a-z 0-9 _ . : and -"
    )


def is_node_name(text: str) -> bool:
    """Return whether `text` is a valid name of a node, client or site."""
    try:
        return bool(node_name(text))
    except BadName:
        return False


@dataclass(frozen=True, slots=True)
class SessionName:
    """A client, or one of its sessions: `client/joe`, `/node/heron/client/joe/session/-3`.

    A positive session number was chosen by the client, a negative one was generated, and None means the whole
    client. In another site, the client may be connected at any node. Raises: BadName for an invalid part.
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
                f"Client {self.client!r} cannot have session {self.session}.",
                hint="Fixed sessions are numbered from 1, generated ones from -1, to at most ±(2**63-1).",
            )

    @classmethod
    def parse(cls, text: str) -> "SessionName":
        """Parse the canonical text, the inverse of `str()`. Raises: BadName."""
        found = _SESSION.fullmatch(text)
        if found is None or (text[0] == "/" and not (found["site"] or found["node"])):
            raise BadName(
                f"{text[:80]!r} is not the name of a client or session.",
                hint="Write client/NAME, client/NAME/1 or /node/NODE/client/NAME/1, "
                "with /site/SITE before /node for another site; session 0 does not exist.",
            )
        session = found["session"]
        return cls(found["client"], int(session) if session else None, found["node"], found["site"])

    @classmethod
    def typed(cls, text: str) -> "SessionName":
        """Parse a name as users write it: also `client/joe/1` for `client/joe/session/1`. Raises: BadName."""
        short = None if _SESSION.fullmatch(text) else _SHORT.fullmatch(text)
        return cls.parse(f"{short['client']}/session/{short['session']}" if short else text)

    @property
    def session_is_generated(self) -> bool:
        return self.session is not None and self.session < 0

    @property
    def is_absolute(self) -> bool:
        return self.node is not None

    def at(self, node: str) -> "SessionName":
        return replace(self, node=node)

    def of_all_sessions(self) -> "SessionName":
        return replace(self, session=None)

    def __str__(self) -> str:
        site = f"/site/{self.site}" if self.site else ""
        node = f"/node/{self.node}" if self.node else ""
        slash = "/" if site or node else ""
        session = f"/session/{self.session}" if self.session else ""
        return f"{site}{node}{slash}client/{self.client}{session}"


DEFAULT_NAME = "with a default name"  # in the error for a client whose user chose no name
OTHERS = "/site/"  # prefix of sessions and addresses of other sites
CLIENT, ADDRESS, QUEUE = "client", "address", "queue"  # kinds of destinations
SENDS = "address/"  # the domain of messages to addresses
PUTS = "queue/"  # prefix of a queue's destination and domain
SUBS = "sub/"  # prefix of a durable subscription's queue
# The first levels that are reserved in addresses and domains.
RESERVED = frozenset(("address", "counter", "lock", "map", "node", "queue", "site", "sub"))


def kind_of(destination: str) -> str:
    """Return the kind of a destination by its first levels: ADDRESS unless they name another kind."""
    if destination.startswith(PUTS):
        return QUEUE
    if destination.startswith(OTHERS):
        return CLIENT if destination.split("/", 4)[3:4] in (["node"], [CLIENT], []) else ADDRESS
    return CLIENT if destination.startswith(("client/", "/")) else ADDRESS


def check_group(text: str) -> tuple[str, str, str]:
    """Return the group, domain and pattern in a group's name. Raises: BadName, BadKey, BadQuery."""
    group, *rest = text.split("\n", 2)
    if len(rest) < 2:
        what = f"{text[:80]!r} is not the name of a group of subscribers."
        raise BadName(what, hint="A group needs a name, a domain and a pattern.")
    if len(text) > LONGEST_KEY:
        what = f"The group {group[:80]!r} has {len(text) - 2} characters with its domain and pattern."
        raise BadName(what, hint=f"The limit is {LONGEST_KEY - 2}.")
    return node_name(group), check_domain(rest[0]), check_pattern(rest[1])


def group_name(group: str, domain: str, pattern: str) -> str:
    """Return the name of a group for a domain and pattern. Raises: BadName, BadKey, BadQuery."""
    name = f"{node_name(group)}\n{domain}\n{pattern}"
    check_group(name)
    return name


def is_group(text: str) -> bool:
    """Return whether the text names a group, and not an address."""
    return "\n" in text


def address_text(text: str) -> str:
    """Return an address, or a group with its query, as error texts name it: a group's name has line ends."""
    group, *rest = text.split("\n", 2)
    if len(rest) < 2:
        return text
    return f"the group {group} for {rest[1]!r}" + (f" in the domain {rest[0]!r}" if rest[0] else "")


def check_address(text: str) -> str:
    """Return the address if it can be served, such as `calc/add`. Raises: BadName."""
    return _levels(text, "address", "calc/add", "Use a single address")


def check_asked(text: str) -> str:
    """Return the address if requests can be sent to it, in this or another site. Raises: BadName."""
    if not (isinstance(text, str) and text.startswith(OTHERS)):
        return check_address(text)
    site, _, address = text.removeprefix(OTHERS).partition("/")
    node_name(site)
    check_address(address)
    if len(text) > LONGEST_KEY:  # the destination is sent with its prefix
        hint = f"The limit is {LONGEST_KEY}, so {LONGEST_KEY - len(text) + len(address)} after the site."
        raise BadName(f"{text[:80]!r}... has {len(text)} characters.", hint=hint)
    return str.__str__(text)


def check_queue(text: str) -> str:
    """Return the name if a queue can have it, such as `orders/new`. Raises: BadName."""
    return _levels(text, "name of a queue", "orders/new", "Use a single queue", LONGEST_QUEUE)


def check_durable(text: str) -> str:
    """Return the name if a durable subscription can have it. Raises: BadName."""
    what, longest = "name of a durable subscription", LONGEST_QUEUE - len(SUBS)
    return _levels(text, what, "audit", "Use a single subscription", longest)


def store_of(queue: str, stores: Iterable[tuple[str, str]]) -> str:
    """Return the store of a queue, by the first pattern that matches; "" means the node's own store.

    Only patterns that begin with SUBS apply to the queues of durable subscriptions.
    """
    is_sub = queue.startswith(SUBS)
    fit = (
        store for pattern, store in stores if pattern.startswith(SUBS) == is_sub and matches(pattern, queue)
    )
    return next(fit, "")


def check_taken(text: str) -> str:
    """Return the name if it can name a queue for consumers. Raises: BadName.

    Unlike `check_queue` this accepts the queues of durable subscriptions, which clients consume but do not
    fill.
    """
    if isinstance(text, str) and text.startswith(SUBS):
        return SUBS + check_durable(text.removeprefix(SUBS))
    return check_queue(text)


@lru_cache(maxsize=1024)
def taken_of(destination: str) -> str:
    """Return the queue's name in `queue/NAME`, for a consumer. Raises: BadName."""
    if kind_of(destination) != QUEUE:
        raise BadName(f"{destination[:80]!r} is not a queue.", hint="Write it as queue/NAME.")
    return check_taken(destination.removeprefix(PUTS))


@lru_cache(maxsize=1024)  # few distinct queues; errors are not cached
def queue_of(destination: str) -> str:
    """Return the queue's name in `queue/NAME`. Raises: BadName, also for a durable subscription."""
    if kind_of(destination) != QUEUE:
        raise BadName(f"{destination[:80]!r} is not a queue.", hint="Write it as queue/NAME.")
    return check_queue(destination.removeprefix(PUTS))


def _levels(text: str, what: str, example: str, single: str, longest: int = LONGEST_KEY) -> str:
    if text == "":
        raise BadName(f"The {what} is empty.", hint=f"Write a name such as {example}.")
    if isinstance(text, str) and len(text) > longest:
        raise BadName(
            f"The {what} {text[:40]!r}... has {len(text)} characters.", hint=f"The limit is {longest}."
        )
    called = f"an {what}" if what == "address" else f"the {what}"
    try:
        name = check_key(text)
    except BadKey as error:
        if isinstance(text, str) and not {"+", "#"}.isdisjoint(text.split("/")):
            hint = f"{single}, such as {example}."
            raise BadName(f"{text[:80]!r} is a pattern, not {called}.", hint=hint) from None
        raise BadName(error.what.replace("key", what, 1), hint=error.hint) from None
    first = name.split("/", 1)[0]
    if first in ("", CLIENT, *RESERVED) or first.startswith("__sys__"):
        hint = f"Choose another first level, such as {example}."
        why = (
            f"the first level {first[:80]!r} is reserved for the mesh"
            if first
            else "its first level is empty"
        )
        raise BadName(f"{name[:80]!r} cannot be {called}: {why}.", hint=hint)
    return name
