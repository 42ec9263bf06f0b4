"""A client in the simulated mesh, for tests: see tools/simulating."""

from tools.simulating.clients.client import SimClient, client_of
from tools.simulating.clients.kept import Call, Got, Subscription
from tools.simulating.clients.line import HANDSHAKE, PING, REDIAL, SILENCE

__all__ = ["HANDSHAKE", "PING", "REDIAL", "SILENCE", "Call", "Got", "SimClient", "Subscription", "client_of"]
