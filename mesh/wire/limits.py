"""How much may one frame, message or name hold? The same figures on both ends."""

MIB = 1024 * 1024
KIB = 1024

VERSION_MIN = 1  # oldest wire version this code speaks
VERSION_MAX = 2  # newest one
# Words for what somebody understands beyond his version of the wire.
PIECES, WAYS, SHARED, SERVICES, QUEUES = "pieces", "ways", "shared", "services", "queues"
TRANSFERS = "transfers"
XPATH = "xpath"  # queries of that kind
SITES = "sites"  # gateways of other sites
CHAINS = "chains"  # and sites that are reached by others
LETTERS = "letters"  # to sessions, and requests to addresses, of other sites
STAYS = "stays"  # the flag of what leaves no site
RULES = "rules"  # that all nodes share
DURABLE = "durable"  # subscriptions that last, and the marks of copies for several masters
DIRTY = "dirty"  # what is given before its master has it, and the flags that say so
OPERATOR = "operator"  # a client is the operator's: over the local file some sessions are kept free for it
STRATA = "strata"  # how far nodes are from masters
GAPS = "gaps"  # heads without targets, which tell a client of gaps that nothing follows

CHUNK = MIB  # a longer body travels in several frames of this size
FRAME = MIB + 128 * KIB  # ZMQ_MAXMSGSIZE, so the most that any frame can be
FRAMES = 130  # of one ZeroMQ message: one command and 64 envelopes, or 64 chunks and more
WHOLE = MIB  # a message of more bytes travels in pieces, where both ends know them:
PIECE = 128 * KIB  # bytes of one …
PIECES_WINDOW = 2 * MIB  # … and of those that are not acknowledged
CONTROL_FRAME = 64 * KIB  # a command that a stranger or a client may send, and a message's own properties
INTEREST_FRAME = 16 * MIB  # of a node of version 1: all that its clients want; it comes in pieces
INTEREST_PART = 64 * KIB  # of a later one: a part of that
CALL_FRAME = 256 * KIB  # a question and its reply, which tell of each node

MAX_CONTENT = MIB  # default of `limits.max_content`
MAX_CONTENT_EVER = 64 * MIB

ENVELOPE_MESSAGES = 2000  # an envelope is full at this count, and never holds more …
ENVELOPE_BYTES = 256 * KIB  # … or at this size of its body and keys, so the last message may go beyond it
HOPS = 16  # nodes that a message or a question may come by
ROUTE = 64  # hops that a route can list; nodes stop long before
ENVELOPES_A_MESSAGE = 60  # envelopes that wait together travel together, up to here

LARGEST_NUMBER = 2**63 - 1  # what SQLite and PostgreSQL can hold
LARGEST_SEQUENCE = 2**62 - 1  # number of a message in its stream

ADDRESS_CREDIT = 10_000  # messages that are out at once at one who serves an address, or is in a group,
FARED = 100  # addresses that have figures of their own
QUEUE_CREDIT = 1000  # … or takes from a queue
PUT_GROUP = 200  # characters of a group of messages in a queue, and
REASON = 200  # of why somebody rejects one
SELECTOR = 256  # characters of which messages of a queue somebody wants
TRANSFERS_OPEN = 1000  # envelopes that move from one part of a queue to another, and are not answered,
TRANSFERS_BYTES = MIB  # … and bytes of their bodies, beside the last one
KEY_XML = 16 * KIB  # bytes of the XML of a key
NOTE = 4 * KIB  # of what is said of those who serve a name at a node

FOLLOWED = 256  # domains of which one node wants to know how far another one is from their masters

SITE_NODES = 4096  # nodes that one site tells another of

DEPTH = 16  # of arrays and maps in each other, where a command carries values of any kind
