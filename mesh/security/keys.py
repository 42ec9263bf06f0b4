"""CURVE keys of a process for binding and dialing, and their text form."""

from dataclasses import dataclass, field

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Pair:
    """A key pair, each half 32 bytes in Z85. The secret half is "" if only the other end has it."""

    public: str
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a process: `mine` for dialing, `server` for each ROUTER, and `gossip` for each PUB.

    All nodes know `server` and `gossip`. Clients know the public half of `server` only, so only a node can
    bind in the mesh's name.
    """

    mine: Pair
    server: Pair
    gossip: Pair = Pair("")


def z85(data: bytes) -> str:
    """Return the bytes in Z85, as ZeroMQ writes keys: five letters for four bytes. Raises: ValueError."""
    if len(data) % 4:
        raise ValueError(f"{len(data)} bytes cannot be written in Z85")
    letters = []
    for at in range(0, len(data), 4):
        number = int.from_bytes(data[at : at + 4])
        letters += [_Z85[number // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(letters)


def unz85(text: str) -> bytes:
    """Return the bytes of a text in Z85. Raises: ValueError."""
    if len(text) % 5:
        raise ValueError(f"{len(text)} letters are not Z85")
    data = b""
    for at in range(0, len(text), 5):
        number = 0
        for letter in text[at : at + 5]:
            number = number * 85 + _Z85.index(letter)
        if number >= 2**32:
            raise ValueError("five letters exceed the value of four bytes")
        data += number.to_bytes(4)
    return data
