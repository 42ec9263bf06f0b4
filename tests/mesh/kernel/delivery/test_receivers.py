"""The receivers of an accepted envelope."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.errors import NoQueue
from mesh.kernel.delivery.receivers import Receivers
from mesh.names import CLIENT, QUEUE
from mesh.routing.sink import Targets
from mesh.wire.envelope import FIRST, LOCAL_ONLY, RESENT, SECOND, Envelope
from tests.mesh.envelopes import envelope

SITE: Any = Mock(name="site")
COPY: Any = "copy"


class Stage:
    """Receivers with one subscriber of each kind, which receives all messages."""

    def __init__(self, copies: bool = False) -> None:
        self.context: Any = Mock()
        self.context.face.message_sinks = [Mock()]
        self.context.face.message_sinks[0].plan.return_value = [(SITE, None)]
        self.context.face.message_sinks[0].match.return_value = [SITE]
        self.context.face.message_sinks[0].names.return_value = ["LON"]
        self.context.face.address_resolvers = {CLIENT: Mock()}
        self.merging: Any = Mock()
        self.merging.news.return_value = None
        self.receivers = receivers = Receivers(self.context, self.merging)
        for name in ("clients", "peers", "groups"):
            index = Mock()
            index.plan.return_value, index.match.return_value = [(name, None)], [name]
            setattr(receivers, name, index)
        receivers.has_groups = True
        bindings: Any = Mock()
        bindings.any = copies
        bindings.copies.return_value = [(COPY, [])]
        receivers.bindings = bindings

    def targets(self, e: Envelope) -> set[Any]:
        pieces, matched = self.receivers.pieces(e, e)
        assert matched == len(pieces[0][1]) + len(pieces) - 1
        found: set[Any] = {taker for _, targets in pieces for taker, _ in targets}
        return found | {piece for piece, _ in pieces[1:]}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (0, {"clients", "peers", SITE, "groups", "copy"}),
        (LOCAL_ONLY, {"clients", "groups"}),
        (FIRST, {"clients", "peers", SITE, "groups", "copy"}),
        (SECOND, {"clients", "peers", SITE}),
    ],
)
def test_marks_and_flags_choose_the_receivers(flags: int, expected: set[Any]) -> None:
    assert Stage(copies=True).targets(envelope("k", flags=flags)) == expected


@pytest.mark.parametrize(
    ("flags", "may_be_second"), [(0, False), (FIRST, False), (RESENT, False), (FIRST | RESENT, True)]
)
def test_a_resent_first_copy_may_be_the_second_for_durable_subscriptions(
    flags: int, may_be_second: bool
) -> None:
    stage = Stage(copies=True)
    stage.targets(envelope("k", flags=flags))
    assert stage.receivers.bindings.copies.call_args.args[1] is may_be_second  # type: ignore[attr-defined]


def test_without_groups_and_durable_subscriptions_nothing_of_theirs_is_called() -> None:
    stage = Stage()
    stage.receivers.has_groups = False
    assert stage.targets(envelope("k")) == {"clients", "peers", SITE}
    assert not stage.receivers.bindings.copies.called  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("news", "planned", "expected"),
    [
        (None, None, [None]), ((0, 2), None, [(0, 2)]), ((0, 2), (1, 2), [(2,)]), ((0, 2), (1,), []),
        ((), None, []),
    ],
)  # fmt: skip
def test_a_client_receives_a_relayed_message_of_another_site_once(
    news: Any, planned: Any, expected: Any
) -> None:
    stage = Stage()
    stage.merging.news.return_value = news
    stage.receivers.clients.plan.return_value = [("joe", planned)]  # type: ignore[attr-defined]
    e = replace(envelope("a b c", flags=LOCAL_ONLY), sender="/site/LON/node/x/client/y/session/1")
    stage.receivers.has_groups = False
    pieces, _ = stage.receivers.pieces(e, e)
    targets: Targets = pieces[0][1]
    assert [indices for _, indices in targets] == expected


def test_a_direct_message_goes_to_its_address_only() -> None:
    stage = Stage(copies=True)
    resolver = stage.context.face.address_resolvers[CLIENT]
    e = replace(envelope("k"), to="client/joe")
    assert stage.receivers.pieces(e, e) is resolver.addressed.return_value
    with pytest.raises(NoQueue):
        stage.receivers.addressees("queue/jobs")
    stage.context.face.address_resolvers[QUEUE] = queues = Mock()
    assert stage.receivers.addressees("queue/jobs") is queues


@pytest.mark.parametrize(("is_local", "expected"), [(False, ["clients", "peers", SITE]), (True, ["clients"])])
def test_groups_are_owed_nothing_from_before_the_start(is_local: bool, expected: list[Any]) -> None:
    assert [*Stage().receivers.wanting("k", "", "", is_local)] == expected


def test_the_sites_of_a_topic_are_named() -> None:
    assert Stage().receivers.sites_for("k", "D") == ["LON"]
