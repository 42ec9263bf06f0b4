"""Program that commits and prints each answer, for tests that break the disk beneath it.

    python -m tests.mesh.store.committing DIRECTORY COUNT

Prints `ready POSITION`, then for each of COUNT commits `ok POSITION` or `error CODE`. Each commit has one
envelope, and every tenth drops an earlier one. The program waits for the answer before the next commit.
"""

import sys
from collections.abc import Hashable
from pathlib import Path
from queue import Queue

from mesh.errors import StoreError
from mesh.operations import Append, Drop, Op
from mesh.store.opening import open_guarded
from mesh.store.worker import StoreWorker
from tests.waiting import LIMIT

ME = b"m" * 16


def main(directory: Path, count: int) -> None:
    answers: Queue[StoreError | None] = Queue()

    def done(tokens: list[Hashable], error: StoreError | None) -> None:
        answers.put(error)

    store = open_guarded(directory, ME, 1, 0, lambda level, text: None)
    position = store.load().next_position
    say(f"ready {position}")
    worker = StoreWorker(store, done, store.tend)
    for place in range(position, position + count):
        ops: list[Op] = [Append(place, b"%d" % place, b"%d" % place * 1000)]
        if place % 10 == 0:
            ops.append(Drop((place - 5,)))
        worker.submit(place, ops)
        error = answers.get(timeout=LIMIT)
        say(f"ok {place}" if error is None else f"error {error.code}")
    worker.close(LIMIT)


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]))
    except StoreError as failure:
        say(f"failed {failure.code}")
