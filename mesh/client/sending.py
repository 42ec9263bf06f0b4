"""The call of a client that sends to sessions, clients and addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Unpack, overload

from msgspec import Struct

from mesh.client.arguments import seconds, yes_or_no
from mesh.client.codecs import Codec
from mesh.client.content import Content, Headings, Prepared, address_of, check_destination, is_address
from mesh.client.destinations import XPATH, is_pattern, receivers, refuse_pattern
from mesh.client.like import shows_options
from mesh.client.options import DeliveryMode, SendOptions, check_options
from mesh.client.posting import Posting
from mesh.client.receipt import Receipt
from mesh.errors import BadArgument, NoHandlers, PublishRefused
from mesh.names import OTHERS, SENDS, SessionName
from mesh.shortening import shown
from mesh.values import Published, check_key
from mesh.wire.envelope import EVERY, FORCE_QUEUING, LOCAL_ONLY, ONE_SESSION

TOGETHER = 512  # destinations at a time; their refusals are remembered
_LIKE_A_SESSION = re.compile(r"(?P<client>[^/]+)/(?P<session>-?[1-9][0-9]{0,18})")  # an address such as joe/1


class Sent(Struct, frozen=True):
    """The outcome of a message to one of several destinations: either `result` or `error` is set."""

    destination: str
    result: Published | None = None
    error: PublishRefused | None = None


class OutgoingLetter(Struct, frozen=True):
    """A message for a destination, as the publisher expects it.

    `until` is the time at which a message to an address expires, by the client's clock; 0: never.
    """

    to: str
    message: Prepared
    flags: int  # for an address
    until: float = 0.0


class SendingVerbs(Posting):
    """The client's call that sends messages to sessions, clients and addresses."""

    def _letter(  # noqa: PLR0913
        self,
        destination: str,
        content: Content,
        *,
        force_queuing: bool = False,
        domain: str | None = None,
        key: str = "",
        headers: Headings = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        codec: Codec | str | None = None,
        delivery: DeliveryMode | None = None,
        local_only: bool = False,
    ) -> OutgoingLetter:
        if delivery not in (None, "one", "all"):
            raise BadArgument(f"delivery={shown(delivery)} is invalid.", hint='Use "one" or "all".')
        flags = LOCAL_ONLY if yes_or_no("local_only", local_only) else 0
        waits = FORCE_QUEUING if yes_or_no("force_queuing", force_queuing) else 0
        if is_address(destination):
            to = address_of(destination)
            _refuse_for_addresses(force_queuing=waits, domain=domain is not None, persistent=persistent)
            if key != "":
                check_key(key)
            message = self._prepared(to, content, headers=headers, priority=priority, codec=codec)
            flags |= EVERY if delivery == "all" else 0
            return OutgoingLetter(to, (key, *message[1:]), flags, self._until(expiry))
        to = check_destination(destination)
        if flags:
            hint = "Omit it. A message goes to the named session, or to sessions of the named client."
            raise BadArgument(f"local_only=True is for addresses, and {to} is not an address.", hint=hint)
        waits |= _to_one(to) if delivery == "one" else 0
        message = self._prepared(
            key, content, domain=domain, headers=headers, priority=priority, codec=codec,
            persistent=persistent, expiry=expiry,
        )  # fmt: skip
        return OutgoingLetter(to, (*message[:3], message[3] | waits, *message[4:]), 0)

    @overload
    async def send(
        self,
        destination: str,
        content: Content,
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> Published: ...
    @overload
    async def send(
        self,
        destination: list[str] | tuple[str, ...],
        content: Content,
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> list[Sent]: ...
    @shows_options(_letter)
    async def send(
        self,
        destination: str | list[str] | tuple[str, ...],
        content: Content,
        *,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> Published | list[Sent]:
        """Send a message to a session, to each session of a client, or to a service of an address.

        To an address, the message goes to one of its services, or with `delivery="all"` to each of them. To a
        client, it goes to each connected session, or with `delivery="one"` to that with the fewest unread
        bytes. A client without a node (`client/joe`) is found by the domain's rules. A prefix such as
        `/site/NYC` names another site.

        Args:
            destination: A session (`/node/heron/client/joe/session/1`, short `/node/heron/client/joe/1`), a
                client, an address (`calc/add`), or a list of them. In a list, `xpath://client[@name='joe']`
                stands for the connected sessions that the XPath selects, and `/site/*/calc/add` for a name
                in each other site.
            content: The content. This and the arguments not named here are as for `publish`.
            force_queuing: Whether the message waits in the inbox if the receiver is not connected.
            domain: For a client: the domain whose rules name its node.
            key: A key for the receiver. Default: none.
            expiry: Seconds until the message expires. A message that a service has begun no longer expires.
            delivery: "one" or "all". Default: "one" for an address, "all" for a client.
            local_only: For an address: whether to use only services at this client's node.

        Returns:
            The answer; `matched` counts the sessions or services that received the message, and 0 means that
                it waits.
            For several destinations: one `Sent` each, in order; then those of patterns, with one `Sent` for
                each node that did not report its clients.

        Raises:
            NotConnected, UnknownNode: The receiver is not connected, or its node is unknown.
            SiteUnreachable: No route leads to the site.
            NoHandlers: The address has no service.
            NotAvailable: The client's node runs an earlier release, without `delivery="one"` for clients.
            BadName, BadArgument, PublishRefused, MessageTooLarge, MeshTimeout: As for `publish`.

        Example:
            await m.send("/node/heron/client/joe", b"hello", force_queuing=True)
        """
        self._now()
        check_options(options, SendOptions)
        if isinstance(destination, list | tuple):
            make = partial(self._letter, content=content, **options)
            plan = [name if is_pattern(name) else make(name) for name in destination]
            return await self._sending(timeout, self._sent_each, plan, make)
        if is_pattern(destination):
            raise refuse_pattern(destination)
        letter = self._letter(destination, content, **options)
        return await self._sending(timeout, self._sent_one, letter)

    def _until(self, expiry: float | None) -> float:
        """Return the time at which a message to an address expires, by the client's clock; 0: never."""
        if expiry is None:
            return 0.0
        return self._now().requests.until(seconds("expiry", expiry, zero=True))

    async def _sent_one(self, sent: list[Receipt], letter: OutgoingLetter) -> Published:
        sent.append(await self._posted_letter(letter))
        try:
            return await sent[0]
        except PublishRefused as error:
            raise _explained(error, letter.to) from None

    def _check_letter(self, letter: OutgoingLetter) -> bool:
        """Return whether the destination is an address that services serve.

        Raises: NotAvailable, if the release of the connected node does not support the destination.
        """
        self._core.features.check_sites(letter.to)
        if is_served := is_address(letter.to):
            self._core.features.check_services()
        elif letter.to.startswith(OTHERS) and not _names_a_node(letter.to):
            self._core.features.check_direct("clients of other sites without a node")
        if letter.message[3] & ONE_SESSION:
            self._core.features.check_direct()
        return is_served

    async def _posted_letter(self, letter: OutgoingLetter) -> Receipt:
        if not self._check_letter(letter):
            return await self._post_when_room(letter.message, letter.to)
        number = await self._posted_to(
            letter.to, letter.message, letter.flags, letter.until, letter.message[0]
        )
        return Receipt(self, SENDS, number)

    async def _sent_each(
        self, sent: list[Receipt], plan: list[str | OutgoingLetter], make: Callable[[str], OutgoingLetter]
    ) -> list[Sent]:
        """Send the direct messages of a plan, also to receivers of its patterns; `make` creates a message.

        A receiver that the list or an earlier pattern has named already does not get the message again.
        """
        letters = [each for each in plan if not isinstance(each, str)]
        seen, silent = {letter.to for letter in letters}, dict[str, PublishRefused]()
        for pattern in [each for each in plan if isinstance(each, str)]:
            if pattern.startswith(XPATH):
                self._core.features.check_direct("XPaths of clients")
            names, errors = await receivers(pattern, self.call)
            letters += [make(name) for name in names if name not in seen]
            seen.update(names)
            silent |= errors
        outcomes = await self._sent_letters(sent, letters)
        return [*outcomes, *(Sent(name, error=error) for name, error in silent.items())]

    async def _sent_letters(self, sent: list[Receipt], letters: list[OutgoingLetter]) -> list[Sent]:
        for letter in letters:  # before the first is posted
            self._check_letter(letter)
        outcomes: list[Sent] = []
        for at in range(0, len(letters), TOGETHER):
            some = letters[at : at + TOGETHER]
            for letter in some:
                sent.append(await self._posted_letter(letter))
            outcomes += [await _outcome(each.to, it) for each, it in zip(some, sent[at:], strict=True)]
        return outcomes


def _names_a_node(to: str) -> bool:
    return SessionName.parse(to).is_absolute


def _to_one(to: str) -> int:
    """Return the flag for one session of the client `to`; 0 if `to` names one. Raises: BadArgument."""
    if to.startswith(OTHERS):
        hint = "Omit it, or name a session."
        raise BadArgument(
            f'delivery="one" is not supported for clients of other sites, such as {to}.', hint=hint
        )
    return ONE_SESSION if SessionName.parse(to).session is None else 0


def _refuse_for_addresses(**given: object) -> None:
    if not isinstance(given["persistent"], bool):
        yes_or_no("persistent", given["persistent"])
    for name, value in given.items():
        if value:
            hint = (
                "Omit it. A message to an address has no domain, stays in memory and needs a running service."
            )
            raise BadArgument(f"A message to an address cannot have {name!r}.", hint=hint)


async def _outcome(to: str, receipt: Receipt) -> Sent:
    try:
        return Sent(to, result=await receipt)
    except PublishRefused as error:
        return Sent(to, error=_explained(error, to))


def _explained(error: PublishRefused, to: str) -> PublishRefused:
    """Return the error, with a hint if an unserved address was probably meant as a session's name."""
    if isinstance(error, NoHandlers) and (found := _LIKE_A_SESSION.fullmatch(to)):
        error.hint = f"For session {found['session']} of the client {found['client']}: client/{to}"
    return error
