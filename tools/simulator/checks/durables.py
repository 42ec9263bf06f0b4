"""Durable subscriptions for the queue invariants: each copy counts as a put."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from math import inf

from mesh.patterns import matches
from tools.simulator.checks.facts import Facts, Id, answers, final, published
from tools.simulator.checks.losing import KEPT_TWICE
from tools.simulator.history import Event, History


def with_copies(history: History, facts: Facts) -> History:
    """Return the history with a put for each published message that matches a durable subscription.

    A copy is owed if the message was published when all nodes knew the subscription, and answered OK, and if
    the subscription never ends.
    """
    durables: dict[str, Event] = {}
    for e in history.of("durable"):
        durables.setdefault(e.domain, e)
    if not durables:
        return history
    ended = {e.to for e in history.of("fault") if e.text == "queue removed"}
    found, seconds = History(), list(_accepted_again(history))
    copies = [
        event
        for each in durables.values()
        for event in (
            *_copies(each, history, owes=each.domain not in ended),
            *(kept_twice(accepted, each.domain) for accepted in seconds),
        )
    ]
    found.events = sorted([*history.events, *copies], key=lambda e: e.at)
    found.counts = history.counts
    return found


def _copies(durable: Event, history: History, owes: bool) -> Iterator[Event]:
    said = answers(history)
    for name, pub in published(history).items():
        if pub.to or durable.text not in ("", pub.domain) or not matches(durable.keys[0], pub.keys[0]):
            continue
        copy = copy_of(name, durable.domain)
        flags = "p" if "p" in pub.flags else "pt"
        put = replace(
            pub, kind="put", stream=copy[0], domain=copy[1], keys=("", ""), flags=flags, who="", to=""
        )
        yield put
        if owes and pub.at > durable.at and final(said.get(name)) == "OK":
            at = next(e.at for e in said[name] if e.text == "OK")
            yield replace(put, kind="put said", at=at, text="OK")


def _accepted_again(history: History) -> Iterator[Event]:
    """Yield each message that a second master accepted after a process ended, or has kept since.

    The second master cannot know whether the first one has the message.
    """
    pubs, masters, ended = published(history), defaultdict[Id, set[str]](set), -inf
    for e in history.of("accept", "again", "crash", "stop"):
        if e.kind in ("crash", "stop"):
            ended = e.at
            continue
        for number in e.numbers:
            name = e.stream, e.domain, number
            masters[name].add(e.who)
            is_second = len(masters[name]) > 1 or e.kind == "again"
            if is_second and name in pubs and pubs[name].at <= ended:
                yield replace(e, first=number, last=number)


def kept_twice(accepted: Event, queue: str) -> Event:
    """Return an event by which both masters may have kept a copy of the message."""
    stream, domain, number = copy_of(accepted.id, queue)
    return replace(accepted, kind=KEPT_TWICE, stream=stream, domain=domain, first=number, last=number)


def copy_of(name: Id, queue: str) -> Id:
    """Return the id of the copy of a message in the queue of a durable subscription."""
    stream, domain, number = name
    if domain:
        stream = blake2b(bytes.fromhex(stream) + domain.encode(), digest_size=16).hexdigest()
    return stream, queue, number


__all__ = ["copy_of", "with_copies"]
