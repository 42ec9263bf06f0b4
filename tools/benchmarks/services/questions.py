"""The cases of requests, and the names of their figures and ratios."""

from dataclasses import dataclass

from tools.benchmarks.services.asking import Asking
from tools.benchmarks.services.callers import MOST

WORK = 0.002  # s of work per request, in some cases
RATE = 200  # requests per second on a schedule


@dataclass(frozen=True, slots=True)
class Question:
    """A case of requests.

    `share` is the part of the requests of a run that this case sends. `work` is the time that each server
    needs for a request, in s.
    """

    what: str
    parallel: int = 1
    rate: int = 0
    share: float = 1.0
    servers: int = 1
    work: float = 0.0

    @property
    def unit(self) -> str:
        return "ms" if self.rate else "req/s"

    def asking(self, name: str, requests: int, seconds: int) -> Asking:
        count = seconds * self.rate if self.rate else max(self.parallel, int(requests * self.share))
        return Asking(name, count, self.parallel, self.rate)


QUESTIONS = {
    "1 in flight": Question("1 in flight", share=0.1),
    "16 in flight": Question("16 in flight", 16),
    "256 in flight": Question("256 in flight", 256),
    "200/s": Question("a lone request at 200/s, median", rate=RATE),
    "1 server": Question("1 server of 2 ms a request", 64, share=0.05, work=WORK),
    "4 servers": Question("4 servers of 2 ms a request", 64, share=0.2, servers=MOST, work=WORK),
}
THEIRS = ("nats-py", "zenoh-py", "zenoh-peer-py", "grpc-py")
PEER_OF = {"zenoh-peer-py": "heronry, own nodes", "grpc-py": "heronry, own nodes"}  # peers without a broker
BALANCERS = (
    "RoundRobin",
    "WeightedRoundRobin",
    "TwoChoices",
    "LeastLoaded",
    "ThresholdLoaded",
    "LeastMemory",
    "LocalFirst",
)
# The costs of many registrations: unit and description.
REGISTERED = {
    "registered, bytes": ("bytes", "a registration: told to four nodes and five watchers, bytes"),
    "registered, memory": ("bytes", "a registration: memory of five nodes"),
    "registered, cpu": ("µs", "a registration: CPU of five nodes"),
    "registered, told": ("s", "until all who watch know all, simulated"),
    "changes, bytes": ("bytes", "1,000 coming and going a second: each, bytes"),
    "changes, cpu": ("µs", "likewise: CPU of five nodes"),
    "changes, p99": ("ms", "likewise: until all who watch know it, 99 of 100, simulated"),
}


def row_of(case: str, who: str) -> str:
    return f"{case}: {who}"


def p99_of(case: str, who: str) -> str:
    return f"{case}, p99: {who}"


def ratio_of(case: str, theirs: str) -> str:
    return f"{case}: heronry / {theirs}"


def grows_of(who: str) -> str:
    return f"4 servers of 1: {who}"


def skewed_of(balancer: str, what: str) -> str:
    return f"skewed, {what}: {balancer}"
