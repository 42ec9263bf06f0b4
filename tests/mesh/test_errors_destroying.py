"""Hints that destroy something if a user types them. Each hint is listed here, with its occasion.

A hint is shown only where its occasion is certain, and where no milder command would do.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESTROYS = re.compile(
    r"--replace|--force(?![-\w])|\brm\b|mesh (leave|erase|unsub)\b|\bpurge\b|if_unused=False|\bunsubscribe\("
    r"|\b([Rr]emove|[Dd]elete|[Ee]rase|[Dd]iscard)\b|--accept-rollback|start with an empty"
)
EXAMPLES = "mesh/cli/examples.py"  # there a command is typed on purpose
NAMED = re.compile(r"^\w+( \w+)?$|^DELETE FROM|^ALTER |^DROP ")  # a name, or a database command
HINTS = {  # by file: the hint and its occasion
    "mesh/cli/backup.py": {"--accept-rollback": "just restored: the copy is older than the last start"},
    "mesh/cli/leave.py": {"to destroy them:  rm ": "after `mesh leave`, of the copy that it keeps"},
    "mesh/cli/service.py": {"or remove that file": "a unit of another maker is there; after another --id"},
    "mesh/cli/erase.py": {
        "Erase the topic only in the domain": "help of --domain",
        "Delete only the retained values.": "help of --history-only",
    },
    "mesh/client/retained_values.py": {
        "No topic to erase": "no hint: what was wrong",
        'erase(domain="") erases the topic': "a warning after that was typed",
    },
    "mesh/features/sites/cli.py": {
        ". To remove it anyway:  mesh relay rm ": "that was typed, and the count of messages is said",
        " --force": "the same",
        "Remove the site even if messages wait": "help of --force",
    },
    "mesh/features/queues/cli/queue.py": {"Delete the queue even if it has messages": "help of --force"},
    "mesh/features/spaces/cli/map.py": {
        "Remove the value after S seconds": "help of --ttl",
        "Remove the map with all values": "help of --all",
    },
    "mesh/features/spaces/cli/common.py": {
        "With --force: the home or a voter": "help of --stopped",
        "With --force: move": "help of --accept-loss",
    },
    "mesh/features/spaces/cli/counter.py": {"Remove all counters of the group": "help of --all"},
    "mesh/features/spaces/node/claiming.py": {
        "a live home moves without --force": "that was typed, and the home was heard; advises against it"
    },
    "mesh/features/spaces/node/homes.py": {" --force": "the values are lost; after restoring the store"},
    "mesh/features/spaces/client/space.py": {"Remove keys, or declare": "the map is full"},
    "mesh/cli/verbs.py": {
        "Erase a topic.": "the list of verbs",
        "List, replay and purge dead letters.": "the list of verbs",
    },
    "mesh/config/editing.py": {"first:  mesh relay rm ": "`mesh relay add` of a site that is there; it asks"},
    "mesh/kernel/access/handshake_checks.py": {
        "mesh join --site NAME --replace": "keys of that site are there, and are refused",
        ", with `--replace`.": "the same",
    },
    "mesh/kernel/asking/erasing.py": {
        "erase the topic again later": "that was typed, and nodes were away",
        " could not erase it (": "no hint: an erase failed at a node",
        ", which cannot erase without notifying": "no hint: an erase was refused at a node",
    },
    "mesh/kernel/subscribers/lastvalues.py": {
        "erase the topic again later": "the same, at the master",
        "or the keys of a node, may erase it": "no hint: an erase by another was refused",
    },
    "mesh/kernel/peers/peer_address_book.py": {
        "Remove some: `mesh peer ls`, `mesh peer rm ADDRESS`.": "as many addresses as a node keeps"
    },
    "mesh/kernel/peers/peer_handshake.py": {
        "on purpose: `mesh peer rm ": "a node has another key; forgets the old one"
    },
    "mesh/features/queues/node/definitions/declaring.py": {
        "or delete it first.": "declared otherwise; removal refuses a queue that is not empty",
        "Delete some, or": "20,000 queues are declared",
    },
    "mesh/features/queues/node/definitions/durables.py": {
        "Remove some with `mesh unsub NAME`.": "as many durable subscriptions as there can be",
        "or remove it with `mesh unsub` first": "declared otherwise, after two milder ways",
    },
    "mesh/features/queues/node/looking/queue_part_calls.py": {
        "To delete it with its contents": "removal was asked for, and the queue is in use or not empty",
        "`mesh peer rm NODE` forgets": "removal was asked for, and a node is away; after waiting for it",
    },
    "mesh/features/queues/node/verbs/asked.py": {
        "Remove the subscription: unsubscribe(": "removal of its queue was asked for",
        "), or `mesh unsub ": "the same",
    },
    "mesh/kernel/sharing/shared.py": {"Remove unused entries of this kind": "more rows"},
    "mesh/features/rules/shared_rules.py": {
        "Wait for them, or use --force.": "new masters while nodes are away"
    },
    "mesh/kernel/sharing/weights.py": {"To apply them anyway: --force": "weights of another mesh"},
    "mesh/kernel/states/recall.py": {
        "without the lost data: mesh up --accept-rollback": "others prove a loss"
    },
    "mesh/local/private.py": {
        "stop your nodes and run: rm ": "the cookie is damaged",
        "Run: rm ": "a link stands where a directory of this user must be",
    },
    "mesh/local/queueplaces.py": {"--replace moves it aside": "a restore meets a store; keeps it"},
    "mesh/local/restore.py": {"--replace moves it aside": "a restore meets a directory; keeps it"},
    "mesh/reasons/texts.py": {
        "or `mesh unsub` an unused subscription": "it was full, and lost messages already",
        "or if its disk is lost: `mesh map move --force`": "its home is unreachable; after starting it",
    },
    "mesh/reserved.py": {"Change the rules or addresses": "names the verbs, after a refused domain"},
    "mesh/routing/branches.py": {
        "remove the decision": "no hint: names a step",
        "backup restore FILE --replace": "damaged; moves the node's directory aside",
    },
    "mesh/security/joining.py": {
        "and join this one: mesh join --replace": "keys of a mesh of that name are there; keeps them beside",
        " --replace": "keys of a site of that name are there; keeps them beside",
    },
    "mesh/security/keyfiles.py": {"Remove it: rm ": "the record of rules seen here is damaged"},
    "mesh/security/pins.py": {"run here: mesh peer rm ": "a node has another key, if that was on purpose"},
    "mesh/security/ruling.py": {
        "If all nodes have lost the newer rules: rm ": "older rules than were seen here"
    },
    "mesh/shell/queuestores.py": {"or remove it, if [[queues]] is unchanged": "the record is damaged"},
    "mesh/store/moving.py": {
        "or discard them with `mesh queue purge": "messages wait for queues that are memory now"
    },
    "mesh/store/opening.py": {
        "without the lost data: ": "a file of queues is missing",
        "this node's file: mesh up --accept-rollback": "a file of queues is another node's",
    },
    "mesh/features/postgres/store.py": {
        "another one to start with an empty": "what was written is not there"
    },
    "mesh/features/postgres/setup.py": {"another database to start with an empty": "of another release"},
    "mesh/store/sqlite.py": {"move it away and start with an empty one": "damaged, or of another release"},
    "mesh/streams/origin.py": {"backup restore FILE --replace": "damaged; moves the node's directory aside"},
    "mesh/store/witnessed.py": {
        "without the lost data: mesh up --accept-rollback": "the witness proves a loss"
    },
    "spark/compaction.py": {" elsewhere, delete ": "the plan of a compaction is damaged"},
    "spark/failures.py": {"Delete {to}/_checkpoint": "the checkpoint is damaged; all is read once more"},
}


def texts(file: Path) -> Iterator[str]:
    """Yield all texts of a file but its docstrings."""
    tree = ast.parse(file.read_text())
    docs = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in docs and isinstance(node.value, str):
            yield node.value


def destroying() -> Iterator[tuple[str, str]]:
    """Yield the file and the text of each hint that can destroy something."""
    for package in ("mesh", "spark", "discovery", "balancers"):
        for file in sorted((ROOT / package).rglob("*.py")):
            name = str(file.relative_to(ROOT))
            for text in texts(file):
                is_said = " " in text and DESTROYS.search(text)
                if is_said and name != EXAMPLES and not NAMED.match(text.strip()):
                    yield name, text


@pytest.mark.slow  # for its length
def test_each_hint_that_destroys_something_has_an_occasion() -> None:
    found = list(destroying())
    unknown = [(file, text) for file, text in found if not any(said in text for said in HINTS.get(file, ()))]
    assert unknown == [], "list it with its occasion, or find a milder hint"
    stale = {
        (file, said)
        for file, hints in HINTS.items()
        for said in hints
        if not any(file == other and said in text for other, text in found)
    }
    assert stale == set()
