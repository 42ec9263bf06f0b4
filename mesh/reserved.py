"""Which names are the mesh's own? Those that begin with `__sys__`."""

from mesh.errors import PublishRefused
from mesh.names import PUTS, SENDS
from mesh.patterns import SYSTEM
from mesh.values import check_domain

DEAD_LETTERS = f"{SYSTEM}deadMessage"
DEAD = f"{DEAD_LETTERS}/"  # a dead letter is all that is left of a message that somebody was promised

CONFLICTS = f"{SYSTEM}conflict/"  # and under these stands what lost against another site's value of its topic
OF_USERS = (DEAD, CONFLICTS)  # what users wrote is kept there: they read it wherever it is, and take it away

# What is published there is no message, but the rules of a node (mesh/client/ruling.py).
MASTER = f"{SYSTEM}cluster.node.master"

# Headers of dead letters:
OWNER = "dead-owner"  # the key of CURVE whose inbox it was for
PRIVATE = "dead-private"  # of what is shown to others than those
DEAD_SENDER = "dead-sender"  # who published what it was

OF_MESH = f"/client/{SYSTEM}"  # ends the name of the sender of what a node publishes


def check_free(name: str) -> str:
    """The key or domain itself, if it is not the mesh's own. PublishRefused RESERVED, before anything is
    sent: a node would refuse all that is in one envelope with it."""
    if name.startswith(SYSTEM):
        raise reserved(name)
    return name


def is_own_domain(domain: str) -> bool:
    """Does the mesh number there what goes to addresses and queues? Rules say nothing of that."""
    return domain.startswith((SENDS, PUTS))


def check_domain_free(domain: str) -> str:
    """The domain itself, if it can be one, and users may publish there. BadKey, PublishRefused RESERVED."""
    check_free(check_domain(domain))
    if domain == SENDS:
        what = f"in the domain {SENDS} the mesh numbers what is sent to addresses."
        raise PublishRefused(what, hint="Choose another name.", code="RESERVED")
    if domain.startswith(PUTS):
        raise of_queue(domain)
    return domain


def of_queue(domain: str) -> PublishRefused:
    """In the domain of a queue stands what is put into it, and nothing else."""
    text = f"in the domain {domain[:80]!r} the mesh numbers what is put into that queue."
    return PublishRefused(text, hint="Choose another name, or put it into the queue.", code="RESERVED")


def reserved(name: str) -> PublishRefused:
    """Topics and domains of the mesh's own are written by the node that they are of."""
    text = f"{name[:80]!r} begins with {SYSTEM}: only the mesh itself writes there."
    hint = RULES_ONLY if ruled_node(name) else "Choose another name."
    return PublishRefused(text, hint=hint, code="RESERVED")


RULES_ONLY = (
    "Rules are changed by `publish` and `erase` of a Python client, or `mesh rule`, one node at a time."
)


def ruled_node(key: object) -> str:
    """The node whose rules stand in that topic; "" for any other: `__sys__cluster.node.master[heron]`."""
    if isinstance(key, str) and key.startswith(f"{MASTER}[") and key.endswith("]"):
        return key[len(MASTER) + 1 : -1]
    return ""
