"""The queues in `mesh top`, as the asked node knows them."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from mesh import sync
from mesh.cli import figures
from mesh.cli.options import count
from mesh.cli.table import Cell, fitting, table_of
from mesh.errors import MeshError
from mesh.printable import harmless
from mesh.wire.replies import QueueRow, QueueRows, read_result

UNKNOWN = "UNKNOWN_VERB"  # the error of a release without queues
PAGES = 10  # pages to ask for at a time
NAME = "QUEUE"
TITLES = (NAME, "READY", "OUT", "CONSUMERS", "IN/s", "DONE/s", "OLDEST", "DEAD")
DROPPED = ("DEAD", "OLDEST", "DONE/s", "IN/s", "OUT")  # dropped first on a narrow terminal
ELSE = 3  # lines besides the rows


def queues_of(m: sync.Client) -> list[QueueRow] | None:
    """Return the first PAGES pages of the node's queues, by name; `None` for a release without queues."""
    rows, after = list[QueueRow](), ""
    for _ in range(PAGES):
        try:
            page = read_result(QueueRows, m.call("queue_ls", after=after, here=True))
        except MeshError as error:
            if error.code == UNKNOWN:
                return None
            raise
        rows += page.queues
        if page.more <= after:
            break
        after = page.more
    return rows


def busy(queues: Sequence[QueueRow]) -> list[QueueRow]:
    """Return the queues with messages or consumers, the longest first."""
    rows = [row for row in queues if _depth(row) or row.consumers]
    return sorted(rows, key=lambda row: (-_depth(row), -row.consumers, row.name))


def picture(queues: Sequence[QueueRow], console: Console, most: int | None = None) -> RenderableType:
    """Return the busy queues as a table of at most `most` rows."""
    rows = busy(queues)
    shown = rows[:most]
    more = [] if len(shown) == len(rows) else [Text(f"... and {count(len(rows) - len(shown), 'queue')} more")]
    cells = [_cells(row) for row in shown]
    table = table_of(*fitting(TITLES, cells, console.width, NAME, DROPPED), NAME)
    for column in table.columns:
        column.justify = "left" if column.header == NAME else "right"
    return Group(table, *more)


def shares(room: int, nodes: int, queues: int) -> tuple[int, int]:
    """Return the numbers of rows for nodes and for queues.

    The queues get at most the rows that the nodes leave free, or half of all rows if that is more; none if
    `room` is too small.
    """
    if not queues or room <= ELSE + 1:
        return max(1, room), 0
    rows = room - ELSE
    lower = min(queues, max(rows - nodes, rows // 2))
    return rows - lower, lower


def _depth(row: QueueRow) -> int:
    return row.ready + row.out + row.delayed


def _cells(row: QueueRow) -> tuple[Cell, ...]:
    is_stranded = _depth(row) and not row.consumers
    return (
        Text(harmless(row.name), no_wrap=True, overflow="ellipsis"),  # one line per row
        f"{row.ready:,}",
        f"{row.out:,}",
        Text(f"{row.consumers:,}", "yellow" if is_stranded else ""),
        _rate(row.arrives),
        _rate(row.leaves),
        figures.seconds(row.oldest),
        f"{row.dead:,}",
    )


def _rate(value: float) -> str:
    """Return a rate, or "-" if it rounds to 0: a decaying rate never reaches 0."""
    return f"{value:,.1f}" if value >= 0.05 else "-"
