"""Builds the site of the pages, and fails for broken links; `tools/site` runs this program."""

from __future__ import annotations

import argparse
import posixpath
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv" / "site"
MERMAID = ROOT / ".venv" / "mermaid.min.js"  # for the diagrams; tools/site downloads it
PLACES = {"README.md": "index.md", "docs": "glossary.md"}  # path in the repository -> on the site
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
WHOLE = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")  # with its text, and no picture


def home(setup: Path = ROOT / "setup.cfg") -> str:
    """Return the repository's address in setup.cfg, or an empty text if it is not public."""
    config = ConfigParser()
    config.read(setup)
    urls = config["metadata"].get("project_urls", "")
    return dict(line.split(" = ") for line in urls.split("\n") if line).get("Source", "")


def target(link: str, folder: str, base: str) -> str:
    """Return the target on the site of a link in a page in `folder` of the repository.

    URLs and anchors stay. README becomes index.md. Files that are not on the site lead to the repository at
    `base`, or to "" without one.
    """
    path, hash_, anchor = link.partition("#")
    if ":" in path or not path:
        return link
    inside = posixpath.normpath(posixpath.join(folder, path))
    on_site = PLACES.get(inside, inside.removeprefix("docs/") if inside.startswith("docs/") else "")
    if on_site:
        return posixpath.relpath(on_site, folder.removeprefix("docs").strip("/") or ".") + hash_ + anchor
    if not base:
        return ""
    return f"{base}/{'tree' if (ROOT / inside).is_dir() else 'blob'}/main/{inside}{hash_}{anchor}"


def staged(text: str, folder: str, base: str) -> str:
    """Return a page of `folder` as the site has it.

    A link without a target there becomes its text.
    """

    def kept(found: re.Match[str]) -> str:
        return found[0] if target(found[2], folder, base) else found[1]

    def changed(found: re.Match[str]) -> str:
        return f"{found[1]}{target(found[2], folder, base)}{found[3]}"

    return LINK.sub(changed, WHOLE.sub(kept, text))


def settings(text: str, base: str, mermaid: Path) -> str:
    """Return zensical.toml with local settings.

    If the file `mermaid` is missing, the reader's browser downloads it, and shows no diagrams without a
    network.
    """
    more = [f'repo_url = "{base}"\n'] if base else []
    more += [f'extra_javascript = ["{mermaid.name}"]\n'] if mermaid.exists() else []
    return text.replace("[project]\n", "".join(("[project]\n", *more)), 1)


def stage(place: Path, mermaid: Path = MERMAID) -> None:
    """Copy everything that the site is made from into the directory `place`, which is emptied first."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "docs", place / "docs")
    shutil.copy(ROOT / "README.md", place / "docs" / "index.md")
    if mermaid.exists():
        shutil.copy(mermaid, place / "docs")
    base = home()
    (place / "zensical.toml").write_text(settings((ROOT / "zensical.toml").read_text(), base, mermaid))
    for page in sorted((place / "docs").rglob("*.md")):
        is_first = page == place / "docs" / "index.md"
        folder = "" if is_first else str(page.parent.relative_to(place))
        page.write_text(staged(page.read_text("utf-8"), folder, base), "utf-8")


def missing(place: Path) -> list[str]:
    """Return the links to missing pictures and other files, which the builder does not report."""
    found = []
    for page in sorted((place / "docs").rglob("*.md")):
        links = (link[2].partition("#")[0] for link in LINK.finditer(page.read_text("utf-8")))
        files = (link for link in links if link and ":" not in link)
        found += [f"{page.name}: {link} is not there" for link in files if not (page.parent / link).exists()]
    return found


def build(place: Path) -> int:
    """Build the site, and return the exit code: 0 when all is built without broken links."""
    if gone := missing(place):
        print("\n".join(gone), file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", "zensical.toml"]
    done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        # The traceback behind a warning belongs to the tool, not to the page.
        print(done.stdout.partition("Traceback (most recent call last)")[0], file=sys.stderr)
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the site of the pages, and fail if a link is broken.")
    parser.add_argument("--check", action="store_true", help="check only: keep no files")
    if parser.parse_args().check:
        with TemporaryDirectory() as place:
            stage(Path(place))
            return build(Path(place))
    stage(PLACE)
    if code := build(PLACE):
        return code
    print(f"{PLACE / 'html' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
