"""The call of a client that commits settlements and messages all together, or not at all."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Literal, Self, Unpack, cast
from uuid import uuid4

from mesh.client.arguments import seconds
from mesh.client.content import Content, is_address
from mesh.client.options import PublishOptions, PutOptions, SendOptions
from mesh.client.posting import Posting
from mesh.errors import BadArgument, Closed, InDoubt, MeshTimeout, TransactionRefused
from mesh.features.transactions.client.core.open_commit import OpenCommit
from mesh.features.transactions.client.database.database_operations import DatabaseOperations
from mesh.features.transactions.client.operations import Operations, PlannedMessage, delivery_of
from mesh.features.transactions.wire import ACK, NACK
from mesh.reserved import check_domain_free
from mesh.values import Published, message_id
from mesh.wire.commands import Answer
from mesh.wire.limits import TRANSACTION_BYTES

TransactionOutcome = Literal["committed", "refused"]

TIMEOUT = 30.0  # s
LONGEST = 2**32 - 1  # ms


class Transaction:
    """Settlements and messages that the node accepts all together when the block ends, or refuses all.

    The operations do no I/O; bad arguments raise immediately. An exception in the block drops all of them.
    With a database, its changes and the messages are committed together; a sender delivers them afterwards.

    Example:
        async with m.transaction() as tx:
            tx.ack(job)
            tx.put("invoices", invoice)
            tx.publish("orders/42", "done")
    """

    def __init__(self, client: Posting, timeout: float, database: DatabaseOperations | None = None) -> None:
        self._client, self._timeout = client, timeout
        self._database = database
        self._operations: Operations | None = None  # None: not begun, or over
        self._results: list[Published] | None = None
        self._leaving: list[Any] = []  # consumers that leave when their only job is settled
        self._handed: tuple[OpenCommit, Operations] | None = None  # from the commit on
        self._name = self._node = ""  # of a prepared transaction, and of its node

    @property
    def results(self) -> list[Published]:
        """The answers to the messages, in the order of the calls. Raises: Closed before the commit.

        With a database there are none, as its sender receives the answers.
        """
        if self._results is None:
            raise Closed("The transaction is not committed.")
        return self._results

    # --- operations -------------------------------------------------------------------------------------

    def ack(self, job: Any) -> None:
        """Acknowledge a delivery of a queue.

        Args:
            job: The delivery.

        Raises:
            LocalError: The message was settled before (SETTLED), or another job of the transaction was
                delivered by another node (TWO_NODES).
            LeaseOver: The message is no longer this consumer's.
            BadArgument: `job` is no delivery of this client.
            MessageTooLarge: The transaction has too many operations.

        Example:
            tx.ack(job)
        """
        self._settle(job, ACK, 0)

    def nack(self, job: Any, *, delay: float = 0.0) -> None:
        """Return a delivery to its queue, to be delivered again, as `Delivery.nack` does.

        Args:
            job: The delivery.
            delay: Seconds until the redelivery, at least. Default: 0.

        Raises:
            LocalError, LeaseOver, BadArgument, MessageTooLarge: As for `ack`.

        Example:
            tx.nack(job, delay=5)
        """
        ms = -int(-seconds("delay", delay, zero=True) * 1000 // 1)
        if ms > LONGEST:
            raise BadArgument(f"delay={delay} is too large.", hint="Use at most 4,294,967 s (49 days).")
        self._settle(job, NACK, ms)

    def _settle(self, job: Any, what: int, delay: int) -> None:
        if self._database is not None:
            text = "A transaction of a database settles no deliveries: the node is not part of it."
            raise BadArgument(text, hint="Use consume(inbox=…), which acks a job after the commit.")
        taking, of = delivery_of(job)
        if job._hands._client is not self._client:
            raise BadArgument(
                "The delivery belongs to another client.", hint="Use a transaction of that one."
            )
        self._now_open().add_job(taking, of, what, delay)
        if job._hands.once:
            self._leaving.append(job._hands.taking)

    def put(self, queue: str, content: Content, **options: Unpack[PutOptions]) -> None:
        """Put a message into a queue.

        Args:
            queue: The name of the queue.
            content: The content, as for `publish`.
            options: The options of `Queue.put`, without `timeout`.

        Raises:
            BadName, BadArgument, MessageTooLarge: As for `Queue.put`.

        Example:
            tx.put("invoices", {"order": 42}, priority=9)
        """
        putting = cast("Any", self._client).queue(queue)
        (key, body, to, flags, props, expires, _), how = putting._prepared(content, **self._given(options))
        self._client._publisher.check_message(key, body, to)
        self._messages().add_message(to, flags, to, how, "", key, body, props, expires)

    def publish(self, key: str, content: Content, **options: Unpack[PublishOptions]) -> None:
        """Publish a message. It is persistent unless `persistent=False`.

        Args:
            key: The topic's key.
            content: The content, as for `publish` of the client.
            options: The options of `publish`, without `timeout`.

        Raises:
            BadKey, BadArgument, PublishRefused, MessageTooLarge: As for `publish`.

        Example:
            tx.publish("orders/42", "done")
        """
        given: Any = self._given({"persistent": True, **options})
        key, body, domain, flags, props, expires, xml = self._client._prepared(key, content, **given)
        check_domain_free(domain)
        self._client._publisher.check_message(key, body)
        self._messages().add_message(domain, flags, "", (), xml, key, body, props, expires)

    def send(self, destination: str, content: Content, **options: Unpack[SendOptions]) -> None:
        """Send a message to a client or session. It is persistent unless `persistent=False`.

        Args:
            destination: The client or session. An address is refused, as services are outside of the mesh's
                stores.
            content: The content, as for `publish`.
            options: The options of `send`, without `timeout` and `delivery`.

        Raises:
            BadName, BadArgument, PublishRefused, MessageTooLarge: As for `send`.

        Example:
            tx.send("/client/joe", b"ok")
        """
        if is_address(destination) or options.get("delivery") is not None:
            what = "A transaction sends messages to clients and sessions, and to all sessions of a client."
            raise BadArgument(what, hint="Put a message into a queue, or send it outside of the transaction.")
        given = self._given({"persistent": True, **options})
        letter = cast("Any", self._client)._letter(destination, content, **given)
        key, body, domain, flags, props, expires, xml = letter.message
        check_domain_free(domain)
        self._client._publisher.check_message(key, body, letter.to)
        self._messages().add_message(domain, flags, letter.to, (), xml, key, body, props, expires)

    def _given(self, options: Any) -> Any:
        return options if self._database is None else self._database.options(options)

    def _messages(self) -> Operations | DatabaseOperations:
        operations = self._now_open()
        return operations if self._database is None else self._database

    def _now_open(self) -> Operations:
        if self._operations is None:
            raise Closed("The transaction is not open.", hint="Use it inside its `async with` block.")
        return self._operations

    # --- begin and end ----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._operations is not None or self._results is not None:
            raise Closed("The transaction was begun before.", hint="Create another one.")
        most_bytes = TRANSACTION_BYTES
        if self._database is not None:
            await self._database.begin()
        else:
            core = self._client._now()
            core.features.check_transactions()
            most_bytes = core.commits.max_bytes
        self._operations = Operations(self._client._accumulator.max_content, most_bytes)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._name:
            return
        operations, self._operations = self._now_open(), None
        if self._database is not None:
            await self._database.end(is_failed=kind is not None)
            self._results = []
        elif kind is None and not operations.count:
            self._results = []
        elif kind is None:
            await self._commit(operations)

    async def prepare(self, name: str = "") -> str:
        """Store the transaction without effect, as the last line of its block, and return its full name.

        Its deliveries are held, and its messages wait, until `commit_prepared` or `rollback_prepared`, also
        over restarts of the node.

        Args:
            name: The coordinator's name for it, unique among those of this user. Default: a random one.

        Raises:
            TransactionRefused: Nothing has happened: NAME_TAKEN, TOO_MANY_PREPARED, or as for a commit.
            InDoubt: It may be prepared: see `recover`.
            Closed: The transaction is not open.
            BadArgument: The transaction has a database.

        Example:
            name = await tx.prepare("xid-17")
        """
        if self._database is not None:
            what = "A transaction of a database cannot be prepared."
            raise BadArgument(what, hint="Prepare it with the database's own commands.")
        operations, self._operations = self._now_open(), None
        self._name = name or uuid4().hex
        node = await self._commit(operations)
        self._results = None
        return f"{node}/{self._name}"

    async def _commit(self, operations: Operations) -> str:
        """Commit, or prepare, and return the name of the node."""
        try:
            answers = await self._client._within(self._timeout, self._answered, operations)
        except MeshTimeout as error:
            if self._handed is None:
                raise
            self._client._core.commits.give_up(self._handed[0])
            what = f"The transaction was not answered within {self._timeout:g} s: {error.what}"
            raise InDoubt(what, hint="Await `m.outcome(tx)`, or look before repeating it.") from None
        except TransactionRefused as error:
            self._leaving.clear()  # the job can be settled again
            _, settled = operations.settles()
            error.operation = operations.operation_of(error.operation, settled)
            raise
        finally:
            for taking in self._leaving if self._handed is not None else ():
                self._client._core.queues.end_consumption(taking)
        self._results = [self._published(answers, message) for message in operations.messages]
        return self._node

    async def _outcome(self) -> TransactionOutcome:
        """Return the outcome when it is known. Raises: Closed, InDoubt."""
        if self._results is None and self._handed is None:
            raise Closed("The transaction was not committed.", hint="Await the end of its block first.")
        if self._results is None and self._handed is not None:
            it, operations = self._handed
            try:
                answers = await self._client._core.commits.when_ended(it)
            except TransactionRefused:
                return "refused"
            self._results = [self._published(answers, message) for message in operations.messages]
        return "committed"

    async def _answered(self, operations: Operations) -> list[Answer]:
        client = self._client
        while not client._now().commits.has_room:
            await client._change()
        core = client._now()
        core.features.check_transactions()
        operations.check_jobs(core.line.handshake.node)
        settles, _ = operations.settles()
        it = core.commits.hand_over(settles, operations.held(), operations.envelopes(core.stream), self._name)
        self._node = core.line.home
        self._handed = it, operations
        client._shell.hurry()
        answers: list[Answer] = await it.promise
        return answers

    def _published(self, answers: list[Answer], message: PlannedMessage) -> Published:
        answer = answers[message.envelope]
        name = message_id(self._client._stream, answer.domain, answer.first + message.place)
        return Published(answer.state, name, answer.matched, answer.text)  # type: ignore[arg-type]
