"""`mesh snapshots`: lists the snapshots of nodes on this machine, and copies them elsewhere."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from mesh.cli import gathering, options
from mesh.cli.options import count, print_message, size, tell_json
from mesh.cli.table import tell_table
from mesh.errors import DataDirRefused
from mesh.local.private import refused
from mesh.local.segmentfiles import find, read_marker
from mesh.local.syncing import Problem, SyncTally, sync
from mesh.snapshots.marker import INGESTED, SYNCED, Marker
from mesh.snapshots.segment import Segment

HEADER = ("NODE", "SEGMENTS", "SIZE", "OLDEST", "NEWEST", "INGESTED", "SYNCED", "UNREAD", "DIRECTORY")
NONE = "no snapshots.  A node completes its first segment after 10 s.  To read another directory:  --from DIR"

places = click.option(
    "--from",
    "given",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Read snapshots in DIR. Default: those of all your nodes on this machine. Can be repeated.",
)


@dataclass(frozen=True, slots=True)
class Kept:
    """The segments of one node in one directory; `oldest` and `newest` are hours in UTC."""

    node: str
    uuid8: str
    directory: str
    segments: int
    bytes: int
    oldest: str  # "2026-01-31T09"
    newest: str
    ingested: int  # segments, like the next two
    synced: int
    unread: int  # neither ingested nor synced


@click.group("snapshots")
def command() -> None:
    """List or copy snapshots, the input of `mesh report`: JSON lines in segments of 10 seconds."""


@command.command("ls")
@places
@options.as_json
def ls(given: tuple[str, ...], as_json: bool) -> None:
    """List the snapshots on this machine.

    \b
    OLDEST, NEWEST  hour of the oldest and the newest segment, in UTC
    INGESTED        segments that are in a history; SYNCED: segments that were copied
    UNREAD          segments that are neither; if a node has too many, it deletes the oldest
    """
    kept = [it for place in _places(given) for it in _kept(place)]
    if as_json:
        tell_json({"snapshots": [asdict(it) for it in kept]})
    elif kept:
        tell_table(HEADER, map(_row, kept), folded="DIRECTORY")
    else:
        print_message(NONE)


@command.command("sync")
@click.option("--to", required=True, metavar="DIR", help="Copy to DIR, with the same paths.")
@places
@options.as_json
def sync_command(to: str, given: tuple[str, ...], as_json: bool) -> int:
    """Copy closed segments to DIR. The node may delete the originals afterwards.

    Existing copies are skipped. Exit code 2: a segment could not be copied.
    """
    if "://" in to:
        raise click.UsageError(f"--to {to!r} is not a directory. For object storage:  mesh ingest")
    sources, tally = _places(given), SyncTally()
    for place in sources:
        try:
            sync(place, Path(to).absolute(), tally)
        except DataDirRefused as error:
            tally.problems.append(Problem("", error.code, f"{error.what} {error.hint}"))
    if as_json:
        tell_json({"from": [str(place) for place in sources], "to": to, **asdict(tally)})
    elif not sources:
        print_message(NONE)
    else:
        print_message(_done(tally))
    for problem in tally.problems:
        print_message(f"mesh: {problem.text} [{problem.code}]")
    return 2 if tally.problems else 0


def _done(tally: SyncTally) -> str:
    copied = f"copied {count(tally.copied, 'segment')} ({size(tally.bytes)})"
    return f"{copied}, {tally.present:,} {'was' if tally.present == 1 else 'were'} there"


def _places(given: Sequence[str]) -> list[Path]:
    """Return the given directories, else the existing default ones, without duplicates."""
    if given:
        return list(dict.fromkeys(Path(text).resolve() for text in given))
    return list(dict.fromkeys(place for place in gathering.usual() if place.is_dir()))


def _kept(place: Path) -> Iterator[Kept]:
    """Yield a summary of the segments of each node in `place`."""
    ingested, synced = (_marker(place / name) for name in (INGESTED, SYNCED))
    try:
        closed = find(place).closed
    except OSError as error:
        raise refused(place, error, "Choose another directory with --from DIR.") from error
    of: defaultdict[tuple[str, str], list[Segment]] = defaultdict(list)
    for segment in closed:
        of[segment.name.node, segment.name.uuid8].append(segment)
    for (node, uuid8), segments in sorted(of.items()):
        is_ingested = [ingested.covers(it.name) for it in segments]
        is_synced = [synced.covers(it.name) for it in segments]
        hours = sorted({it.hour for it in segments})
        yield Kept(
            node,
            uuid8,
            str(place),
            len(segments),
            sum(it.bytes for it in segments),
            _plain(hours[0]),
            _plain(hours[-1]),
            sum(is_ingested),
            sum(is_synced),
            sum(not (one or other) for one, other in zip(is_ingested, is_synced, strict=True)),
        )


def _marker(path: Path) -> Marker:
    marker, wrong = read_marker(path)
    if wrong:
        done = "ingested" if path.name == INGESTED else "copied"
        print_message(f"{path} cannot be read: {wrong}. Until it is readable, no snapshot counts as {done}.")
    return marker


def _plain(hour: str) -> str:
    return hour.removeprefix("date=").replace("/hour=", "T")


def _row(it: Kept) -> tuple[str, ...]:
    counts = (it.ingested, it.synced, it.unread)
    return (
        it.node,
        f"{it.segments:,}",
        size(it.bytes),
        it.oldest.replace("T", " ") + ":00",
        it.newest.replace("T", " ") + ":00",
        *(f"{number:,}" for number in counts),
        it.directory,
    )
