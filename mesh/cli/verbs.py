"""The verbs by section, with their help. Each has a module of its name in mesh/cli, or in a feature."""

SECTIONS = {
    "Nodes": {
        "up": "Start a node here, in the foreground.",
        "down": "Stop a node.",
        "drain": "Move queued messages and clients to other nodes.",
        "ls": "List the nodes.",
        "top": "Show all nodes and their load, live.",
        "info": "Print a node's identity and counters.",
        "events": "Print events of the mesh.",
        "log": "Show and set a node's log levels.",
        "check": "Check a node's health, for monitoring.",
        "metrics": "Print a node's metrics for Prometheus.",
        "service": "Run a node as a systemd service.",
        "backup": "Back up and restore a node.",
        "upgrade": "Plan the restarts of an upgrade.",
        "peer": "Manage addresses of other nodes.",
        "node": "Allow and deny nodes, mesh-wide.",
    },
    "Messages": {
        "pub": "Publish a message, or one per line.",
        "sub": "Print messages as they arrive.",
        "unsub": "End a durable subscription.",
        "get": "Print the retained value of a topic.",
        "erase": "Erase a topic.",
        "wait": "Wait for a node, queue or subscriber.",
    },
    "Queues and direct messages": {
        "queue": "Declare queues, put and take messages.",
        "req": "Send a request to an address.",
        "reply": "Serve an address with a command.",
        "send": "Send a message to a client or address.",
        "inbox": "Print messages to a session.",
        "tx": "Transactions, also of databases.",
    },
    "Shared values": {
        "map": "Read and write shared maps.",
        "counter": "Read shared counters, add to them.",
        "lock": "List held locks, move them.",
        "tally": "Read tallies of all nodes.",
    },
    "Routing and diagnosis": {
        "rule": "Set masters of topics, mesh-wide.",
        "relay": "Configure and pause other sites.",
        "route": "Show the route of a message.",
        "why": "Explain why messages do not arrive.",
        "where": "Print the nodes that have a name.",
        "dlq": "List, replay and purge dead letters.",
        "config": "Check, show and reload settings.",
    },
    "Keys": {
        "init": "Create the keys of a mesh.",
        "join": "Join a mesh that has keys.",
        "leave": "Leave a mesh that has keys.",
        "token": "Create a token for joining.",
        "passwd": "Hash a password for a node.",
    },
    "History": {
        "report": "Report the history, with charts.",
        "ingest": "Gather snapshots in a history.",
        "snapshots": "List and copy snapshots.",
        "weights": "Show and set balancing weights.",
    },
    "This command": {
        "context": "Name nodes, and select one.",
        "completion": "Print a shell completion script.",
    },
}
# Verbs of the operator: they are never sent to another node, and a node on this machine reserves sessions.
OPERATES = {
    *SECTIONS["Nodes"],
    *("unsub", "erase", "wait", "queue", "weights"),
    *SECTIONS["Routing and diagnosis"],
}
# Verbs of earlier releases, with what replaces them.
REMOVED = {"bench": "`tools/bench mesh` of the source repository measures a running mesh."}
VERBS = {verb: line for verbs in SECTIONS.values() for verb, line in verbs.items()}
# Verbs for this machine and its user: they ignore contexts.
AT_HOME = (
    "up",
    "service",
    "backup",
    "config",
    *SECTIONS["Keys"],
    "report",
    "ingest",
    "snapshots",
    *SECTIONS["This command"],
)
_OF_FEATURES = {
    "queue": "queues.cli.queue",
    "dlq": "queues.cli.dlq",
    "req": "services.cli.req",
    "reply": "services.cli.reply",
    "relay": "sites.cli",
    "rule": "rules.cli",
    "tx": "transactions.cli.tx",
    "map": "spaces.cli.map",
    "counter": "spaces.cli.counter",
    "lock": "spaces.cli.lock",
    "tally": "spaces.cli.tally",
    "why": "why.cli",
    "where": "where.cli",
    "report": "history.cli.report",
    "ingest": "history.cli.ingest",
    "snapshots": "history.cli.snapshots",
}


def module_of(verb: str) -> str:
    """Return the module with the command of a verb."""
    return f"mesh.features.{_OF_FEATURES[verb]}" if verb in _OF_FEATURES else f"mesh.cli.{verb}"
