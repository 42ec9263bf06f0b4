"""The page of the client: the docstrings of all verbs, and of no others."""

import re
import sys
from pathlib import Path

import pytest

import mesh
from tools import client_page
from tools.client_page import BEGIN, END, SECTIONS, made, signature, verbs


def test_the_page_is_what_the_docstrings_make() -> None:
    text = client_page.PAGE.read_text()
    assert made(text) == text, "Type: python -m tools.client_page"


def test_a_page_that_is_out_of_date_is_named_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "client.md"
    page.write_text(client_page.PAGE.read_text().replace("### publish\n", "### publishes\n"))
    monkeypatch.setattr(sys, "argv", ["client_page", "--check", "--page", str(page)])
    assert client_page.main() == 1
    assert f"{page} is out of date. Type: python -m tools.client_page" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [mesh.Client, mesh.Queue, mesh.Message, mesh.Subscription, mesh.Request])
def test_each_verb_stands_in_one_section_and_no_other_does(kind: type) -> None:
    named = [name for _, _, of, names in SECTIONS if of is kind for name in names]
    assert sorted(named) == sorted(
        set(verbs(kind)) - (set(verbs(mesh.Message)) if kind is mesh.Request else set())
    )


def test_of_what_comes_from_a_queue_only_what_others_lack_is_told() -> None:
    [named] = [names for _, _, of, names in SECTIONS if of is mesh.Delivery]
    assert sorted(named) == sorted(set(verbs(mesh.Delivery)) - set(verbs(mesh.Message)))


def test_a_call_is_shown_as_it_is_typed() -> None:
    assert signature("ping", mesh.Client.ping, mesh.Client.ping) == "await ping() -> float"
    post = signature("post", mesh.Client.post, mesh.Client.post)
    assert post.startswith("post(\n    key: str, content: Content, *, domain: str | None = None,")
    assert max(map(len, post.splitlines())) <= client_page.WIDTH


def test_examples_keep_their_indentation() -> None:
    found = re.findall(r"^```py\n(async with .*?)```", client_page.PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) > 1 and all("\n    " in block for block in found)


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}{BEGIN}{BEGIN}"])
def test_a_page_without_its_marks_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="unpack"):
        made(text)
