"""The examples of the page on the mapping."""

from pathlib import Path

import pytest

from mesh.mapping.decision import Kind
from mesh.mapping.mapping import Mapping
from tests.mesh.mapping.views import up
from tools import draw_rules
from tools.draw_rules import EXAMPLES, PAGE, Case


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.row())
@pytest.mark.parametrize("is_reversed", [False, True], ids=["", "in reverse"])
def test_a_message_goes_to_the_masters_that_the_page_names(example: Case, is_reversed: bool) -> None:
    rules = example.given()[::-1] if is_reversed else example.given()
    message = example.message
    mapping = Mapping("bilbo", rules)
    held = mapping.held(message)
    decision = mapping.decide(message.key, message.domain, up("heron", "avalon"), xml=message.xml, held=held)
    hops = decision.hops if decision.kind is Kind.FORWARD else ()
    assert set(hops) == set(example.masters)
    claims = mapping.claims(message.key, message.domain, message.xml, held)
    assert {claim.node for claim in claims} == set(example.masters)
    assert decision.kind is (Kind.FORWARD if example.masters else Kind.HERE)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.row())
def test_filters_are_asked_only_where_they_matter(example: Case) -> None:
    """A filter matters where the decision differs between all filters true and all false."""
    message, mapping = example.message, Mapping("bilbo", example.given())
    inside = mapping.looks_inside(message.key, message.domain, message.xml)
    every = [
        mapping.decide(message.key, message.domain, up("heron", "avalon"), xml=message.xml, held=held)
        for held in ((True,) * 3, (False,) * 3)
    ]
    assert inside == (every[0] != every[1])


def test_the_page_is_up_to_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert draw_rules.main(["--check"]) == 0
    old = tmp_path / "page.md"
    old.write_text(PAGE.read_text().replace("| heron |", "| golan |", 1))
    assert draw_rules.main(["--check", "--page", str(old)]) == 1
    assert "python -m tools.draw_rules" in capsys.readouterr().err
    assert draw_rules.main(["--page", str(old)]) == 0
    assert old.read_text() == PAGE.read_text()
