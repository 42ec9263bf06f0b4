"""tools.typed_surface finds values without a type, however far behind an exported name."""

from pathlib import Path

import pytest

from tools.typed_surface import unknown, verified

INIT = """
from package.deeper import Known, Vague
__all__ = ["Known", "Vague"]
"""
DEEPER = """
class Known:
    def __init__(self) -> None:
        self.number: int = 1

class Hidden:
    def __init__(self) -> None:
        self.number = len("x")

class Vague:
    def hidden(self) -> Hidden:
        return Hidden()
"""


@pytest.mark.slow
def test_what_has_no_type_is_found_behind_what_leads_there(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for name, text in {"__init__.py": INIT, "deeper.py": DEEPER, "py.typed": ""}.items():
        (package / name).write_text(text)
    assert unknown(verified("package", tmp_path), ("package",)) == ["package.Vague"]
