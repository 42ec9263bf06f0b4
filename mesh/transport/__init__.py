"""ZeroMQ as nodes and clients use it: connections with keys, and messages as lists of frames."""

from mesh.transport.handshakes import NO_KEYS, NO_KEYS_THERE
from mesh.transport.sockets import Key, Sockets

__all__ = ["NO_KEYS", "NO_KEYS_THERE", "Key", "Sockets"]
