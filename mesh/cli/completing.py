"""What could be typed here? Names of nodes, topics, queues and contexts, for the Tab key.

Law 1: a Tab is answered in time, whatever the node does: what is not known by then is not completed.
Law 2: it never fails, and says nothing: without a node, or with a damaged file, nothing is completed.
Law 3: what others have named reaches the command line as text: only names that no shell takes for more.
"""

import os
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

VARIABLE = "_MESH_COMPLETE"
LIMIT = 0.5  # s that a node has for its answer
MOST = 200  # names that are offered
PLAIN = re.compile(r"[\w./@%+=,:#-]+", re.ASCII)  # no quote, blank, $, ; or the like
CompleteNames = Callable[[click.Context, str], Iterable[str]]


def offered(names: Iterable[str], incomplete: str) -> list[str]:
    """Those that begin so, and that a shell takes as they are; in their order, and not too many."""
    fitting = {name for name in names if name.startswith(incomplete) and PLAIN.fullmatch(name)}
    return sorted(fitting)[:MOST]


def in_time(names: Callable[[], Iterable[str]], limit: float) -> list[str]:
    """All of them, or none if that takes too long or fails. What still runs then ends with the process."""
    found: list[str] = []
    done = threading.Event()

    def ask() -> None:
        try:
            found.extend(names())
        except BaseException:  # whatever it is, a Tab is no place to tell
            found.clear()
        done.set()

    threading.Thread(target=ask, name="mesh-completing", daemon=True).start()
    return list(found) if done.wait(limit) else []


def completing(names: CompleteNames) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """What click calls for a value that `names` knows."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = in_time(lambda: names(context, incomplete), LIMIT)
        return [CompletionItem(name) for name in offered(found, incomplete)]

    return complete


def _here() -> list[dict[str, Any]]:
    from mesh.local.localnodes import running_nodes
    from mesh.local.private import state_dir

    return running_nodes(state_dir(os.environ))


def _nodes(context: click.Context, incomplete: str) -> Iterable[str]:
    """Those of this user here, and those that they know."""
    here = _here()
    names = {str(node["name"]) for node in here}
    if not here:
        return names
    from mesh import sync

    with sync.connect(str(here[0]["ipc"]), timeout=LIMIT) as m:
        return names | {node.name for node in m.nodes(all=True)}


def _asked(context: click.Context) -> Any:
    """A client of the node that the command would ask; None where no node runs that could be."""
    url = context.params.get("url") or os.environ.get("MESH_URL")
    if not url and not _here():
        return None
    from mesh import sync

    return sync.connect(url, timeout=LIMIT)


def _topics(context: click.Context, incomplete: str) -> Iterable[str]:
    """Those with a last value, below the level that is typed."""
    client = _asked(context)
    if client is None:
        return []
    above = incomplete.rpartition("/")[0]
    pattern = f"{above}/#" if above else "#"
    with client as m:
        return [it.key for it in m.get(pattern=pattern, domain=context.params.get("domain"), timeout=LIMIT)]


def _queues(context: click.Context, incomplete: str) -> Iterable[str]:
    client = _asked(context)
    if client is None:
        return []
    with client as m:
        return [str(row["name"]) for row in m.call("queue_ls", after="")["queues"]]


def _contexts(context: click.Context, incomplete: str) -> Iterable[str]:
    from mesh.cli import contexts

    return contexts.read(os.environ).named


complete_nodes = completing(_nodes)
complete_topics = completing(_topics)
complete_queues = completing(_queues)
complete_contexts = completing(_contexts)
