"""The file of messages over which a node has failed: such a message is recognized, and no other."""

import json
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.kernel.access.authenticator import SOFTWARE
from mesh.shell import poison
from mesh.shell.poison import FILE, KEPT, MOST, Guilt, Poison
from mesh.wire import frames
from mesh.wire.commands import Publish
from mesh.wire.envelope import RESENT
from tests.mesh.envelopes import envelope

BAD = [b"command", b"header", b"body"]


def write(place: Path, content: bytes) -> None:
    (place / FILE).write_bytes(content)
    (place / FILE).chmod(0o600)


def test_the_next_process_knows_what_this_one_has_failed_over(tmp_path: Path) -> None:
    first = Poison(tmp_path)
    assert first.is_empty and first.verdict(BAD) is Guilt.CLEAN and not (tmp_path / FILE).exists()
    first.blame([BAD], True, "why")
    first.blame([[b"one"], [b"another"]], False, "it failed")
    later = Poison(tmp_path)
    assert not later.is_empty and later.why == "it failed"
    assert later.verdict(BAD) is Guilt.GUILTY
    assert later.verdict([b"one"]) is later.verdict([b"another"]) is Guilt.SUSPECT
    later.acquit([b"one"])
    later.mark_reported()
    last = Poison(tmp_path)
    assert last.why == "" and last.verdict([b"one"]) is Guilt.CLEAN
    assert last.verdict([b"another"]) is Guilt.SUSPECT and last.verdict(BAD) is Guilt.GUILTY


def test_a_publish_is_known_again_as_its_client_says_it_to_the_next_process(tmp_path: Path) -> None:
    said = [envelope("a b"), envelope("a", [b"x"], first=3)]
    publish = Publish((1, 1))
    Poison(tmp_path).blame([frames.write(publish, said)], True, "why")
    again = [replace(e, flags=e.flags | RESENT) for e in said]
    later = Poison(tmp_path)
    assert later.verdict(frames.write(publish, said)) is Guilt.GUILTY
    assert later.verdict(frames.write(publish, again)) is Guilt.GUILTY
    assert later.verdict(frames.write(Publish((1,)), again[:1])) is Guilt.CLEAN


@pytest.mark.parametrize(
    "other", [[b"command", b"headerb", b"ody"], [b"commandheaderbody"], [b"COMMAND", *BAD[1:]]]
)
def test_other_messages_of_that_length_are_clean(tmp_path: Path, other: list[bytes]) -> None:
    Poison(tmp_path).blame([BAD], True, "")
    assert sum(map(len, other)) == sum(map(len, BAD))
    assert Poison(tmp_path).verdict(other) is Guilt.CLEAN


def test_only_what_is_as_long_as_a_known_one_is_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Poison(tmp_path).blame([BAD], True, "")
    known, hashed = Poison(tmp_path), list[int]()

    def counting(digest_size: int) -> blake2b:
        hashed.append(1)
        return blake2b(digest_size=digest_size)

    monkeypatch.setattr(poison, "blake2b", counting)
    assert known.verdict([b"x" * 10]) is Guilt.CLEAN and not hashed
    assert known.verdict([b"x" * sum(map(len, BAD))]) is Guilt.CLEAN and hashed


def test_the_file_is_bounded_and_keeps_the_newest(tmp_path: Path) -> None:
    known = Poison(tmp_path)
    for number in range(4 * KEPT):  # one mark each; clients' have two
        known.blame([[b"g%03d" % number]], True, "x" * 1000)
    for start in range(0, 4 * KEPT, KEPT):
        known.blame([[b"s%03d" % (start + number)] for number in range(KEPT)], False, "x" * 1000)
    assert (tmp_path / FILE).stat().st_size < MOST / 4
    later = Poison(tmp_path)
    for kind, verdict in ((b"g%03d", Guilt.GUILTY), (b"s%03d", Guilt.SUSPECT)):
        found = [later.verdict([kind % number]) for number in range(4 * KEPT)]
        assert found == [Guilt.CLEAN] * 2 * KEPT + [verdict] * 2 * KEPT


def test_another_release_may_have_mended_it(tmp_path: Path) -> None:
    Poison(tmp_path).blame([BAD], True, "it failed")
    content = (tmp_path / FILE).read_bytes()
    write(tmp_path, content.replace(SOFTWARE.encode(), b"heronry 0.0.9"))
    later = Poison(tmp_path)
    assert later.is_empty and later.why == "it failed"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"{" * MOST,
        b"\xff\x00",
        json.dumps({"release": SOFTWARE, "guilty": [[1]]}).encode(),
        json.dumps({"release": SOFTWARE, "guilty": [[-1, "!"]]}).encode(),
        json.dumps({"release": SOFTWARE, "guilty": "all", "why": 7}).encode(),
        json.dumps({"release": SOFTWARE, "why": "x" * MOST}).encode(),
    ],
)
def test_a_file_that_is_damaged_is_none(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, content)
    assert Poison(tmp_path).is_empty
    Poison(tmp_path).blame([BAD], True, "")
    assert Poison(tmp_path).verdict(BAD) is Guilt.GUILTY


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_whatever_stands_there_a_node_starts(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, content)
    Poison(tmp_path).verdict(BAD)


def test_one_that_others_may_read_or_that_is_elsewhere_is_none(tmp_path: Path) -> None:
    Poison(tmp_path).blame([BAD], True, "")
    (tmp_path / FILE).chmod(0o644)
    assert Poison(tmp_path).is_empty
    (tmp_path / FILE).rename(tmp_path / "elsewhere")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    assert Poison(tmp_path).is_empty
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    assert Poison(tmp_path).is_empty


def test_a_disk_that_takes_nothing_costs_only_the_memory_of_it(tmp_path: Path) -> None:
    known = Poison(tmp_path / "nowhere")
    known.blame([BAD], True, "")
    assert Poison(tmp_path / "nowhere").is_empty
