"""Is what docs/wire.md says of keys what the code does?"""

import re
from pathlib import Path

from mesh.proof import curve_place, prove
from mesh.security.derive import SERVER, derived, role_secret
from mesh.security.keyfiles import MeshFile
from mesh.security.signing import curve_pair

PAGE = (Path(__file__).parents[3] / "docs" / "wire.md").read_text()


def test_the_example_with_keys_is_right() -> None:
    box = re.search(r"^```proof-curve\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert box is not None
    said = dict(line.split() for line in box[1].splitlines())
    secret, cluster = bytes.fromhex(said["mesh"]), said["cluster"]
    mine, server = curve_pair(b"\x42" * 32), curve_pair(derived(secret, cluster, SERVER))
    nonces = bytes.fromhex(said["HELLO"]), bytes.fromhex(said["CHALLENGE"])
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
    section = PAGE.partition("### With keys")[2].partition("###")[0]
    assert all(f"`{field}`" in section for field in MeshFile.__struct_fields__)
