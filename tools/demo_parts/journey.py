"""The route of messages in the demo, and the configuration of each node."""

DOMAIN = "RUGBY_NEWS"
EVERY = 50  # every n-th line is also a direct message
READER, READERS_SESSION = "reader", 1
LETTER_TO = f"/node/heron/client/{READER}/session/{READERS_SESSION}"

WAY = """\
bilbo ──────▶ frodo ──────▶ heron ──────▶ avalon
a slave       the middle    the master    another slave"""
IN_WORDS = f"""\
No node is told where another one is: they find each other by multicast DNS, which leaves this machine
as little as they do. A writer at bilbo publishes lines in the domain {DOMAIN}. bilbo's file names frodo
only, frodo's names heron, which is the domain's master and answers for every line. Subscribers at heron,
at avalon and, all the way back, at bilbo get the lines; each {EVERY}th goes as a letter to one session,
client/{READER} at heron, as well."""

_TREE = 'default_scope = "local"\nlinks = "configured"\n'
_KNOWS_THE_MASTER = f"""{_TREE}
[nodes.heron]
[[nodes.heron.master]]
domains = ["{DOMAIN}"]
"""

# node -> its mesh.toml
FILES = {
    "heron": f"""{_TREE}
[nodes.heron]
[[nodes.heron.master]]
domains = ["{DOMAIN}"]
""",
    "avalon": _KNOWS_THE_MASTER,
    "frodo": _KNOWS_THE_MASTER,
    "bilbo": f"""{_TREE}
[timing]
backoff_max = 0.5

[nodes.frodo]
[[nodes.frodo.master]]
domains = ["{DOMAIN}"]
stratum = 1
""",
}
