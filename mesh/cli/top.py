"""`mesh top`: shows the whole mesh, live."""

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

LOOK = 0.1  # s between checks of keyboard and answers
ELSE = 6  # lines of the screen besides the rows
LATE = 3.0  # s without an answer until it is reported


class TopReplies(NamedTuple):
    """A node's report on all nodes and on its queues; `queues` is `None` for a release without queues."""

    listed: dict[str, Any]
    queues: list[QueueRow] | None

    def as_json(self) -> dict[str, Any]:
        """Return the report as one object."""
        queues = {} if self.queues is None else {"queues": [asdict(row) for row in self.queues]}
        return {**self.listed, **queues}


@click.command("top")
@click.option("--once", is_flag=True, help="Print once and exit.")
@click.option(
    "--interval",
    type=options.FiniteNumber(min=0.1, max=86400),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds between updates.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per line; with --once, one document."
)
@options.url
def command(once: bool, interval: float, as_json: bool, url: str | None) -> None:
    """Show all nodes and their load until q or Ctrl-C. The key s sorts by the next column.

    Each node knows these figures of all others by gossip, so any node can be asked; only RTT is measured by
    the asked node. Below are the queues of the asked node with messages or consumers, the longest first.

    \b
    CPU, RAM      usage of the whole machine
    LOAD          from 0 (idle) to 1 (busy), as balancers use it
    LAG           delay of the node's event loop
    PUB/S, DLV/S  messages a second from and to clients of the node
    PENDING       messages that wait at the node for subscribers
    TAIL-BACK     messages that wait at the node for unreachable masters
    QUEUED        messages in queues at the node
    LINKS         other nodes that the node is logged in to
    HEARD         age of these figures

    \b
    READY, OUT    messages that wait, and messages that consumers have not settled
    IN/s, DONE/s  messages put and acknowledged a second, averaged over about 10 s
    OLDEST        age of the oldest message that waits
    DEAD          dead letters since the start of the node
    """
    with sync.connect(url) as m:
        console = console_on_stdout()
        if once or as_json or not console.is_terminal:
            _tell(m, console, once, interval, as_json)
        else:
            _show(m, console, interval)


def _tell(m: sync.Client, console: Console, once: bool, interval: float, as_json: bool) -> None:
    """Print the report once or repeatedly."""
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
    """Show the report on the full screen."""
    asking = Poller(m, interval)
    order, shown = "", 0.0
    with keyboard() as keys, Live(console=console, auto_refresh=False, screen=True) as live:
        while (key := keys.next(LOOK)) != QUIT:
            if key == "s":
                order = next_order(order)
            if key or asking.came > shown or time.monotonic() > shown + 1:
                shown = time.monotonic()
                live.update(_screen(asking.latest_answer(), asking.came, order, console), refresh=True)


def _screen(found: TopReplies | None, came: float, order: str, console: Console) -> RenderableType:
    late = time.monotonic() - came
    trouble = f"      no answer for {plainly(late)}: the node may be unreachable" if late > LATE else ""
    foot = Text(f"s: sort, now by {order.lower() or 'name'}      q: quit")
    body = _pictures(found, order, console, console.height - ELSE) if found else Text("asking ...")
    return Group(body, Text(), Text.assemble(foot, (trouble, "red")))


def _pictures(found: TopReplies, order: str, console: Console, room: int | None = None) -> RenderableType:
    """Return the nodes, and below them the queues, if there are any and they fit."""
    queues = top_queues.busy(found.queues or ())
    most: tuple[int | None, int | None] = (None, len(queues) or 0)
    if room is not None:
        most = top_queues.shares(room, len(found.listed["nodes"]), len(queues))
    nodes = picture(found.listed, order, console, most[0])
    return Group(nodes, Text(), top_queues.picture(queues, console, most[1])) if most[1] else nodes


class Poller:
    """A thread that asks the node, so that an unreachable node does not block the keyboard."""

    def __init__(self, m: sync.Client, interval: float) -> None:
        self.came = time.monotonic()  # time of the last answer
        self._m, self._interval = m, interval
        self._found: TopReplies | None = None
        self._error: MeshError | None = None
        threading.Thread(target=self._poll, name="mesh-top", daemon=True).start()

    def latest_answer(self) -> TopReplies | None:
        """Return the last answer, or `None` before the first. Raises: the error of a node that refuses."""
        if self._error is not None:
            raise self._error
        return self._found

    def _poll(self) -> None:
        while True:
            try:
                self._found = _ask(self._m)
                self.came = time.monotonic()
            except MeshTimeout:
                continue  # unreachable, perhaps for a while
            except Closed:
                return
            except MeshError as error:
                self._error = error
                return
            time.sleep(self._interval)
