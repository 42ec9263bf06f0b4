"""Signing of rules by an admin: only on top of a signed list that is not older than the last known one."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from mesh.errors import KeysRefused, LocalError
from mesh.mapping.agreed import Agreed, AgreedNode, packed, unpacked
from mesh.mapping.rules import Rule
from mesh.security.joining import new_mesh
from mesh.security.keyfiles import MeshFile, read_admin, rules_path, rules_seen, write_admin, write_mesh
from mesh.security.ruling import NewRules, new_rules
from mesh.security.signing import public_key, sign, verify
from mesh.shared.row import NOBODY, SharedRow
from mesh.wire.limits import RULES
from mesh.wire.replies import RulesTold

NOW = 1_800_000_000 * 10**9
HOUR = 3600 * 10**9
OTHER = b"x" * 32  # seed of another admin
TO_HERON = Agreed({"heron": AgreedNode((Rule("heron", domains=("NEWS",)),))})
EVIL = Agreed({"bilbo": AgreedNode((Rule("bilbo", domains=("SECRET",)),))})


class Desk:
    """The state directory of an admin, with the keys of one mesh."""

    def __init__(self, state: Path) -> None:
        self.state, self.environ = state, {"MESH_STATE_DIR": str(state)}
        self.file: MeshFile = new_mesh(state, "lab")
        self.seed = read_admin(state, "lab")

    def told(self, agreed: Agreed, stamp: int, seed: bytes = b"", **fields: object) -> RulesTold:
        """Return the rules as a node with such a row reports them."""
        seed = seed or self.seed
        row = SharedRow(RULES, "", stamp, packed(agreed), NOBODY, 0).signed(
            public_key(seed), partial(sign, seed)
        )
        told = RulesTold(value=row.value, stamp=stamp, next=stamp + 1, keys=True, admin=self.file.admin)
        return replace(told, signature=row.signature, **fields)

    def denies(self, found: RulesTold, now: int = NOW, cluster: str = "lab") -> NewRules:
        """Return the list with a further, denied node."""
        new = new_rules(
            found, lambda it: it.with_("mallory", AgreedNode(None, False)), cluster, self.environ, now
        )
        assert new is not None
        return new


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Desk]:
    yield Desk(tmp_path)


def test_what_the_admin_has_signed_is_built_on_and_signed_again(context: Desk) -> None:
    new = context.denies(context.told(TO_HERON, NOW - 5, next=NOW - 1))
    row = new.row
    assert verify(context.file.admin, row.signature, row.text) and row.key == context.file.admin
    assert (new.was, row.stamp, unpacked(row.value).base) == (NOW - 5, NOW - 1, NOW - 5)
    assert unpacked(row.value).nodes.keys() == {"heron", "mallory"}


def test_where_there_were_none_yet_the_first_are_signed(context: Desk) -> None:
    first = context.denies(RulesTold(value=b"", stamp=0, next=NOW - 1, keys=True)).row
    assert verify(context.file.admin, first.signature, first.text)
    assert unpacked(first.value).nodes.keys() == {"mallory"}


def test_what_he_has_not_signed_is_never_built_on(context: Desk) -> None:
    found = context.told(TO_HERON, NOW - 5)
    for lie in (
        replace(found, value=packed(EVIL)),
        replace(found, value=b""),
        replace(found, stamp=NOW - 4),
        replace(found, stamp=0),
        replace(found, signature=b"\0" * 64),
        replace(found, signature=b"no signature"),
        replace(found, signature=b""),
        context.told(EVIL, NOW - 5, OTHER),
        replace(context.told(EVIL, 0), signature=b""),
        replace(context.told(EVIL, NOW - 5), keys=False, admin=b"", signature=b""),
    ):
        with pytest.raises(KeysRefused, match="WRONG_SIGNATURE"):
            context.denies(lie)
    with pytest.raises(KeysRefused, match="an earlier release"):
        context.denies(replace(found, signature=b""))
    assert not rules_path(context.state, "lab").exists(), "nothing of it is remembered"


def test_not_even_that_there_is_nothing_to_do_is_believed(context: Desk) -> None:
    with pytest.raises(KeysRefused, match="WRONG_SIGNATURE"):
        new_rules(replace(context.told(EVIL, 5), value=b""), lambda it: it, "lab", context.environ, NOW)
    assert new_rules(context.told(EVIL, 5), lambda it: it, "lab", context.environ, NOW) is None


def test_nothing_older_is_built_on_than_was_seen_or_set_here(context: Desk) -> None:
    context.denies(context.told(TO_HERON, NOW - HOUR))
    for older in (context.told(EVIL, NOW - 2 * HOUR), RulesTold(value=b"", stamp=0, next=NOW, keys=True)):
        with pytest.raises(LocalError, match="STALE") as stale:
            context.denies(older)
        assert str(rules_path(context.state, "lab")) in stale.value.hint
    again = context.denies(context.told(TO_HERON, NOW - HOUR, next=NOW))  # the refused list was not set
    again.mark_accepted()
    with pytest.raises(LocalError, match="STALE"):
        context.denies(context.told(TO_HERON, NOW - HOUR))
    counting = context.told(unpacked(again.row.value), again.row.stamp)
    assert new_rules(counting, lambda it: it, "lab", context.environ, NOW) is None
    rules_path(context.state, "lab").unlink()
    context.denies(context.told(TO_HERON, NOW - HOUR))


def test_another_admin_of_that_name_begins_anew(context: Desk) -> None:
    context.denies(context.told(TO_HERON, NOW)).mark_accepted()
    write_admin(context.state, "lab", OTHER)
    write_mesh(context.state, replace(context.file, admin=public_key(OTHER)))
    context.denies(context.told(EVIL, 5, OTHER, admin=public_key(OTHER))).mark_accepted()
    assert (
        rules_seen(context.state, "lab", context.file.admin)
        == 0
        < rules_seen(context.state, "lab", public_key(OTHER))
    )


@pytest.mark.parametrize(
    ("proposed", "stamp"),
    [(NOW - 1, NOW - 1), (NOW + HOUR, NOW), (0, NOW - 4), (-1, NOW - 4), (2**64 - 1, NOW)],
)
def test_no_list_is_signed_for_later(context: Desk, proposed: int, stamp: int) -> None:
    """A list with a future timestamp could be held back, and be used when other rules are valid."""
    assert context.denies(context.told(TO_HERON, NOW - 5, next=proposed)).row.stamp == stamp


def test_a_clock_that_is_behind_signs_newer_ones_all_the_same(context: Desk) -> None:
    assert context.denies(context.told(TO_HERON, NOW, next=NOW + 9), now=5).row.stamp == NOW + 1


def test_what_cannot_be_remembered_is_no_error_and_what_is_damaged_is_named(
    context: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("mesh.security.keyfiles.write_private", full)
        context.denies(context.told(TO_HERON, NOW)).mark_accepted()
    rules_path(context.state, "lab").write_text("{")
    rules_path(context.state, "lab").chmod(0o600)
    with pytest.raises(KeysRefused, match=r"lab\.rules"):
        context.denies(context.told(TO_HERON, NOW))


def test_without_keys_nothing_is_signed_and_nothing_remembered(context: Desk) -> None:
    found = RulesTold(value=packed(TO_HERON), stamp=NOW, next=NOW + HOUR)
    new = context.denies(found, cluster="")
    new.mark_accepted()
    assert (new.row.key, new.row.signature, new.row.stamp) == (b"", b"", NOW + HOUR)
    assert not rules_path(context.state, "lab").exists()
