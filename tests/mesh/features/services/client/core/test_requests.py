"""Requests of a client, from sending to reply or failure. The test plays the node."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.errors import (
    Closed,
    HandlerLost,
    MeshError,
    MeshTimeout,
    NoHandlers,
    NotAvailable,
    PublishRefused,
    RequestFailed,
)
from mesh.features.services.client.core.requests import REPLIES, Bucket, One
from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.envelope import REQUEST, RESENT, Envelope
from tests.mesh.client.core.askers import SERVER, Bench, error_of, reply
from tests.mesh.client.core.benches import KEY, Promised, result


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (0.0, "a millisecond"),
        (1e-9, "a millisecond"),
        (0.25, "0.25 s"),
        (4.99999, "5 s"),
        (86400.0, "86400 s"),
    ],
)
def test_the_time_that_is_over_is_said_as_people_read_it(limit: float, said: str) -> None:
    promise = Promised()
    One(promise, Bucket(), "calc/add", limit).on_deadline()
    with pytest.raises(MeshTimeout, match=f"No reply came from calc/add within {said}\\."):
        result(promise)


def test_requests_of_one_turn_share_an_envelope_which_says_how_long_they_have() -> None:
    bench = Bench()
    asked = [bench.ask() for _ in range(256)]
    bench.wait()
    [(command, envelope)] = bench.published()
    assert (envelope.to, envelope.domain, envelope.flags, envelope.count) == ("calc/add", SENDS, REQUEST, 256)
    assert 5000 <= command.ttls[0] <= 5100 and [number for number, _ in asked] == list(range(1, 257))
    assert len(bench.core.requests._buckets) == 1, "one alarm for all of them"


def test_other_addresses_and_other_times_go_in_envelopes_of_their_own() -> None:
    bench = Bench()
    bench.ask("a")
    bench.ask("b")
    bench.ask("b", timeout=1.0)
    bench.core.publisher.post_to("b", "", b"", REQUEST, b"")
    bench.core.publisher.post_to("b", "", b"", 0, b"")
    bench.core.publisher.append_message("k", b"", "", 0, b"", 0)
    bench.wait(0.01)
    sent = bench.published()
    assert [(e.to, e.first, len(command.ttls)) for command, e in sent] == [
        ("a", 1, 1), ("b", 2, 1), ("b", 3, 1), ("b", 4, 0), ("b", 5, 0), ("", 1, 0),
    ]  # fmt: skip


def test_a_reply_keeps_the_promise_of_its_request_in_any_order_and_leaves_nothing() -> None:
    bench = Bench()
    asked = dict(bench.ask() for _ in range(5))
    bench.wait()
    bench.answer(1, 5)
    bench.item(reply(2, 4, 5, content=b"even"), reply(1, 3, content=b"odd"))
    said = {number: result(promise).content for number, promise in asked.items()}
    assert said == {1: b"odd", 2: b"even", 3: b"odd", 4: b"even", 5: b"even"}
    assert result(asked[1]).sender == SERVER and bench.is_empty


@pytest.mark.parametrize(
    ("code", "sender", "error"),
    [
        ("NOT_TODAY", SERVER, RequestFailed),
        ("HANDLER_LOST", SERVER, RequestFailed),
        ("HANDLER_LOST", "", HandlerLost),
        ("EXPIRED", "", MeshTimeout),
        ("REQUEST_FAILED", "", RequestFailed),
        ("WHATEVER", "", PublishRefused),
    ],
)
def test_a_reply_with_a_code_is_a_failure_and_says_whose(
    code: str, sender: str, error: type[MeshError]
) -> None:
    bench = Bench()
    number, promise = bench.ask()
    bench.wait()
    bench.item(reply(number, content=b"because\xff\n", code=code, sender=sender))
    failure = error_of(promise)
    assert type(failure) is error and bench.is_empty
    if isinstance(failure, RequestFailed):
        assert (failure.code, failure.text) == (code, "because\ufffd\n") and "\n" not in str(failure)


def test_a_refusal_is_told_to_each_that_it_is_of_and_is_kept_for_nobody() -> None:
    bench = Bench()
    asked = [bench.ask() for _ in range(3)]
    bench.wait()
    bench.answer(1, 2, "NO_HANDLERS")
    assert [type(error_of(promise)) for _, promise in asked[:2]] == [NoHandlers] * 2
    assert not asked[2][1].done()
    bench.core.publisher.verdicts.raise_first()  # raises the failure, as flush does
    bench.answer(3, 3, "EXPIRED")
    assert isinstance(error_of(asked[2][1]), MeshTimeout) and bench.is_empty


def test_a_request_whose_time_is_over_is_told_so_in_its_time_and_what_comes_later_is_counted() -> None:
    bench = Bench()
    asked = [bench.ask(timeout=1.0) for _ in range(2)]
    bench.wait(0.99)
    assert not asked[0][1].done()
    bench.wait(0.04)
    assert [type(error_of(promise)) for _, promise in asked] == [MeshTimeout] * 2
    assert bench.is_empty
    bench.answer(1, 2)
    bench.item(reply(1, 2))
    assert bench.core.requests.late == 2


@pytest.mark.parametrize("timeout", [0.0, 5e-324, 1e-308, 1e-9, 0.001, 0.3, 5.0, 86_400.0, 3e9])
def test_a_time_is_kept_and_never_cut_short(timeout: float) -> None:
    bench = Bench()
    bench.context.now = 12_345.678
    until = bench.core.requests.until(timeout)
    assert bench.context.now + timeout <= until <= bench.context.now + timeout * (1 + 1 / 32) + 0.01


def test_one_that_is_forgotten_leaves_nothing_and_its_refusal_is_nobodys() -> None:
    bench = Bench()
    (one, promise), (other, _) = bench.ask(), bench.ask()
    bench.core.requests.drop_request(one)
    bench.core.requests.drop_request(one)
    bench.core.requests.drop_request(other)
    assert bench.is_empty
    bench.wait()
    bench.answer(1, 1, "NO_HANDLERS")
    bench.item(reply(1, 2))
    bench.core.publisher.verdicts.raise_first()
    assert not promise.done() and bench.core.requests.late == 2


def test_a_reply_before_the_answer_counts_and_one_that_comes_twice_is_late() -> None:
    bench = Bench()
    number, promise = bench.ask()
    bench.wait()
    bench.item(reply(number))
    assert result(promise).content == b"yes"
    bench.item(reply(number))
    bench.answer(1, 1, "NO_HANDLERS")
    assert bench.core.requests.late == 1


def test_a_reply_is_the_answer_to_its_request_also_when_nobody_waits_for_it_any_more() -> None:
    bench = Bench()
    (one, _), (other, _) = bench.ask(), bench.ask("b")
    bench.wait(0.01)
    bench.core.requests.drop_request(other)
    outbox = bench.core.publisher.outbox
    assert (outbox.unanswered, outbox.flight) == (2, 2)
    bench.item(reply(one, other))
    assert (outbox.unanswered, outbox.flight) == (0, 0)
    bench.lose()
    assert bench.published() == [], "nothing of it is sent again"


def test_after_its_reply_the_next_request_leaves_at_once() -> None:
    bench = Bench()
    number, _ = bench.ask()
    bench.wait()
    bench.ask("b")
    bench.wait()
    assert [e.to for _, e in bench.published()] == ["calc/add"]
    bench.item(reply(number))
    assert [e.to for _, e in bench.published()] == ["calc/add", "b"]


@pytest.mark.parametrize("envelope", [reply(2), replace(reply(1), flags=0), replace(reply(1), domain="")])
def test_what_is_no_reply_to_it_is_no_answer(envelope: Envelope) -> None:
    bench = Bench()
    bench.ask()
    bench.wait()
    bench.item(envelope)
    assert bench.core.publisher.outbox.unanswered == 1


def test_what_comes_again_one_by_one_goes_on_with_a_reply_as_with_an_answer() -> None:
    bench = Bench()
    bench.ask()
    bench.wait(0.01)
    bench.ask("b")
    bench.wait(0.01)
    for _ in range(2):
        bench.hear(c.Refuse("MALFORMED", "what was that?"))
        bench.lose()
    assert [e.to for _, e in bench.published()] == ["calc/add"]
    bench.item(reply(1))
    bench.wait()
    assert [e.to for _, e in bench.published()] == ["calc/add", "b"]


def test_items_of_replies_are_used_up_when_they_come_and_counted_anew_in_another_process() -> None:
    bench = Bench()
    number, _ = bench.ask()
    for _ in range(3):
        bench.item(reply(number))
    bench.wait(0.1)
    assert [said.taken for said in bench.sent() if isinstance(said, c.Ack)][-1] == ((REPLIES, 3),)
    bench.lose(boot=2)
    bench.seq = 0
    bench.item(reply(number))
    bench.wait(0.1)
    assert [said.taken for said in bench.sent() if isinstance(said, c.Ack)][-1] == ((REPLIES, 1),)


# --- another node, another process ----------------------------------------------------------------------


def test_after_a_reconnect_to_the_same_process_all_goes_on_and_what_is_unanswered_is_sent_as_it_was() -> None:
    bench = Bench()
    bench.item(reply(77))
    (_, first), (_, second) = bench.ask(), bench.ask("b")
    bench.wait(0.01)
    bench.answer(1, 1)
    bench.lose()
    [(command, envelope)] = bench.published()
    assert (envelope.first, envelope.flags) == (2, REQUEST) and command.ttls[0] < 5050
    bench.item(reply(1, 2))
    assert result(first).content == result(second).content == b"yes"


def test_a_node_that_may_have_forgotten_the_session_hears_that_it_is_sent_again() -> None:
    bench = Bench()
    bench.ask()
    bench.wait(0.01)
    bench.lose(next=1)  # nothing sent: a new session looks the same
    assert [e.flags for _, e in bench.published()] == [REQUEST | RESENT]


@pytest.mark.parametrize("how", [{"boot": 2}, {"next": 1}])
def test_in_another_process_what_somebody_had_is_lost_and_the_rest_is_marked(how: dict[str, Any]) -> None:
    bench = Bench()
    bench.item(reply(77))
    (_, had), (_, unknown) = bench.ask(), bench.ask("b")
    bench.wait(0.01)
    bench.answer(1, 1)
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    (_, later) = bench.ask("c")
    bench.wait()
    bench.lose(**how)
    assert isinstance(error_of(had), HandlerLost)
    sent = [(e.to, e.flags) for _, e in bench.published()]
    assert sent == [("b", REQUEST | RESENT), ("c", REQUEST)], "what never left was sent nowhere else"
    assert not unknown.done() and not later.done()
    bench.lose(boot=9)
    bench.lose(boot=9)
    assert [e.flags for _, e in bench.published()] == [REQUEST | RESENT] * 2, "for good"


def test_what_is_sent_again_after_its_time_is_over_says_so_and_not_that_it_has_for_ever() -> None:
    bench = Bench()
    bench.ask(timeout=1.0)
    bench.wait(0.01)
    bench.lose(after=3.0)
    assert [command.ttls for command, _ in bench.published()] == [(1,)]


def test_ends_of_what_is_settled_are_not_kept() -> None:
    bench = Bench()
    for number in range(1, 601):
        bench.ask(f"a{number % 2}")
        bench.wait(0.002)
        bench.answer(number, number)
        bench.item(reply(number))
    assert len(bench.core.sender.deadlines) <= 2 and bench.is_empty
    assert len(bench.core.requests._buckets) < 200


def test_a_node_of_an_earlier_release_is_sent_nothing_of_it() -> None:
    bench = Bench()
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    _, promise = bench.ask()
    bench.lose(speaks=("pieces",))
    assert error_of(promise).code == "NOT_AVAILABLE" and not bench.published()
    with pytest.raises(NotAvailable):
        bench.core.features.check_services()


# --- growth, and the end --------------------------------------------------------------------------------


def test_thousands_that_are_open_end_with_the_client_and_each_is_told() -> None:
    bench = Bench()
    asked = [bench.ask()[1] for _ in range(2_000)]
    _, gathered = bench.gather()
    bench.wait()
    bench.core.close()
    assert all(isinstance(error_of(promise), Closed) for promise in asked)
    assert isinstance(gathered.error, Closed) and bench.is_empty
    bench.wait(60.0)
    assert bench.context.due == float("inf")


def test_an_answer_that_names_more_numbers_than_there_are_costs_no_more_than_there_are() -> None:
    bench = Bench()
    _, promise = bench.ask()
    bench.wait()
    bench.answer(1, 2**62, "NO_HANDLERS")
    assert isinstance(error_of(promise), NoHandlers)


def test_replies_to_nobody_and_what_is_no_reply_are_counted_and_change_nothing() -> None:
    bench = Bench()
    number, promise = bench.ask()
    bench.wait()
    bench.item(reply(5, 6, 2**62))
    bench.item(replace(reply(number), flags=0))
    bench.item(replace(reply(number), domain="NEWS"))
    assert not promise.done() and bench.core.requests.late == 5 and bench.core.line.is_up


def test_the_stream_of_sends_is_numbered_by_itself() -> None:
    bench = Bench()
    bench.core.publisher.append_message("k", b"x", "", 0, b"", 0)
    assert bench.ask()[0] == 1
    with pytest.raises(PublishRefused) as caught:
        bench.core.publisher.append_message("k", b"x", SENDS, 0, b"", 0)
    assert caught.value.code == "RESERVED" and bench.core.publisher.stream == KEY.id
