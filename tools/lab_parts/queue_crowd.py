"""The producers and consumers of a long run."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from tools.lab_parts.crowd import Place, Roles, lines
from tools.lab_parts.queue_ledger import Book
from tools.running.queue_records import read_answers, read_events

TAKER, PUTTER = "taker", "putter"


class QueueRoles(Roles):
    """Producers and consumers, with their records by queue.

    `rate` is the number of messages per second of each producer.
    """

    fates: ClassVar[Mapping[str, tuple[str, int]]] = {
        "leaves": (TAKER, 4),
        "is killed": (TAKER, 3),
        "stands still": (TAKER, 2),
        "producer is killed": (PUTTER, 1),
        "producer leaves": (PUTTER, 1),
    }
    fashionable = TAKER

    def __init__(self, chance: random.Random, rate: int, books: dict[str, Book]) -> None:
        self._chance, self._rate, self._books = chance, rate, books

    def command(self, place: Place, life: str, node: str) -> Sequence[str]:
        book, path = self._books[place.what], f"{place.what}-{life}.txt"
        if place.kind == PUTTER:
            book.put_at[life] = node
            module, own = "producer", [life, str(self._rate), path]
        else:
            book.taken_at[life] = node
            module, own = "consumer", [path, str(self._chance.randrange(10**6))]
        return [f"tools.running.queue_{module}", node, place.what, *own]

    def may_befall(self, fate: str, place: Place) -> bool:
        # A leaving consumer returns unstarted messages without a mark, so they come late then.
        return not (fate == "leaves" and self._books[place.what].keeps_order)

    def read(self, folder: Path) -> None:
        for queue, book in self._books.items():
            for life in book.put_at:
                book.answers.update(read_answers(lines(folder / f"{queue}-{life}.txt")))
            for life in book.taken_at:
                book.events[life] = read_events(lines(folder / f"{queue}-{life}.txt"))
