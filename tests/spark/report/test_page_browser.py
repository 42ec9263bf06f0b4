"""The page in a real browser without network: both color schemes, on a screen and on a telephone."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mesh.history.report.facts import Facts
from mesh.history.report.page import SECTIONS, page
from tests.spark.report.invented import empty, facts
from tests.spark.report.test_page import hostile

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install playwright"
)
pytestmark = pytest.mark.browser

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MESHES: dict[str, Callable[[], Facts]] = {
    "empty": empty,
    "1": lambda: facts(1),
    "3": lambda: facts(3),
    "300": lambda: facts(300),
}
WIDTHS = {"light": 1280, "dark": 390}  # a screen and a telephone
SCREENS = 22  # screens of a telephone that three nodes may take
ENOUGH = 4.5  # contrast of small text (WCAG 2, AA)

# The contrast of each visible text with its background.
CONTRASTS = """() => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const channel = (value) => linear(value / 255);
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const background = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const found = numbers(getComputedStyle(e).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const [element, text] = [texts.currentNode.parentElement, texts.currentNode.data];
    // In the cells of a map it is Plotly that chooses between light and dark.
    if (!text.trim() || !element.checkVisibility()) continue;
    if (element.closest("script, style, .heatmaplayer")) continue;
    const style = getComputedStyle(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [luminance(numbers(colour)), luminance(background(element))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text.slice(0, 40), colour]);
  }
  return found;
}"""
MARKS = ".js-line, .point path, .points path, .heatmaplayer image, .bars path"
TOO_WIDE = """() => [...document.querySelectorAll(".chart")]
  .filter((chart) => chart.firstChild.offsetWidth > chart.clientWidth).length"""
LEFT = "e => [e, e.querySelector('tbody th')].map((x) => x.getBoundingClientRect().left)"
CELLS = """() => [...document.querySelectorAll("tbody td")].filter((e) => e.checkVisibility()).map((e) => {
  const box = e.getBoundingClientRect();
  return { left: box.left, right: box.right, column: getComputedStyle(e, "::before").content };
})"""
MOVED = """e => new Promise((done) => {
  const look = () => (e.scrollLeft > 0 ? done() : requestAnimationFrame(look));
  look();
})"""
BACKGROUNDS = """() => [
  getComputedStyle(document.body).backgroundColor,
  ...[...document.querySelectorAll(".chart .main-svg:first-of-type")].map((svg) => svg.style.background),
]"""


@dataclass
class Seen:
    """An open page, with the addresses that it requested and the complaints of the browser."""

    page: Any
    fetched: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def drawn(self, scheme: str) -> "Seen":
        """Wait until all charts are drawn in this scheme."""
        self.page.wait_for_selector(f"html[data-drawn={scheme}]", state="attached")
        return self


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each mesh, as a file."""
    place = tmp_path_factory.mktemp("pages")
    for name, made in MESHES.items():
        (place / f"{name}.html").write_text(page(made()), encoding="utf-8")
    return {name: place / f"{name}.html" for name in MESHES}


