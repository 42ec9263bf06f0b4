"""Answers of a node to the verbs that list rows."""

from typing import Any

from tests.simulated_client import client_of
from tests.simulation import SimNode


def rows(node: SimNode, verb: str = "ls", what: str = "nodes", **arguments: Any) -> list[dict[str, Any]]:
    """Return the rows that a new client of the node reads."""
    client = client_of(node).connected()
    found: list[dict[str, Any]] = client.call(verb, **arguments)[what]
    client.close()
    return found
