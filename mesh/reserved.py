"""Reserved names: all that begin with `__sys__`, and the domains of addresses and queues."""

from mesh.errors import PublishRefused
from mesh.names import PUTS, RESERVED, SENDS
from mesh.patterns import SYSTEM
from mesh.values import check_domain

DEAD_LETTERS = f"{SYSTEM}deadMessage"
DEAD = f"{DEAD_LETTERS}/"  # prefix of the keys of dead letters

CONFLICTS = f"{SYSTEM}conflict/"  # prefix of values that lost against another site's
OF_USERS = (DEAD, CONFLICTS)  # prefixes that users may read and erase

MAPS, COUNTERS, LOCKS = "map/", "counter/", "lock/"  # prefixes of the domains in which changes are published
OWN_DOMAINS = (SENDS, PUTS, MAPS, COUNTERS, LOCKS)

# Text published under this key is not a message, but sets the rules of a node (mesh/client/ruling.py).
MASTER = f"{SYSTEM}cluster.node.master"

# Text under this key sets the addresses at which all nodes dial a node.
INFO = f"{SYSTEM}cluster.node.info"

# Headers of dead letters:
OWNER = "dead-owner"  # the CURVE key of the inbox's owner
PRIVATE = "dead-private"  # marks content withheld from others
DEAD_SENDER = "dead-sender"  # the original publisher

OF_MESH = f"/client/{SYSTEM}"  # in the sender's name when a node publishes


def check_free(name: str) -> str:
    """Return the key or domain if it is not reserved. Raises: PublishRefused RESERVED.

    The check is made before sending, because a node would refuse the whole envelope.
    """
    if name.startswith(SYSTEM):
        raise reserved(name)
    return name


def is_own_domain(domain: str) -> bool:
    """Return whether the domain is of addresses, queues or spaces, and so has no rules."""
    return domain.startswith(OWN_DOMAINS)


def check_domain_free(domain: str) -> str:
    """Return the domain if it is valid and not of the mesh. Raises: BadKey, PublishRefused RESERVED."""
    check_free(check_domain(domain))
    if domain == SENDS:
        what = f"The domain {SENDS!r} is reserved for messages to addresses."
        raise PublishRefused(what, hint="Choose another name.", code="RESERVED")
    if domain.startswith(PUTS):
        raise of_queue(domain)
    if is_below_reserved(domain):
        raise of_level(domain)
    return domain


def is_below_reserved(domain: str) -> bool:
    """Return whether the domain is below a level in RESERVED, such as `lock/x`."""
    first, below, _ = domain.partition("/")
    return bool(below) and first in RESERVED


def of_level(domain: str) -> PublishRefused:
    text = f"The domain {domain[:80]!r} is reserved, as is every domain below {domain.partition('/')[0]}/."
    return PublishRefused(text, hint="Choose another name.", code="RESERVED")


def of_queue(domain: str) -> PublishRefused:
    text = f"The domain {domain[:80]!r} is reserved for messages to queues."
    return PublishRefused(
        text, hint="Choose another domain, or put the message into a queue.", code="RESERVED"
    )


def reserved(name: str) -> PublishRefused:
    text = f"{name[:80]!r} begins with {SYSTEM}: only the mesh writes there."
    hint = RULES_ONLY if ruled_node(name) or node_at(name) else "Choose another name."
    return PublishRefused(text, hint=hint, code="RESERVED")


RULES_ONLY = (
    "Change the rules or addresses of one node with `publish` and `erase` of a Python client, and rules with "
    "`mesh rule`, too."
)


def ruled_node(key: object) -> str:
    """Return the node in `__sys__cluster.node.master[heron]`; "" for any other key."""
    return _node_in(key, MASTER)


def node_at(key: object) -> str:
    """Return the node in `__sys__cluster.node.info[heron]`; "" for any other key."""
    return _node_in(key, INFO)


def _node_in(key: object, prefix: str) -> str:
    is_one = isinstance(key, str) and key.startswith(f"{prefix}[") and key.endswith("]")
    return str(key)[len(prefix) + 1 : -1] if is_one else ""
