"""Does a node start and stop as a person or a script wants it to?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mesh.running import environment, run_mesh, running, state_directory, until

pytestmark = pytest.mark.whole


def test_a_node_keeps_its_uuid_and_address_and_counts_its_boots() -> None:
    with running("a") as a:
        first = a.it
        a.kill()
        a.start()
        assert a.it["boot"] == first["boot"] + 1
        assert (a.it["uuid"], a.tcp) == (first["uuid"], first["tcp"][0])
        assert a.stop() == 0
