"""Which verbs are there, by what they are for? Each has a module of its name in mesh/cli."""

SECTIONS = {
    "Nodes": {
        "up": "Start a node here, in the foreground.",
        "down": "Stop a node.",
        "drain": "Have what is in its queues go to others.",
        "ls": "Which nodes are there?",
        "top": "All nodes and how busy they are, live.",
        "info": "A node and its counters.",
        "events": "What has happened.",
        "log": "What a node writes in its log.",
        "check": "Is a node well? For what watches it.",
        "metrics": "A node's figures for Prometheus.",
        "service": "A node that is always there.",
        "backup": "Copy what a node keeps, and put it back.",
        "peer": "Where others are, if they are not found.",
        "node": "Which nodes may be linked, for all.",
    },
    "Messages": {
        "pub": "Publish one message, or one a line.",
        "sub": "Print messages as they come.",
        "unsub": "End a durable subscription.",
        "get": "Print the last value of a topic.",
        "erase": "Take a topic away.",
        "wait": "Wait for a node, queue or subscriber.",
    },
    "To one of many": {
        "queue": "Put into queues, and take from them.",
        "req": "Ask those who serve an address.",
        "reply": "Serve an address by a command.",
        "send": "Send to one named session.",
        "inbox": "Print what is sent to a session.",
    },
    "When something is odd": {
        "rule": "Who is master of what, for all nodes.",
        "relay": "Other sites, and what goes there.",
        "route": "Where would a message go?",
        "why": "Why does something not arrive?",
        "dlq": "Messages that nobody got.",
        "bench": "How fast is it here?",
        "config": "Check a configuration file.",
    },
    "Keys": {
        "init": "Make the keys of a mesh.",
        "join": "Come into a mesh that has keys.",
        "leave": "Go out of a mesh that has keys.",
        "token": "What lets somebody else in.",
        "passwd": "The hash of a node's password.",
    },
    "History": {
        "report": "What has happened, in pictures.",
        "ingest": "Gather what the nodes wrote down.",
        "snapshots": "What the nodes wrote down.",
        "weights": "Who gets how much.",
    },
    "This command": {
        "context": "Which node is asked, by a name.",
        "completion": "What the Tab key completes.",
    },
}
# The verbs of the operator, for whom a node on this machine keeps sessions free.
OPERATES = {*SECTIONS["Nodes"], "unsub", "erase", "queue", *SECTIONS["When something is odd"]} - {"bench"}
VERBS = {verb: line for verbs in SECTIONS.values() for verb, line in verbs.items()}
# What concerns this machine and its user: no context says otherwise.
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
