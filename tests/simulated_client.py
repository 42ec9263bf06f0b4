"""The simulated client of tools/simulator, and the timing constants of a client's connection, for tests."""

from mesh.client.core.node_connection import PATIENCE as HANDSHAKE
from mesh.client.core.node_connection import PING, SILENCE
from mesh.client.core.node_connection import REDIAL_MAX as REDIAL
from tools.simulator.clients.client import SimClient, client_of
from tools.simulator.clients.kept import Call, Got, Subscription

__all__ = ["HANDSHAKE", "PING", "REDIAL", "SILENCE", "Call", "Got", "SimClient", "Subscription", "client_of"]
