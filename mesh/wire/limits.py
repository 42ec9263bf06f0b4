"""The limits of frames, messages and names, and the names of features. Both ends have the same values.

`python -m tools.wire_tables` copies the comments to docs/wire.md.
"""

MIB = 1024 * 1024
KIB = 1024

VERSION_MIN = 1  # Oldest wire version.
VERSION_MAX = 2  # Newest wire version.

PIECES = "pieces"  # Long messages travel in pieces.
WAYS = "ways"  # Request for the signed states of nodes on a route.
SHARED = "shared"  # Rows that all nodes share.
SERVICES = "services"  # Addresses, and groups of subscribers.
QUEUES = "queues"  # Queues.
TRANSFERS = "transfers"  # Messages of queues move between nodes.
XPATH = "xpath"  # Queries of the kind `"xpath"`.
SITES = "sites"  # Gateways of other sites.
CHAINS = "chains"  # Of gateways: relay to sites behind other sites.
LETTERS = "letters"  # Direct messages and requests to other sites.
STAYS = "stays"  # The flag 128.
RULES = "rules"  # Rules that all nodes share.
DURABLE = "durable"  # Durable subscriptions, the flags 1024 and 2048, and 256 on published messages.
DIRTY = "dirty"  # Dirty reads, and the flags 8192, 16384 and 32768.
OPERATOR = "operator"  # Of clients, over the local socket: use one of the 16 reserved sessions.
STRATA = "strata"  # Distances of nodes from masters.
WHERE = "where"  # Between nodes: lists of the names that a node has.
DIAL_BACK = "dial_back"  # The role `"dial_back"`, and the question of that name.
DIRECT = "direct"  # The flag 131072, and the verb `clients`.
VISITS = "visits"  # Sessions that move between nodes.
GAPS = "gaps"  # Of clients: heads of ITEMS without targets report gaps immediately.
HISTORY = "history"  # In SUBSCRIBE a number as `initial`.
SPACES = "spaces"  # Maps, counters, locks and tallies.
QUIET = "quiet"  # Erasures that notify no client, and the flag 65536.
TRANSACTIONS = "transactions"  # Of nodes: transactions of clients.

CHUNK = MIB  # Bytes of one frame of a longer body.
FRAME = MIB + 128 * KIB  # Bytes of any frame; the value of `ZMQ_MAXMSGSIZE`.
FRAMES = 130  # Frames of one message: the command, and 64 envelopes or 64 chunks and more.
WHOLE = MIB  # Bytes of a message that travels in one piece, where both ends know pieces.
PIECE = 128 * KIB  # Bytes of a piece.
PIECES_WINDOW = 2 * MIB  # Bytes of pieces in flight; the last piece may exceed it.
CONTROL_FRAME = 64 * KIB  # Bytes of a command without a limit of its own, and of the properties of a message.
INTEREST_FRAME = 16 * MIB  # Bytes of INTEREST from version 1. It arrives in pieces.
INTEREST_PART = 64 * KIB  # Bytes of a part of INTEREST to version 2.
CALL_FRAME = 256 * KIB  # Bytes of CALL, REPLY, CONSUME and SETTLE.

MAX_CONTENT = MIB  # Bytes of the content of a message: the default of `limits.max_content`.
MAX_CONTENT_EVER = 64 * MIB  # The highest value of `limits.max_content`.

ENVELOPE_MESSAGES = 2000  # Messages of an envelope.
# Bytes of a body with its keys, at which nothing more is added. The last message may exceed it.
ENVELOPE_BYTES = 256 * KIB
HOPS = 16  # Nodes that a message or a question may pass.
ROUTE = 64  # Hops of a route.
ENVELOPES_A_MESSAGE = 60  # Envelopes that a node sends in one message.

LARGEST_NUMBER = 2**63 - 1  # Largest integer.
LARGEST_SEQUENCE = 2**62 - 1  # Largest sequence number.

ADDRESS_CREDIT = 10_000  # Outstanding messages of a consumer of an address, or of a group member.
FARED = 100  # Addresses with counters of their own.
QUEUE_CREDIT = 1000  # Outstanding messages of a queue consumer.
PUT_GROUP = 200  # Characters of a message group.
REASON = 200  # Characters of the reason of a reject.
SELECTOR = 256  # Characters of a selector.
HISTORY_MESSAGES = 1000  # Messages in the history of a topic.
TRANSFERS_OPEN = 1000  # Envelopes of a queue in transit to one node.
TRANSFERS_BYTES = MIB  # Bytes of their bodies, without the last one.
TRANSACTION_BYTES = (
    8 * MIB
)  # Bytes of the bodies of a transaction: the default of `limits.transaction_bytes`.
TRANSACTION_BYTES_EVER = 64 * MIB  # The highest value of `limits.transaction_bytes`.
TRANSACTION_OPERATIONS = 10_000  # Settlements and messages of a transaction.
TRANSACTION_ENVELOPES = 1000  # Envelopes of a transaction.
TRANSACTIONS_OPEN = 64  # Transactions of a session without an answer.
KEY_XML = 16 * KIB  # Bytes of the field `xml`.
NOTE = 4 * KIB  # Bytes of the field `note` of a Row.

FOLLOWED = 256  # Domains of FOLLOW.

RESUMED = 64  # Subscriptions of one `resume`.

NAMES_OF_NODE = 50_000  # Names of one node in NAMES.

SITE_NODES = 4096  # Nodes of SITE and BEHIND.

DEPTH = 16  # Nesting of arrays and maps in a value of any type.
