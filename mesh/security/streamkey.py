"""Ownership of a client's streams: the key pair after which a stream is named."""

from mesh.proof import stream_of
from mesh.security.signing import public_key, sign

STREAM_SEED = 32  # random bytes that the key pair is made of


class StreamKey:
    """The key pair of one session. Only the owner of the seed can publish in its streams, at any node."""

    __slots__ = ("_seed", "id", "public")

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self.public: bytes = public_key(seed)
        self.id: bytes = stream_of(self.public)

    def sign(self, text: bytes) -> bytes:
        return sign(self._seed, text)
