"""`mesh sub`: a gap is reported."""

import pytest

from mesh.cli.main import main
from mesh.client.message import Batch
from tests.mesh.cli.fake import Given
from tests.mesh.envelopes import envelope


class Gapped:
    """A subscription that begins with a gap."""

    dropped = 65

    def __enter__(self) -> "Gapped":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def next_batch(self, timeout: float | None) -> Batch:
        return Batch(envelope("k"))


def test_sub_blames_its_reader_for_a_gap_no_more_than_the_way_from_another_site(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(subscribe=Gapped())
    assert main(["sub", "k", "--count", "1"]) == 0
    said = capsys.readouterr().err
    assert "dropped 65 messages (65 in all): this reader is too slow, or there was no room" in said
