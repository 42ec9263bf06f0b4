"""`mesh top`: the whole mesh, live."""

import json
import threading
import time
from typing import Any, NamedTuple

import click
from msgspec.structs import asdict
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from mesh import sync
from mesh.cli import figures, options, top_queues
from mesh.cli.keyboard import QUIT, keyboard
from mesh.cli.options import plainly, tell_json
from mesh.cli.table import console_on_stdout
from mesh.cli.top_picture import next_order, picture
from mesh.errors import Closed, MeshError, MeshTimeout
from mesh.wire.replies import QueueRow

LOOK = 0.1  # s between looks at keys and answers
ELSE = 6  # lines of the screen that are no rows
LATE = 3.0  # s without an answer after which that is said


class TopReplies(NamedTuple):
    """What a node said of all nodes, and of its queues; None: it is of a release that knows none."""

    listed: dict[str, Any]
    queues: list[QueueRow] | None

    def as_json(self) -> dict[str, Any]:
        """All of it as one object."""
        queues = {} if self.queues is None else {"queues": [asdict(row) for row in self.queues]}
        return {**self.listed, **queues}


@click.command("top")
@click.option("--once", is_flag=True, help="Show it once, and end.")
@click.option(
    "--interval",
    type=options.FiniteNumber(min=0.1, max=86400),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to ask.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line; with --once one document.")
@options.url
def command(once: bool, interval: float, as_json: bool, url: str | None) -> None:
    """All nodes and how busy they are, until q or Ctrl-C. The key s sorts by the next column.

    Each node knows this of all others by gossip, so any can be asked; only RTT is its own. Below them, if
    there are any, its own queues, the longest first.

    \b
    CPU, RAM      what is used of the whole machine
    LOAD          from 0, idle, to 1, busy: what balancers go by
    LAG           how late the node's own loop is
    PUB/S, DLV/S  messages that its clients publish, and that go to them
    PENDING       messages that wait there for subscribers
    TAIL-BACK     messages that wait there for masters that are away
    QUEUED        messages in queues there
    LINKS         other nodes that it is logged in to
    HEARD         how old these figures are

    \b
    READY, OUT    messages that nobody has yet, and that somebody has
    IN/s, DONE/s  messages that are put, and that are done, over 10 s
    OLDEST        how long the first that nobody has waits
    DEAD          messages that were given up since the node began
    """
    with sync.connect(url) as m:
        console = console_on_stdout()
        if once or as_json or not console.is_terminal:
            _tell(m, console, once, interval, as_json)
        else:
            _show(m, console, interval)


def _tell(m: sync.Client, console: Console, once: bool, interval: float, as_json: bool) -> None:
    """Print it, once or again and again."""
    while True:
        found = _ask(m)
        if not as_json:
            console.print(_pictures(found, "", console))
        elif once:
            tell_json(found.as_json())
        else:
            click.echo(json.dumps({"time": time.time(), **found.as_json()}))
        if once:
            return
        if not as_json:
            click.echo()
        time.sleep(interval)


def _ask(m: sync.Client) -> TopReplies:
    found = m.call("ls")
    found["nodes"] = [node for node in found["nodes"] if figures.is_listed(node)]
    return TopReplies(found, top_queues.queues_of(m))


def _show(m: sync.Client, console: Console, interval: float) -> None:
    """Fill the screen with it."""
    asking = Poller(m, interval)
    order, shown = "", 0.0
    with keyboard() as keys, Live(console=console, auto_refresh=False, screen=True) as live:
        while (key := keys.next(LOOK)) != QUIT:
            if key == "s":
                order = next_order(order)
            if key or asking.came > shown or time.monotonic() > shown + 1:
                shown = time.monotonic()
                live.update(_screen(asking.answer(), asking.came, order, console), refresh=True)


def _screen(found: TopReplies | None, came: float, order: str, console: Console) -> RenderableType:
    late = time.monotonic() - came
    trouble = f"      no answer for {plainly(late)}: is the node away?" if late > LATE else ""
    foot = Text(f"s: sort, now by {order.lower() or 'name'}      q: quit")
    body = _pictures(found, order, console, console.height - ELSE) if found else Text("asking ...")
    return Group(body, Text(), Text.assemble(foot, (trouble, "red")))


def _pictures(found: TopReplies, order: str, console: Console, room: int | None = None) -> RenderableType:
    """Nodes, and below them queues, if there are any and there is room."""
    queues = top_queues.busy(found.queues or ())
    most: tuple[int | None, int | None] = (None, len(queues) or 0)
    if room is not None:
        most = top_queues.shares(room, len(found.listed["nodes"]), len(queues))
    nodes = picture(found.listed, order, console, most[0])
    return Group(nodes, Text(), top_queues.picture(queues, console, most[1])) if most[1] else nodes


class Poller:
    """Asks in a thread of its own, so that a node that is away holds up nobody at the keyboard."""

    def __init__(self, m: sync.Client, interval: float) -> None:
        self.came = time.monotonic()  # when the last answer did
        self._m, self._interval = m, interval
        self._found: TopReplies | None = None
        self._error: MeshError | None = None
        threading.Thread(target=self._ask, name="mesh-top", daemon=True).start()

    def answer(self) -> TopReplies | None:
        """The last one, None before the first. Raises what the node refused with."""
        if self._error is not None:
            raise self._error
        return self._found

    def _ask(self) -> None:
        while True:
            try:
                self._found = _ask(self._m)
                self.came = time.monotonic()
            except MeshTimeout:
                continue  # away, and perhaps back one day
            except Closed:
                return
            except MeshError as error:
                self._error = error
                return
            time.sleep(self._interval)
