"""How much may one frame, message or name hold? The same figures on both ends."""

MIB = 1024 * 1024
KIB = 1024

VERSION_MIN = 1  # oldest wire version this code speaks
VERSION_MAX = 1  # newest one

CHUNK = MIB  # a longer body travels in several frames of this size
FRAME = MIB + 128 * KIB  # ZMQ_MAXMSGSIZE: a chunk and room for a header
FRAMES = 130  # of one ZeroMQ message: one command and 64 envelopes, or 64 chunks and more
CONTROL_FRAME = 64 * KIB  # first frame of every message, and the header of an envelope

MAX_CONTENT = MIB  # default of `limits.max_content`
MAX_CONTENT_EVER = 64 * MIB

ENVELOPE_MESSAGES = 500  # an envelope is full at this count …
ENVELOPE_BYTES = 256 * KIB  # … or at this size of its body
ENVELOPES_A_MESSAGE = 60  # envelopes that wait together travel together, up to here
