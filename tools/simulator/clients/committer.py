"""A client that commits transactions, with each transaction and its outcome in the history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from mesh.client.core.delivered_envelope import DeliveredEnvelope
from mesh.errors import LocalError, MeshError, WouldBlock
from mesh.features.transactions.client.operations import Operations
from mesh.names import PUTS
from mesh.wire.envelope import PERSISTENT
from mesh.wire.properties import Properties, encode_properties
from tools.simulator.clients.taker import LATER, SAYS, WORDS, Consumer, Taker, can_settle, name_of

Silent = tuple[Consumer, tuple[DeliveredEnvelope, int]]  # a delivery without a settlement
Post = tuple[str, str, bytes]  # queue, or domain and key; content


class Committer(Taker):
    """A client whose transactions settle deliveries that it has left without a settlement.

    Its events: `commit` when a transaction is handed over, with the settled messages in `keys` and its own
    messages in `route`; `commit said` with its outcome.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._commits = self.new_posts()

    def commit(self, most: int, word: str, puts: Sequence[Post], posts: Sequence[Post], flags: str) -> None:
        """Commit as soon as another transaction may be handed over.

        It settles at most `most` deliveries by the outcome `word`, and puts and publishes messages.
        """
        self._commits.append(partial(self._commit_now, most, word, puts, posts, flags))
        self.post_waiting()

    def _commit_now(
        self, most: int, word: str, puts: Sequence[Post], posts: Sequence[Post], flags: str
    ) -> None:
        core = self.core
        if not core.commits.has_room:
            raise WouldBlock("too many transactions are open")
        jobs = list(islice(self._silent(), most))
        operations = Operations(core.publisher.accumulator.max_content)
        try:
            for it, one in jobs:
                operations.add_job(it.taking, one, SAYS[word], LATER * (word == "d"))
            if jobs:
                operations.check_jobs(core.line.handshake.node)
        except LocalError as error:
            self.history.met(f"commit not sent: {error.code}")
            return
        _add_messages(operations, puts, posts, flags)
        if not operations.count:
            return
        for it, one in jobs:
            it.silent.remove(one)
        settles, _ = operations.settles()
        handed = core.commits.hand_over(settles, operations.held(), operations.envelopes(core.stream))
        numbers = [(e.domain, e.number(i)) for e in handed.envelopes for i in range(e.count)]
        for domain, number in numbers:
            self._watch(domain, number)
        self.event(
            "commit",
            stream=self.stream.hex(),
            first=handed.number,
            keys=tuple("{} {} {}".format(*name_of(*one)) for _, one in jobs),
            route=tuple(f"{domain} {number}" for domain, number in numbers),
            text=WORDS[SAYS[word]],
            flags=flags,
        )
        promise: Any = handed.promises[0]
        promise.then(partial(self._commit_said, handed.number, jobs, word))

    def _silent(self) -> Iterator[Silent]:
        for it in self.takers.values():
            yield from ((it, one) for one in it.silent if can_settle(it.taking, one))

    def _watch(self, domain: str, number: int) -> None:
        verdicts = self.core.publisher.verdicts
        if domain.startswith(PUTS):
            put: Any = verdicts.when_answered(domain, number, True)
            put.then(partial(self._put_said, domain, number))
            return
        for last in (False, True):
            promise: Any = verdicts.when_answered(domain, number, last)
            promise.then(partial(self._judged, (domain, number), last))

    def _commit_said(self, number: int, jobs: Sequence[Silent], word: str, _: Any, error: Any) -> None:
        code = error.code if isinstance(error, MeshError) else "OK"
        if self.is_closed:
            return
        self.history.met(f"transaction: {code}")
        self.event("commit said", stream=self.stream.hex(), first=number, text=code)
        for it, one in jobs:
            if code == "OK":
                self._told_of(it, "says", one, text=WORDS[SAYS[word]])
                self._told_of(it, "settled", one, text=WORDS[SAYS[word]])
            elif code != "IN_DOUBT":
                self.net.after(0.0, partial(self._work_at, it, [one], True))

    @property
    def is_through(self) -> bool:
        return super().is_through and not len(self.core.commits)


def _add_messages(operations: Operations, puts: Sequence[Post], posts: Sequence[Post], flags: str) -> None:
    flag, props = PERSISTENT * ("p" in flags), encode_properties(Properties())
    for queue, _, content in puts:
        operations.add_message(PUTS + queue, flag, PUTS + queue, (), "", "", content, props, 0)
    for domain, key, content in posts:
        operations.add_message(domain, flag, "", (), "", key, content, props, 0)
