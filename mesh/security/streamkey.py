"""What shows that a client's stream is its own? A key pair made for it, after which the stream is named."""

from mesh.proof import stream_of
from mesh.security.signing import public_key, sign

STREAM_SEED = 32  # bytes of chance that the pair is made of


class StreamKey:
    """Of one session. Who has the seed can publish in its streams, at any node; nobody else can."""

    __slots__ = ("_seed", "id", "public")

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self.public: bytes = public_key(seed)
        self.id: bytes = stream_of(self.public)

    def sign(self, text: bytes) -> bytes:
        """64 bytes."""
        return sign(self._seed, text)
