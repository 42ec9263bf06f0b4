"""Agreement of docs/wire.md and docs/wire-vectors.json with the code, for keys."""

import json
import re
from pathlib import Path

from mesh.proof import curve_place, prove
from mesh.security.derive import SERVER, derived, role_secret
from mesh.security.keyfiles import MeshFile
from mesh.security.signing import curve_pair

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "wire.md").read_text()


def test_the_example_with_keys_is_right() -> None:
    said = json.loads((DOCS / "wire-vectors.json").read_text())["curve_proof"]
    secret, cluster = bytes.fromhex(said["mesh"]), said["cluster"]
    mine, server = curve_pair(b"\x42" * 32), curve_pair(derived(secret, cluster, SERVER))
    nonces = bytes.fromhex(said["hello_nonce"]), bytes.fromhex(said["challenge_nonce"])
    client, where = role_secret(secret, cluster, "client"), curve_place(mine.public, server.public)
    assert said == {
        **said,
        "node": role_secret(secret, cluster, "node").hex(),
        "client": client.hex(),
        "server": server.public,
        "public": mine.public,
        "private": mine.secret,
        "dialler": prove(client, "dialler", *nonces, where).hex(),
        "listener": prove(client, "listener", *nonces, where).hex(),
    }


def test_each_field_of_the_file_of_keys_is_described() -> None:
    assert "[MeshFile](#meshfile)" in PAGE.partition("### With keys")[2].partition("##")[0]
    table = PAGE.partition("### MeshFile\n")[2].partition("###")[0]
    told = re.findall(r"^\| \d+ \| (\w+) \| .+ \| .* \| .+ \|$", table, re.MULTILINE)
    assert told == list(MeshFile.__struct_fields__)
