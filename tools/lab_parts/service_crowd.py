"""The servers and requesters of a long run."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from tools.lab_parts.crowd import Place, Roles, lines
from tools.lab_parts.service_ledger import Book
from tools.running.service_records import asked_lines, served_lines

SERVER, ASKER = "server", "asker"


class ServiceRoles(Roles):
    """Servers and requesters, with their records by address.

    `rate` is the number of requests per second of each requester.
    """

    fates: ClassVar[Mapping[str, tuple[str, int]]] = {
        "leaves": (SERVER, 4),
        "is killed": (SERVER, 4),
        "stands still": (SERVER, 2),
        "caller is killed": (ASKER, 1),
        "caller leaves": (ASKER, 1),
    }
    fashionable = SERVER

    def __init__(self, chance: random.Random, rate: int, books: dict[str, Book]) -> None:
        self._chance, self._rate, self._books = chance, rate, books

    def command(self, place: Place, life: str, node: str) -> Sequence[str]:
        book = self._books[place.what]
        if place.kind == SERVER:
            book.served_at[life] = node
            return ["tools.running.service_server", node, place.what, life, f"{life}.txt"]
        book.asked_at[life] = node
        own = [life, str(self._rate), f"{life}.txt", str(self._chance.randrange(10**6))]
        return ["tools.running.service_asker", node, place.what, *own]

    def befell(self, fate: str, life: str) -> None:
        if fate == "caller is killed":
            for book in self._books.values():
                book.killed.add(life)

    def read(self, folder: Path) -> None:
        for book in self._books.values():
            for life in book.asked_at:
                book.asked[life] = asked_lines(lines(folder / f"{life}.txt"))
            for life in book.served_at:
                book.served[life] = served_lines(lines(folder / f"{life}.txt"))
