"""One connection as the core sees it: what it is for, and how far its handshake has come."""

from dataclasses import dataclass

from mesh.core.effects import ConnKey

ONLY_READS = "a monitor reads, and changes nothing."
NODE, CLIENT, MONITOR = "node", "client", "monitor"  # what somebody may be, by the secret that it proves


@dataclass(slots=True, eq=False)
class Conn:
    """`endpoint` is the address dialled, or the one that was bound and dialled by the other side."""

    key: ConnKey
    dialled: bool
    trusted: bool  # came through a socket that only this user can open
    endpoint: str
    opened: float
    heard: float
    role: str = ""
    nonce: bytes = b""  # ours
    owner: bytes = b""  # at the other end: uuid of the node, or stream id of the client
    seed: str = ""  # dialled because of this seed address
    resume: int = 0  # how far the other end has our items, from its greeting
    is_open: bool = False  # the handshake is done
    closed: bool = False
    user: str = ""  # public CURVE key (Z85) of who dialled us, vouched for by ZeroMQ
    grant: str = ""  # with whose secret it came in: NODE, CLIENT or MONITOR; "" = not yet, or we dialled

    @property
    def may_write(self) -> bool:
        """A monitor reads, and changes nothing."""
        return self.grant != MONITOR
