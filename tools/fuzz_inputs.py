"""Checks that hostile key files, tokens, adverts, gossip and segments cause no error but a refusal.

python -m tools.fuzz_inputs [--seconds N] [--seed N] [WHAT...]
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.fuzz_targets import TARGETS, Target
from tools.fuzz_wire import SLOW
from tools.running.scratch import memory_directory


@contextmanager
def made(what: str) -> Iterator[Target]:
    """Yield a target with files of its own, in memory if possible, as some are synced each time."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory_directory()) as place:
        yield TARGETS[what](Path(place))


def try_one(target: Target, data: bytes) -> bool:
    """Return whether the input is admitted.

    An error other than a refusal ends the program, and so does an input that takes too long.
    """
    start = time.process_time()
    try:
        admitted = target.read(data)
    except BaseException:
        print(f"input: {data.hex() or '(empty)'}", file=sys.stderr)
        raise
    if (taken := time.process_time() - start) > SLOW:
        sys.exit(f"{taken:.3f} s for {data.hex()}")
    return admitted


def run(target: Target, chance: random.Random, goes_on: Callable[[int], bool]) -> tuple[int, int]:
    """Try mutants of valid inputs and of admitted mutants, as long as `goes_on(tried)` is true.

    Return how many were tried, and how many were admitted.
    """
    pool, tried, admitted = list(target.good), 0, 0
    for data in target.good:
        assert try_one(target, data), f"a good one is refused: {data!r}"
    while goes_on(tried):
        data = target.mutate(chance.choice(pool), chance.choice(target.good), chance)
        tried += 1
        if try_one(target, data):
            admitted += 1
            if len(data) < 4096:
                pool[len(target.good) :] = [*pool[len(target.good) :], data][-500:]
    return tried, admitted


def until(seconds: float) -> Callable[[int], bool]:
    end = time.monotonic() + seconds
    return lambda tried: time.monotonic() < end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", nargs="*", choices=[[], *TARGETS], help="targets; default: all")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds for each target; default: 20")
    parser.add_argument(
        "--seed", type=int, default=random.randrange(2**31), help="seed, which repeats a run; default: random"
    )
    options = parser.parse_args()
    print(f"seed {options.seed}")
    for what in options.what or TARGETS:
        with made(what) as target:
            tried, admitted = run(target, random.Random(options.seed), until(options.seconds))
        print(f"{what}: {tried} inputs, {admitted} of them admitted, the others refused: nothing worse")


if __name__ == "__main__":
    main()
