"""Does docs/configuration.md tell of every setting, and of none that is not there?"""

import re
from pathlib import Path

from mesh.config import FIELDS, load

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"


def test_the_page_names_every_setting_and_no_other() -> None:
    named = re.findall(r"^\| `([a-z_.]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(named) == sorted(FIELDS)


def test_the_example_of_the_page_is_right(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = tmp_path / "mesh.toml"
    file.write_text(example)
    config = load(file, {}, {})
    assert config.node.id == "heron" and config.limits.max_content == 4 << 20
