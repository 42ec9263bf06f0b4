"""Explains topics, clients and messages by the sessions here: subscriptions, backlogs and refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.session import INBOX, REPLIES, Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.names import SessionName
from mesh.patterns import matches
from mesh.printable import count
from mesh.reasons.near import near, near_patterns
from mesh.reasons.reason import ago, reason
from mesh.routing.feed import Feed
from mesh.values import messages
from mesh.wire.commands import Query
from mesh.wire.replies import Reason

SHOWN = 8  # sessions in one answer
QUERIES, SLICES = 10_000, 20_000  # examined at most


def of_topic(
    context: NodeContext, sessions: Sessions, takers: Iterable[Feed], key: str, domain: str
) -> Iterator[Reason]:
    """Yield reasons about a topic from `takers`, its local subscriptions.

    If there are none, the reasons name subscriptions that almost match.
    """
    wanting = [(session, feed) for feed in takers if (session := sessions.holder(feed)) is not None]
    if wanting:
        who = [session.text for session, _ in wanting]
        yield reason("SUBSCRIBED", who=who)
        yield from islice(_slow(context, wanting), SHOWN)
    else:
        queries = list(islice(_queries(sessions), QUERIES))
        yield from _near(queries, key, domain)


def _slow(context: NodeContext, wanting: Iterable[tuple[Session, Feed]]) -> Iterator[Reason]:
    for session, feed in wanting:
        if session.conn is None:
            yield reason(
                "SUBSCRIBER_AWAY", who=session.text, age=_gone(context, session), n=messages(feed.pending)
            )
        elif feed.pending and not feed.alive(context.clock.now):
            yield reason("SUBSCRIBER_SLOW", who=session.text, n=messages(feed.pending))


def _near(queries: list[Query], key: str, domain: str) -> Iterator[Reason]:
    """Yield reasons for similar subscriptions: another key, or the same key in another domain."""
    here = (query.text for query in queries if query.domain in ("", domain))
    if found := near_patterns(key, here):
        yield reason("NEAR_KEY", near=found)
    others = {
        query.domain for query in queries if query.domain not in ("", domain) and matches(query.text, key)
    }
    if others:
        yield reason(
            "OTHER_DOMAIN", near=sorted(others), domain=f"domain {domain}" if domain else "no domain"
        )


def _queries(sessions: Sessions) -> Iterator[Query]:
    for feed in sessions.feeds():
        yield from feed.queries


def of_client(context: NodeContext, sessions: Sessions, name: SessionName) -> Iterator[Reason]:
    """Yield reasons about a client: a recent refusal, and its sessions here or clients with similar names."""
    found = list(islice(sessions.all_of(name), SHOWN))
    is_ours = name.node in (None, context.me.name)
    if (
        is_ours
        and (refused := context.refused_clients.last_refusal(name.client, context.clock.now)) is not None
    ):
        age = ago(context.clock.now - refused.at)
        yield reason("CLIENT_REFUSED", who=name.client, why=f"{refused.reason} [{refused.code}]", age=age)
    elif (
        is_ours
        and not found
        and (stranger := context.refused_clients.stranger(context.clock.now)) is not None
    ):
        yield reason(
            "STRANGER_REFUSED", who=name.client, why=stranger.reason, age=ago(context.clock.now - stranger.at)
        )
    for session in found:
        yield from _of_session(context, session)
    if not found and (names := near(name.client, sessions.clients())):
        yield reason("NEAR_CLIENT", near=names)


def _of_session(context: NodeContext, session: Session) -> Iterator[Reason]:
    feeds = [feed for number, feed in session.feeds.items() if number not in (INBOX, REPLIES)]
    waiting = sum(feed.pending for feed in session.feeds.values())
    if session.conn is None:
        yield reason("CLIENT_AWAY", who=session.text, age=_gone(context, session), n=messages(waiting))
        return
    yield reason("CLIENT_HERE", who=session.text, n=count(len(feeds), "subscription"))
    slow = (feed for feed in feeds if feed.pending and not feed.alive(context.clock.now))
    for feed in islice(slow, SHOWN):
        what = [query.text for query in feed.queries]
        yield reason("CLIENT_SLOW", who=session.text, what=what, n=messages(feed.pending))


def of_message(
    context: NodeContext, sessions: Sessions, stream: bytes, domain: str, number: int
) -> Iterator[Reason]:
    """Yield reasons about a message: its publisher here, and subscribers that have not read it yet."""
    if (is_done := context.counters.accounts.is_done(stream, domain, number)) is not None:
        session = sessions.by_stream.get(stream)
        who = session.text if session is not None else "a session that no longer exists"
        answer = "has its final answer" if is_done else "waits for its final answer"
        yield reason("PUBLISHED_HERE", who=who, answer=answer)
    looked = 0
    for session in sessions.by_stream.values():
        for feed in session.feeds.values():
            looked += feed.items
            if feed.items and looked < SLICES and feed.holds(stream, domain, number):
                yield reason("HELD_FOR", who=session.text)


def _gone(context: NodeContext, session: Session) -> str:
    return ago(context.clock.now - session.gone_since)
