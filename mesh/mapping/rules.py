"""What does a rule say of a node?"""

from dataclasses import dataclass

ANY_DOMAIN = "*"  # as a rule's domain: every named one


@dataclass(frozen=True, slots=True)
class Rule:
    """`node` is master (stratum 0), or a way to the master (1 and more), of domains and of single keys.

    A domain is a name, `*` for any, or "" for messages without one. `refid` names the node one stratum
    closer to the master. The two `accept_` settings count under default-scope "local" only.
    """

    node: str
    stratum: int = 0
    domains: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    refid: str = ""
    accept_default: bool = True  # take the messages without domain of its own clients
    accept_other_default: bool = False  # and those of other nodes' clients
