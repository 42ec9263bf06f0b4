"""The links of a page on the site. A link that leads nowhere fails the build."""

from pathlib import Path

import pytest

from tools import make_site
from tools.make_site import staged, target

BASE = "https://example.com/joe/heronry"


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("docs/client.md", "client.md"),
        ("docs/client.md#open-one", "client.md#open-one"),
        ("docs/mesh.svg", "mesh.svg"),
        ("docs", "glossary.md"),
        ("examples", f"{BASE}/tree/main/examples"),
        ("LICENSE", f"{BASE}/blob/main/LICENSE"),
        ("https://nats.io", "https://nats.io"),
    ],
)
def test_on_the_first_page_what_is_a_page_of_the_site_is_linked_there(link: str, leads: str) -> None:
    assert target(link, "", BASE) == leads


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("client.md#open-one", "client.md#open-one"),
        ("#here", "#here"),
        ("../README.md", "index.md"),
        ("../README.md#quick-start", "index.md#quick-start"),
        ("../mesh/errors.py", f"{BASE}/blob/main/mesh/errors.py"),
        ("../examples/node", f"{BASE}/tree/main/examples/node"),
        (f"{BASE}/blob/main/docs/client.md", f"{BASE}/blob/main/docs/client.md"),
    ],
)
def test_on_other_pages_what_is_a_file_of_the_repository_is_linked_there(link: str, leads: str) -> None:
    assert target(link, "docs", BASE) == leads


def test_links_of_a_page_in_a_folder_are_relative_to_it() -> None:
    assert target("../routing.md#rules", "docs/journeys", BASE) == "../routing.md#rules"
    assert target("gossip.md", "docs/journeys", BASE) == "gossip.md"
    assert target("../../SECURITY.md", "docs/journeys", BASE) == f"{BASE}/blob/main/SECURITY.md"
    assert target("../../README.md", "docs/journeys", BASE) == "../index.md"


def test_all_links_of_a_page_are_changed_and_nothing_else() -> None:
    text = "[a](../README.md), `[b](../x)`? ![c](d.svg)\n[e](../LICENSE#end)"
    assert staged(text, "docs", BASE) == (
        f"[a](index.md), `[b]({BASE}/blob/main/x)`? ![c](d.svg)\n[e]({BASE}/blob/main/LICENSE#end)"
    )


def test_without_a_public_repository_what_is_only_there_is_no_link() -> None:
    text = (
        "[a `b[0]`](../LICENSE), [c](client.md#d) ![e](f.svg) [[g]](../mesh/errors.py) [h](https://nats.io)"
    )
    assert staged(text, "docs", "") == "a `b[0]`, [c](client.md#d) ![e](f.svg) [g] [h](https://nats.io)"
    assert staged("[a](LICENSE) ![b](docs/mesh.svg)", "", "") == "a ![b](mesh.svg)"


def test_the_address_of_the_repository_is_that_of_the_package(tmp_path: Path) -> None:
    setup = tmp_path / "setup.cfg"
    setup.write_text(f"[metadata]\nname = x\nproject_urls =\n    Source = {BASE}\n    Security = {BASE}/y\n")
    assert make_site.home(setup) == BASE
    setup.write_text("[metadata]\nname = x\n")
    assert make_site.home(setup) == ""


def test_what_draws_the_diagrams_is_of_the_site_itself_where_it_was_fetched(tmp_path: Path) -> None:
    mermaid = tmp_path / "mermaid.min.js"
    make_site.stage(tmp_path / "without", mermaid)
    mermaid.write_text("draw()")
    make_site.stage(tmp_path / "with", mermaid)
    told = {place: (tmp_path / place / "zensical.toml").read_text() for place in ("with", "without")}
    assert 'extra_javascript = ["mermaid.min.js"]\n' in told["with"]
    assert "extra_javascript" not in told["without"]
    assert (tmp_path / "with" / "docs" / "mermaid.min.js").read_text() == "draw()"
    assert not (tmp_path / "without" / "docs" / "mermaid.min.js").exists()


def test_a_public_address_is_told_to_the_site(tmp_path: Path) -> None:
    assert (
        make_site.settings("[project]\nx = 1\n", BASE, tmp_path / "none")
        == f'[project]\nrepo_url = "{BASE}"\nx = 1\n'
    )
    assert make_site.settings("[project]\n", "", tmp_path / "none") == "[project]\n"


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["nowhere.md", "glossary.md#nothing-of-that-name", "nothing.svg"])
def test_a_link_that_leads_nowhere_fails_the_build_and_is_named(
    tmp_path: Path, broken: str, capfd: pytest.CaptureFixture[str]
) -> None:
    make_site.stage(tmp_path / "site")
    with (tmp_path / "site" / "docs" / "lab.md").open("a") as page:
        page.write(f"\n[x]({broken})\n")
    assert make_site.build(tmp_path / "site") != 0
    assert "lab.md" in capfd.readouterr().err


@pytest.mark.slow
def test_the_site_has_every_page_and_its_pictures(tmp_path: Path) -> None:
    make_site.stage(tmp_path / "site")
    assert make_site.build(tmp_path / "site") == 0
    html = tmp_path / "site" / "html"
    assert "mesh.svg" in (html / "index.html").read_text() and (html / "mesh.svg").exists()
    assert (html / "client.html").exists() and "publish_many" in (html / "client.html").read_text()
