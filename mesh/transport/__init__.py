"""ZeroMQ as nodes and clients use it: connections with keys, and messages as lists of frames."""

from mesh.transport.handshakes import NO_KEYS, NO_KEYS_THERE
from mesh.transport.inbound import Key
from mesh.transport.sockets import Sockets

__all__ = ["NO_KEYS", "NO_KEYS_THERE", "Key", "Sockets"]
