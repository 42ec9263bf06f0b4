"""The certificate that counts for a session."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.proof import attach_text, erasing_stream
from mesh.routing.visits import Standing, Visits
from mesh.security.signing import verify
from mesh.security.streamkey import StreamKey
from mesh.wire.sessions import Certificate

JOE, ANN = "/node/heron/client/joe/session/1", "/node/heron/client/ann/session/1"
KEY = StreamKey(b"j" * 32)
HERON, STORK = b"h" * 16, b"s" * 16


def certificate(attach: int, node: bytes = STORK, session: str = JOE, key: StreamKey = KEY) -> Certificate:
    return Certificate(session, key.public, attach, node, key.sign(attach_text(session, attach, node)))


def test_law_1_the_highest_attach_number_counts() -> None:
    visits = Visits(verify)
    assert visits.find(KEY.id) is None and not visits.has_left(KEY.id, HERON)
    assert visits.observe(certificate(2)) is Standing.NEWER
    assert visits.observe(certificate(2)) is Standing.SAME
    assert visits.observe(certificate(1, HERON)) is Standing.OUTDATED
    assert visits.find(KEY.id) == certificate(2)
    assert visits.is_at(KEY.id, STORK) and visits.has_left(KEY.id, HERON)
    assert visits.observe(certificate(3, HERON)) is Standing.NEWER
    assert visits.has_left(KEY.id, STORK) and not visits.has_left(KEY.id, HERON)


def test_a_session_is_found_by_its_name() -> None:
    visits = Visits(verify)
    assert visits.of_session(JOE) is None
    visits.observe(certificate(2))
    visits.observe(certificate(1, HERON))
    assert visits.of_session(JOE) == certificate(2) and visits.of_session(ANN) is None
    visits.observe(certificate(3, HERON, ANN))  # the same stream in a session with another name
    assert visits.of_session(JOE) is None and visits.of_session(ANN) == certificate(3, HERON, ANN)


def test_of_two_certificates_with_one_number_the_first_counts() -> None:
    visits = Visits(verify)
    visits.observe(certificate(2))
    assert visits.observe(certificate(2, HERON)) is Standing.OUTDATED
    assert visits.is_at(KEY.id, STORK)


@pytest.mark.parametrize(
    "change",
    [{"attach": 3}, {"node": HERON}, {"session": ANN}, {"signature": b"x" * 64},
     {"key": StreamKey(b"o" * 32).public}],
)  # fmt: skip
def test_law_2_a_changed_certificate_does_not_count(change: dict[str, Any]) -> None:
    visits = Visits(verify)
    with pytest.raises(RemoteError) as refused:
        visits.observe(replace(certificate(2), **change))
    assert (refused.value.code, len(visits)) == ("FORGED_VISIT", 0)


@pytest.mark.parametrize(
    "change",
    [{"attach": 0}, {"node": b"h"}, {"session": "client/joe"}, {"session": "/node/heron/client/joe"},
     {"session": "joe"}, {"signature": b""}, {"key": b"k"}, {"session": "/node/heron/client/joe/session/01"}],
)  # fmt: skip
def test_a_malformed_certificate_is_refused_before_its_signature_is_checked(change: dict[str, Any]) -> None:
    def unreachable(*_: object) -> bool:
        raise AssertionError("no signature is checked")

    with pytest.raises(RemoteError) as refused:
        Visits(unreachable).observe(replace(certificate(2), **change))
    assert refused.value.code == "MALFORMED"


def test_a_node_vouches_only_for_the_session_in_the_certificate() -> None:
    visits = Visits(verify)
    visits.observe(certificate(1))
    assert visits.vouch(KEY.id, JOE, STORK) and visits.vouch(erasing_stream(KEY.id), JOE, STORK)
    assert not visits.vouch(KEY.id, JOE, HERON)
    assert not visits.vouch(KEY.id, ANN, STORK)
    assert not visits.vouch(b"?" * 16, JOE, STORK)


def test_law_3_an_older_certificate_proves_that_the_session_was_there() -> None:
    visits = Visits(verify)
    visits.observe(certificate(2))
    visits.observe(certificate(3, HERON))
    assert visits.vouch(KEY.id, JOE, STORK) and visits.was_guest(JOE, STORK)
    assert not visits.was_guest(ANN, STORK) and not visits.was_guest(JOE, b"i" * 16)
    assert visits.guests(STORK) == [certificate(2)] and visits.guests(HERON) == [certificate(3, HERON)]


def test_the_number_of_known_sessions_is_bounded() -> None:
    visits = Visits(lambda *_: True, most=3)
    for n in range(5):
        visits.observe(certificate(1, key=StreamKey(bytes([n]) * 32)))
    assert len(visits) == 3


def test_a_message_may_have_a_route_over_a_node_of_its_session_or_from_an_unknown_one() -> None:
    visits, ibis = Visits(verify), b"i" * 16
    assert visits.proof_of_route(KEY.id, JOE, [STORK]) is None
    visits.observe(certificate(1, HERON))
    visits.observe(certificate(2))
    for nodes, attach in (([HERON], 1), ([STORK], 2), ([None], 2), ([ibis, HERON], 1), ([None, HERON], 2)):
        proof = visits.proof_of_route(KEY.id, JOE, nodes)
        assert proof is not None and proof.attach == attach
        assert visits.proof_of_route(erasing_stream(KEY.id), JOE, nodes) == proof
    for nodes in ([], [ibis], [ibis, None]):
        assert visits.proof_of_route(KEY.id, JOE, nodes) is None
    assert visits.proof_of_route(KEY.id, ANN, [STORK]) is None
    assert visits.proof_of_route(b"?" * 16, JOE, [None, STORK]) is None
