"""Prints the figures of one experiment at one size as JSON.

python -m tools.benchmarks.growth.point EXPERIMENT SIZE

Each size has its own process, because memory of earlier ones would distort the figures.
"""

import json
import sys
from collections.abc import Callable

from tools.benchmarks.growth import abroad, clients, cores, members, stored, subscriptions, topics, waiting

MEASURES: dict[str, Callable[[int], dict[str, float]]] = {
    "exact subscriptions": subscriptions.exact,
    "pattern subscriptions": subscriptions.pattern,
    "subscriptions abroad": abroad.measured,
    "clients": clients.measured,
    "topics": topics.measured,
    "stored messages": stored.measured,
    "full backlog, newest dropped": waiting.newest,
    "full backlog, oldest dropped": waiting.oldest,
    "letters that wait": waiting.letters,
    "discovery, one of many": members.one_of_many,
    "discovery, simulated": members.convergence,
    "nodes, simulated": cores.measured,
}

if __name__ == "__main__":
    print(json.dumps(MEASURES[sys.argv[1]](int(sys.argv[2]))))
