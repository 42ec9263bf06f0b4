"""The programs that users write first run as they stand there."""

import asyncio
import importlib
import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mesh.meshes import LIMIT, mesh_of

PROGRAMS = Path(__file__).parent
SAID = {
    "p1_publish": "OK 0\n",
    "p2_subscribe": "p2/b b'x'\n",
    "p3_blocking": "p3/b 21.5\n",
    "p4_values": "p4/b application/json {'t': 21.5}\np4/c application/json {'t': 21.5}\n",
    "p5_types": "p5/wrong BAD_CONTENT\np5/right 22.5\n",
    "p6_several": "['p6/1', 'p6/2']\n['p6/a/x', 'p6/b/x']\n",
    "p9_testing": "[('alarms/heat', b'31.0')]\n",
    "p10_lifespan": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n",
    "also": "OK\nNO_NODE\nb'x'\n",
}


@pytest.fixture(scope="module")
def environ() -> Iterator[dict[str, str]]:
    """Of the only node of this user."""
    found: dict[str, str] = {}
    is_there, is_over = threading.Event(), threading.Event()

    async def live() -> None:
        async with mesh_of("a") as m:
            found.update(m.environ)
            is_there.set()
            await asyncio.to_thread(is_over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    assert is_there.wait(LIMIT)
    yield found
    is_over.set()
    thread.join(LIMIT)


@pytest.mark.parametrize("name", SAID)
def test_a_first_program_works(
    name: str, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    main = importlib.import_module(f"tests.programs.{name}").main
    if inspect.iscoroutinefunction(main):
        asyncio.run(asyncio.wait_for(main(), LIMIT))
    else:
        main()
    said = capsys.readouterr().out
    assert "\n".join(sorted(said.splitlines())) == "\n".join(sorted(SAID[name].splitlines()))


@pytest.mark.slow
def test_pyright_finds_nothing_in_them_in_its_strict_mode(tmp_path: Path) -> None:
    """And mypy in its own, as in all that stands here: tools/check."""
    config = {
        "include": [str(PROGRAMS)],
        "exclude": ["**/test_*.py"],
        "extraPaths": [str(PROGRAMS.parents[1])],
        "typeCheckingMode": "strict",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "basedpyright", "-p", str(tmp_path), "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, "0 errors, 0 warnings" in done.stdout) == (0, True), done.stdout
