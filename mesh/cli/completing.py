"""Completes names of nodes, topics, queues and contexts at the Tab key.

Law 1: a completion has a time limit; names that are not known within the limit are left out.

Law 2: a completion never fails and prints no error; without a node or with a damaged file it is empty.

Law 3: names from other users reach the command line only if no shell interprets a character of them.
"""

import os
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

VARIABLE = "_MESH_COMPLETE"
LIMIT = 0.5  # s to wait for the node's answer
MOST = 200  # names to offer
PLAIN = re.compile(r"[\w./@%+=,:#-]+", re.ASCII)  # no quote, blank, $, ; or the like
CompleteNames = Callable[[click.Context, str], Iterable[str]]


def offered(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the sorted names that begin with `incomplete` and need no quoting, at most MOST."""
    fitting = {name for name in names if name.startswith(incomplete) and PLAIN.fullmatch(name)}
    return sorted(fitting)[:MOST]


def in_time(names: Callable[[], Iterable[str]], limit: float) -> list[str]:
    """Return all names, or none if that takes longer than `limit` s or fails.

    A call that takes longer runs on until it returns or the process ends.
    """
    found: list[str] = []
    done = threading.Event()

    def ask() -> None:
        try:
            found.extend(names())
        except BaseException:  # law 2
            found.clear()
        done.set()

    threading.Thread(target=ask, name="mesh-completing", daemon=True).start()
    return list(found) if done.wait(limit) else []


def completing(names: CompleteNames) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return a completion function for click that offers the values returned by `names`."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = in_time(lambda: names(context, incomplete), LIMIT)
        return [CompletionItem(name) for name in offered(found, incomplete)]

    return complete


def _here() -> list[dict[str, Any]]:
    from mesh.local.localnodes import running_nodes
    from mesh.local.private import state_dir

    return running_nodes(state_dir(os.environ))


def _nodes(context: click.Context, incomplete: str) -> Iterable[str]:
    """Return the names of this user's nodes here, and of the nodes that the first of them knows."""
    here = _here()
    names = {str(node["name"]) for node in here}
    if not here:
        return names
    from mesh import sync

    with sync.connect(str(here[0]["ipc"]), timeout=LIMIT) as m:
        return names | {node.name for node in m.nodes(all=True)}


def _asked(context: click.Context) -> Any:
    """Return a client of the node that the command would ask; `None` if it names none and none runs here."""
    url = context.params.get("url") or os.environ.get("MESH_URL")
    if not url and not _here():
        return None
    from mesh import sync

    return sync.connect(url, timeout=LIMIT)


def _topics(context: click.Context, incomplete: str) -> Iterable[str]:
    """Return the topics with a retained value below the levels typed so far."""
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
