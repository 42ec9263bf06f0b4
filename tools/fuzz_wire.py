"""Checks that mutated messages are admitted or refused by the wire code, guided by atheris if installed.

python -m tools.fuzz_wire [--seconds N] [--seed N]
"""

import argparse
import contextlib
import importlib
import importlib.util
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgpack

GUIDE = importlib.import_module("atheris") if importlib.util.find_spec("atheris") else None

with GUIDE.instrument_imports(include=["mesh"]) if GUIDE else contextlib.nullcontext():
    from tools.models.hostile import GOOD, try_to_read

SLOW = 0.05  # most s of CPU for one message
HEADS = bytes.fromhex("00 7f 80 8f 90 9f a0 bf c0 c1 c4 c6 c7 ca cb cc cf d0 d3 d6 d9 db dc dd de df e0 ff")
WILD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 500, 2**32, 2**63 - 1, 2**63, 0.5, "", "text", b"", b"\x00\x00", [], [1, 1],
    {"a": 1},
)  # fmt: skip


def join(frames: list[bytes]) -> bytes:
    """Return frames as one byte string, each after its length."""
    return b"".join([len(frame).to_bytes(2) + frame for frame in frames])


def split(data: bytes) -> list[bytes]:
    """Split any bytes into frames."""
    frames = []
    while data:
        end = 2 + int.from_bytes(data[:2])
        frames.append(data[2:end])
        data = data[end:]
    return frames


def try_one(data: bytes) -> bool:
    """Return whether the frames are a message.

    An error other than RemoteError ends the program, and so does a message that takes too long.
    """
    frames = split(data)
    start = time.process_time()
    try:
        admitted = try_to_read(frames)
    except BaseException:
        print("frames:", *(frame.hex() or "(empty)" for frame in frames), sep="\n  ", file=sys.stderr)
        raise
    taken = time.process_time() - start
    if taken > SLOW:
        sys.exit(f"{taken:.3f} s for frames: {' '.join(frame.hex() for frame in frames)}")
    return admitted


def mutate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Return a message with a few changes, of bytes or of decoded values."""
    frames = split(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        place = chance.randrange(len(frames))
        try:
            value = msgpack.unpackb(frames[place])
        except (ValueError, TypeError, msgpack.UnpackException):
            value = None
        if isinstance(value, list) and chance.random() < 0.6:
            frames[place] = msgpack.packb(changed(value, chance))
        else:
            frames[place] = scratched(frames[place], other, chance)
    if chance.random() < 0.05:
        chance.shuffle(frames)
    return join(frames)


def changed(value: Any, chance: random.Random) -> Any:
    """Return a msgpack value with one place changed."""
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        new = (
            [changed(value[at], chance), value[at]] if chance.random() < 0.1 else [changed(value[at], chance)]
        )
        return value[:at] + (new if chance.random() < 0.95 else []) + value[at + 1 :]
    if isinstance(value, bytes) and chance.random() < 0.8:
        return scratched(value, value, chance)
    if type(value) is int and abs(value) < 2**62 and chance.random() < 0.7:
        return value + chance.choice((-1, 1, 2, -value, value, 65536))
    return chance.choice(WILD)


def scratched(frame: bytes, other: bytes, chance: random.Random) -> bytes:
    """Return bytes with one place changed, removed, doubled or copied from `other`."""
    at, length = chance.randrange(len(frame) + 1), chance.randint(1, 8)
    match chance.randrange(5):
        case 0:
            return frame[:at] + bytes([chance.choice(HEADS)]) + frame[at + 1 :]
        case 1:
            return frame[:at] + chance.randbytes(1) + frame[at + 1 :]
        case 2:
            return frame[:at] + frame[at + length :]
        case 3:
            return frame[:at] + frame[at : at + length] * 2 + frame[at + length :]
        case _:
            start = chance.randrange(len(other) + 1)
            return frame[:at] + other[start : start + length] + frame[at:]


def run(seconds: float, chance: random.Random) -> None:
    """Try mutants of valid messages, and of admitted mutants."""
    good = [join(frames) for frames in GOOD.values()]
    more = ("Publish", "Items", "Reply", "Sends", "Consume", "Settle", "Transfer")  # the more complex ones
    good += [join(GOOD[name]) for name in more] * 5
    pool = list(good)
    tried = admitted = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(100):
            source = chance.choice(good if chance.random() < 0.7 else pool)
            data = mutate(source, chance.choice(good), chance)
            tried += 1
            if try_one(data):
                admitted += 1
                if len(data) < 4096:
                    place = chance.randrange(512)
                    pool[place : place + 1] = [data]
    print(f"{tried} messages, {admitted} of them admitted, the others refused: nothing worse")


def run_guided(guide: Any, seconds: float, seed: int) -> None:
    """Try mutants, guided by the branches that a message reaches."""
    with tempfile.TemporaryDirectory() as corpus:
        for name, frames in GOOD.items():
            (Path(corpus) / name).write_bytes(join(frames))
        options = [f"-max_total_time={int(seconds)}", f"-seed={seed}", "-max_len=8192"]
        guide.Setup([sys.argv[0], *options, corpus], try_one)
        guide.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description="Send mutated messages to the wire code.")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds to run; default: 20")
    parser.add_argument(
        "--seed",
        type=int,
        default=random.randrange(2**31),
        help="seed, which repeats a run if atheris is not installed; default: random",
    )
    options = parser.parse_args()
    print(f"seed {options.seed}")
    if GUIDE:
        run_guided(GUIDE, options.seconds, options.seed)
    else:
        run(options.seconds, random.Random(options.seed))


if __name__ == "__main__":
    main()
