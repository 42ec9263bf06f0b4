"""A master refuses envelopes with invalid names or properties."""

import pytest
from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.kernel.delivery import envelope_check
from mesh.kernel.delivery.envelope_check import EnvelopeCheck
from mesh.wire.envelope import ERASED, Envelope
from tests.mesh.envelopes import envelope

OWN = "/node/heron/client/__sys__"


def refused(e: Envelope) -> str:
    try:
        EnvelopeCheck("heron").check_envelope(e)
    except LocalError as error:
        return error.code
    return ""


@pytest.mark.parametrize(
    ("e", "code"),
    [
        (envelope("k"), ""),
        (envelope("k/l m", domain="RUGBY"), ""),
        (envelope("k", domain="x\0"), "BAD_KEY"),
        (envelope("a/+/b"), "BAD_KEY"),
        (replace(envelope("k"), keys=("",)), "BAD_KEY"),
        (replace(envelope("k"), keys=("",), to="client/joe"), ""),
        (replace(envelope("k"), keys=("a\0",), to="client/joe"), "BAD_KEY"),
        (envelope("__sys__up"), "RESERVED"),
        (replace(envelope("__sys__up"), sender=OWN), ""),
        (replace(envelope("__sys__up"), sender="/node/frodo/client/__sys__"), "RESERVED"),
        (replace(envelope("__sys__up k"), sender=OWN), "RESERVED"),
        (envelope("__sys__up", flags=ERASED), ""),
        (replace(envelope("__sys__up", flags=ERASED), keys=("__sys__up", "a\0")), "BAD_KEY"),
        (replace(envelope("__sys__up"), to="client/joe"), ""),
        (replace(envelope("k"), xml="<key>"), "BAD_XML"),
    ],
)
def test_each_name_is_checked(e: Envelope, code: str) -> None:
    assert refused(e) == code


def test_a_key_is_checked_once_unless_it_is_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(envelope_check, "check_key", checked.append)
    check = EnvelopeCheck("heron").check_envelope
    for _ in range(3):
        check(envelope("a b"))
    assert checked == ["a", "b"]
    for _ in range(2):
        check(replace(envelope("__sys__up"), sender=OWN))
        with pytest.raises(LocalError):
            check(envelope("__sys__up"))
    check(replace(envelope("c"), to="client/joe"))  # the key of a direct message is not checked
    check(envelope("c"))
    assert checked == ["a", "b", *["__sys__up"] * 4, "c", "c"]


def test_few_keys_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope_check, "CHECKED", 3)
    checks = EnvelopeCheck("heron")
    for n in range(20):
        checks.check_envelope(envelope(f"k{n}"))
        assert len(checks._checked) <= 3
