"""The site of the pages: builds it, and fails for a link that leads nowhere. `tools/site` runs this."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv" / "site"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
SEEN = "https://raw.githubusercontent.com"  # where a file of the repository is a picture


def home() -> str:
    """The address of the repository, as setup.cfg has it."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    urls = dict(line.split(" = ") for line in config["metadata"]["project_urls"].split("\n") if line)
    return urls["Source"]


def target(link: str, is_first_page: bool, base: str) -> str:
    """Where a link of a page leads on the site. README becomes index.md, and what is not a page its file."""
    raw = base.replace("https://github.com", SEEN) + "/main/"
    path, hash_, anchor = link.partition("#")
    if is_first_page:
        for start in (f"{base}/blob/main/docs/", f"{raw}docs/"):
            path = path.removeprefix(start)
        path = "words.md" if path == f"{base}/tree/main/docs" else path
    elif path == "../README.md":
        path = "index.md"
    elif path.startswith("../"):
        inside = path.removeprefix("../")
        path = f"{base}/{'tree' if (ROOT / inside).is_dir() else 'blob'}/main/{inside}"
    return path + hash_ + anchor


def staged(text: str, is_first_page: bool, base: str) -> str:
    """A page as the site has it."""
    return LINK.sub(lambda found: f"{found[1]}{target(found[2], is_first_page, base)}{found[3]}", text)


def stage(place: Path) -> None:
    """Everything that the site is made from, in a directory of its own."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "docs", place / "docs")
    shutil.copy(ROOT / "zensical.toml", place)
    shutil.copy(ROOT / "README.md", place / "docs" / "index.md")
    base = home()
    for page in sorted((place / "docs").glob("*.md")):
        page.write_text(staged(page.read_text("utf-8"), page.name == "index.md", base), "utf-8")


def missing(place: Path) -> list[str]:
    """Links to pictures and other files that are not there: of these the builder says nothing."""
    found = []
    for page in sorted((place / "docs").glob("*.md")):
        links = (link[2].partition("#")[0] for link in LINK.finditer(page.read_text("utf-8")))
        files = (link for link in links if link and ":" not in link)
        found += [f"{page.name}: {link} is not there" for link in files if not (page.parent / link).exists()]
    return found


def build(place: Path) -> int:
    """The exit code: 0 when all is built, and each link leads somewhere."""
    if gone := missing(place):
        print("\n".join(gone), file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", "zensical.toml"]
    done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        # The traceback behind a warning is of the tool, not of the page.
        print(done.stdout.partition("Traceback (most recent call last)")[0], file=sys.stderr)
    return done.returncode


def main() -> int:
    stage(PLACE)
    if code := build(PLACE):
        return code
    print(f"{PLACE / 'html' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
