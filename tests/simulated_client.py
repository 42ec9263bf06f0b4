"""A client in the simulated mesh, for tests: see tools/simulating."""

from tools.simulating.client import (
    HANDSHAKE,
    PING,
    REDIAL,
    SILENCE,
    Call,
    Got,
    SimClient,
    Subscription,
    client_of,
)

__all__ = [
    "HANDSHAKE", "PING", "REDIAL", "SILENCE", "Call", "Got", "SimClient", "Subscription", "client_of",
]  # fmt: skip