@pytest.fixture(scope="module")
def opened(browser: Any) -> Iterator[Any]:
    """Open files in a browser without network, and wait until all charts are drawn."""
    contexts = []

    def open_file(file: Path, scheme: str = "light", width: int = 1280) -> Seen:
        context = browser.new_context(
            offline=True, color_scheme=scheme, viewport={"width": width, "height": 900}
        )
        contexts.append(context)
        seen = Seen(context.new_page())

        def fetch(route: Any) -> None:
            seen.fetched.append(route.request.url)
            route.continue_() if route.request.url == file.as_uri() else route.abort()

        context.route("**/*", fetch)
        seen.page.on("console", lambda message: seen.complaints.append(message.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("dialog", lambda dialog: seen.complaints.append("a dialog"))
        seen.page.goto(file.as_uri())
        return seen.drawn(scheme)

    yield open_file
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def look(opened: Any, files: dict[str, Path]) -> Any:
    """Open the page of a mesh once, for all tests that do not change it."""
    return cache(lambda mesh, scheme="light": opened(files[mesh], scheme, WIDTHS[scheme]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mesh", MESHES)
def test_it_asks_for_nothing_and_complains_of_nothing(
    look: Any, files: dict[str, Path], mesh: str, scheme: str
) -> None:
    seen = look(mesh, scheme)
    assert seen.fetched == [files[mesh].as_uri()]
    assert seen.complaints == []


@pytest.mark.parametrize("scheme", WIDTHS)
@pytest.mark.parametrize("mesh", MESHES)
def test_the_page_is_never_wider_than_the_window(look: Any, mesh: str, scheme: str) -> None:
    seen = look(mesh, scheme)
    assert seen.page.evaluate("document.documentElement.scrollWidth") == WIDTHS[scheme]
    assert seen.page.evaluate(TOO_WIDE) == 0


def test_every_chart_has_marks_in_it(look: Any) -> None:
    for mesh in ("3", "300"):
        shown = look(mesh).page
        charts = shown.query_selector_all(".chart")
        assert len(charts) >= 11
        for chart in charts:
            marks = chart.query_selector_all(
                ".js-line, .point path, .points path, .heatmaplayer image, .bars path"
            )
            assert marks, chart.get_attribute("aria-label")


def test_at_three_nodes_each_has_a_line(look: Any) -> None:
    cpu = look("3").page.query_selector("[data-figure=figure-cpu]")
    assert legend(cpu) == ["crane", "heron", "wren"]
    assert len(cpu.query_selector_all(".scatterlayer .trace")) == 3


def test_at_three_hundred_nodes_there_are_bands_and_a_map(look: Any) -> None:
    cpu = look("300").page.query_selector("[data-figure=figure-cpu]")
    assert legend(cpu) == ["median node", "highest node"]
    assert cpu.query_selector(".js-fill")
    assert look("300").page.query_selector("[data-figure=figure-cpu-map] image")


def legend(chart: Any) -> list[str]:
    return [text.text_content() for text in chart.query_selector_all(".legendtext")]


def test_page_and_charts_follow_the_scheme_when_it_changes(look: Any) -> None:
    seen = look("3")
    light = seen.page.evaluate(BACKGROUNDS)
    seen.page.emulate_media(color_scheme="dark")
    dark = seen.drawn("dark").page.evaluate(BACKGROUNDS)
    assert len(light) == len(dark) > 10
    assert all(before != after for before, after in zip(light, dark, strict=True))
    seen.page.emulate_media(color_scheme="light")
    assert seen.drawn("light").page.evaluate(BACKGROUNDS) == light


def test_the_button_changes_the_scheme_also_with_the_keyboard(look: Any) -> None:
    seen = look("1")
    light = seen.page.evaluate(BACKGROUNDS)
    assert seen.page.inner_text(".theme") == "Dark colors"
    seen.page.focus(".theme")
    seen.page.keyboard.press("Enter")
    dark = seen.drawn("dark").page.evaluate(BACKGROUNDS)
    assert all(before != after for before, after in zip(light, dark, strict=True))
    assert seen.page.inner_text(".theme") == "Light colors"
    seen.page.click(".theme")
    assert seen.drawn("light").page.evaluate(BACKGROUNDS) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mesh", ["3", "300", "empty"])
def test_all_text_can_be_read_against_its_background(look: Any, mesh: str, scheme: str) -> None:
    found = look(mesh, scheme).page.evaluate(CONTRASTS)
    assert len(found) > 40
    assert [text for text in found if text[0] < ENOUGH] == []


def test_a_long_table_shows_its_first_rows_and_finds_the_others(look: Any) -> None:
    shown, last = look("300").page, facts(300).nodes[-1].name
    table = shown.locator("#load table")
    rows = table.locator("tbody tr:visible")
    assert rows.count() == 15
    shown.get_by_role("button", name="Show 285 more").click()
    assert rows.count() == 300
    shown.get_by_role("button", name="Only the first 15").click()
    shown.get_by_label("Find a node").first.fill(last.upper())
    assert rows.all_inner_texts()[0].startswith(last) and rows.count() == 1
    shown.get_by_label("Find a node").first.fill("")
    assert rows.count() == 15


def test_a_table_that_is_too_wide_is_moved_with_the_keyboard_and_keeps_its_names_in_view(
    opened: Any, files: dict[str, Path]
) -> None:
    shown = opened(files["3"], "light", 700).page
    place = shown.locator("#load .wide")
    place.focus()
    shown.keyboard.press("ArrowRight")
    place.evaluate(MOVED)  # until the table has moved
    place.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    left, names = place.evaluate(LEFT)
    assert left == names


def test_a_table_that_goes_on_at_the_right_has_a_shade_there_until_its_end(look: Any) -> None:
    styles = look("3").page.locator(".wide").first
    assert styles.evaluate("e => getComputedStyle(e).backgroundAttachment") == "local, scroll"


def test_a_long_table_is_folded_on_a_telephone_only_and_opens_at_a_touch(look: Any) -> None:
    wide, narrow = look("3").page, look("3", "dark").page
    rows, summary = "#topics tbody tr:visible", "#topics .fold summary"
    assert wide.locator(rows).count() == 11 and not wide.locator(summary).is_visible()
    assert narrow.locator(rows).count() == 0
    assert narrow.evaluate("document.documentElement.scrollHeight") < SCREENS * 844
    narrow.locator(summary).click()
    assert narrow.locator(rows).count() == 11
    narrow.locator(summary).click()


def test_on_a_telephone_each_row_is_a_card_that_says_of_what_its_figures_are(
    opened: Any, files: dict[str, Path]
) -> None:
    shown = opened(files["300"], "dark", WIDTHS["dark"]).page
    assert shown.locator("#load tbody tr:visible").count() == 0
    shown.evaluate("document.querySelectorAll('.fold').forEach((table) => { table.open = true; })")
    cells = shown.evaluate(CELLS)
    assert len(cells) > 200
    assert [cell for cell in cells if not 0 <= cell["left"] < cell["right"] <= WIDTHS["dark"]] == []
    assert [cell for cell in cells if cell["column"] in ("none", '""')] == []
    first = shown.locator("#load tbody tr").first.locator("td").first
    assert first.get_attribute("data-column") == "CPU mean"


def test_contents_lead_to_every_section(look: Any) -> None:
    shown = look("3").page
    links = shown.query_selector_all("nav a")
    assert len(links) == len(SECTIONS)
    for link in links:
        link.click()
        name = link.get_attribute("href").removeprefix("#")
        assert shown.evaluate("name => document.getElementById(name).getBoundingClientRect().top < 900", name)


@pytest.mark.parametrize("count", [3, 20])
def test_what_the_mesh_says_is_never_carried_out(opened: Any, tmp_path: Path, count: int) -> None:
    file = tmp_path / "evil.html"
    file.write_text(page(hostile(count)), encoding="utf-8")
    seen = opened(file)
    assert seen.page.query_selector_all(".chart a, .chart img, img[src=x]") == []
    assert (seen.complaints, seen.fetched) == ([], [file.as_uri()])
    shares = seen.page.query_selector("[data-figure=figure-shares]")
    assert "&lt;'" in (shares.text_content() or "")  # as text, not as markup


def test_even_if_a_text_became_html_its_script_would_not_run(opened: Any, tmp_path: Path) -> None:
    broken = page(facts(1)).replace("<main", "<script>document.title = 'carried out'</script><main", 1)
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    seen = opened(tmp_path / "broken.html")
    assert seen.page.title() == "Mesh lab"
    assert any("Content Security Policy" in text for text in seen.complaints)


def test_an_old_browser_shows_in_words_what_it_cannot_draw(browser: Any, files: dict[str, Path]) -> None:
    context = browser.new_context(offline=True)
    context.add_init_script("delete window.DecompressionStream")
    shown = context.new_page()
    shown.goto(files["3"].as_uri())
    shown.wait_for_selector("html[data-drawn=light]", state="attached")
    told = [text for text in shown.locator(".chart").all_inner_texts() if "too old" in text]
    assert len(told) == shown.locator(".chart").count() > 10 and any("crane" in text for text in told)
    context.close()


def test_without_scripts_all_words_and_tables_are_there(browser: Any, files: dict[str, Path]) -> None:
    context = browser.new_context(offline=True, java_script_enabled=False)
    shown = context.new_page()
    shown.goto(files["300"].as_uri())
    assert shown.locator("#load tbody tr").count() == 300
    assert shown.locator(".theme").is_hidden() and shown.locator(".tools").first.is_hidden()
    context.close()
