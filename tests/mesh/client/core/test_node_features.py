"""The calls and messages that a node of an earlier release does not support."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.client.core.node_features import NodeFeatures
from mesh.errors import NotAvailable
from mesh.names import OTHERS, PUTS, SENDS
from mesh.wire.envelope import ONE_SESSION
from mesh.wire.limits import DIRECT, LETTERS, QUEUES, QUIET, SERVICES
from tests.mesh.envelopes import envelope

CHECKS = {
    SERVICES: lambda it: it.check_services(),
    QUEUES: lambda it: it.check_queues(),
    QUIET: lambda it: it.check_quiet(),
    LETTERS: lambda it: it.check_sites(f"{OTHERS}LON/client/joe"),
    DIRECT: lambda it: it.check_direct(),
}
PLAIN = envelope()
NEEDY = {
    SERVICES: envelope(domain=SENDS),
    QUEUES: envelope(domain=f"{PUTS}jobs"),
    LETTERS: replace(PLAIN, to=f"{OTHERS}LON/client/joe"),
    DIRECT: envelope(flags=ONE_SESSION),
}


def features(*words: str, is_up: bool = True) -> NodeFeatures:
    line: Any = Mock(words=frozenset(words), is_up=is_up)
    return NodeFeatures(line)


@pytest.mark.parametrize("feature", CHECKS)
def test_a_call_needs_its_feature_and_only_while_connected(feature: str) -> None:
    others = [word for word in CHECKS if word != feature]
    with pytest.raises(NotAvailable, match="earlier release"):
        CHECKS[feature](features(*others))
    CHECKS[feature](features(feature))
    CHECKS[feature](features(is_up=False))


def test_a_receiver_of_this_site_needs_no_sites() -> None:
    features().check_sites("joe")


@pytest.mark.parametrize("feature", NEEDY)
def test_an_unanswered_message_is_refused_if_it_needs_what_the_node_lacks(feature: str) -> None:
    others = [word for word in NEEDY if word != feature]
    found = features(*others).unsupported_envelopes([PLAIN, *NEEDY.values()])
    assert [e for e, _ in found] == [NEEDY[feature]]
    assert features(*NEEDY).unsupported_envelopes(NEEDY.values()) == []
    assert len(features().unsupported_envelopes([PLAIN, *NEEDY.values()])) == len(NEEDY)
