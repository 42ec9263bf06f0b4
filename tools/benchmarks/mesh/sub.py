"""`tools/bench mesh sub`: counts the messages of `tools/bench mesh pub` in other processes."""

import time

import click
from rich.progress import Progress

from mesh import sync
from mesh.cli import options
from mesh.cli.options import count, print_data, print_message, tell_json
from mesh.errors import MeshTimeout
from tools.benchmarks.mesh.load import BENCH, progress
from tools.benchmarks.mesh.tally import HEAD, LOOK, PATIENCE, RunTally


class PublisherRuns:
    """The tallies of all runs received by one subscriber, one per publisher."""

    def __init__(self) -> None:
        self.tallies: dict[int, RunTally] = {}
        self._heard = time.monotonic()

    def add(self, contents: list[bytes]) -> None:
        """Count `contents`, which arrived in one batch, each for its run."""
        self._heard = time.monotonic()
        for run in {HEAD.unpack_from(content)[0] for content in contents if len(content) >= HEAD.size}:
            self.tallies.setdefault(run, RunTally(run)).add(contents)

    @property
    def arrived(self) -> int:
        return sum(tally.arrived for tally in self.tallies.values())

    @property
    def planned(self) -> int | None:
        """The number of planned messages, or `None` unless it is known for all runs."""
        planned = [tally.planned for tally in self.tallies.values()]
        return sum(n or 0 for n in planned) if planned and None not in planned else None

    def are_over(self) -> bool:
        """Return whether each run has ended and nothing more is expected."""
        tallies = self.tallies.values()
        if not tallies or any(tally.expected is None for tally in tallies):
            return False
        is_late = time.monotonic() > self._heard + PATIENCE
        return is_late or not any(tally.lost for tally in tallies)


@click.command("sub", short_help="Count messages of `tools/bench mesh pub`.")
@options.read_domain
@options.wait
@options.as_json
@options.url
def sub(domain: str | None, wait: float | None, as_json: bool, url: str | None) -> int:
    """Count messages of `tools/bench mesh pub` until each publisher has announced its end, or until Ctrl-C.

    Several publishers may run at the same time. Exit code 1: a message was lost, duplicated or out of order.
    """
    runs = PublisherRuns()
    end = None if wait is None else time.monotonic() + wait
    with sync.connect(url) as m:
        options.tell_of_connection(m)
        with m.subscribe(pattern=BENCH, domain=domain, initial=False) as subscription:
            is_timeout = False
            try:
                print_message(f"subscribed to {BENCH}")
                with progress("sub", None) as bar:
                    is_timeout = not _read(subscription, runs, bar, end)
            except KeyboardInterrupt:
                print_message("interrupted; messages in transit are not counted")
    _tell(runs, as_json)
    if is_timeout:
        raise MeshTimeout(f"The time limit of {wait:g} s has passed.")
    return 0 if all(_is_right(tally) for tally in runs.tallies.values()) else 1


def _read(subscription: sync.Subscription, runs: PublisherRuns, bar: Progress, end: float | None) -> bool:
    """Count messages until the runs are over. Return False if the time ran out first."""
    while not runs.are_over():
        if end is not None and time.monotonic() > end:
            return False
        try:
            batch = subscription.next_batch(timeout=LOOK)
        except MeshTimeout:
            continue
        if batch is None:
            break
        runs.add(batch.contents())
        bar.update(bar.task_ids[0], completed=runs.arrived, total=runs.planned)
    return True


def _is_right(tally: RunTally) -> bool:
    return not (tally.lost or tally.doubled or tally.disordered)


def _tell(runs: PublisherRuns, as_json: bool) -> None:
    tallies = list(runs.tallies.values())
    if as_json:
        tell_json({"runs": [_described(tally) for tally in tallies]})
    elif not tallies:
        print_message("no message arrived.  To publish:  tools/bench mesh pub")
    else:
        print_data(line for tally in tallies for line in _told(tally))


def _described(tally: RunTally) -> dict[str, object]:
    return {
        "published": tally.expected,
        "arrived": tally.arrived,
        "receive_rate": tally.receive_rate,
        "missed": tally.missed,
        "lost": tally.lost,
        "doubled": tally.doubled,
        "disordered": tally.disordered,
    }


def _told(tally: RunTally) -> list[str]:
    of = " so far" if tally.expected is None else f" of {tally.expected:,}"
    late = f"   before it subscribed {tally.missed:,}" if tally.missed else ""
    return [
        f"sub: {count(tally.arrived, 'message')}{of}",
        f"  received  {tally.receive_rate:>9,.0f}/s   lost {tally.lost:,}   doubled {tally.doubled:,}   "
        f"disordered {tally.disordered:,}{late}",
    ]
