"""Names of places in other sites."""

import pytest

from mesh.errors import BadName
from mesh.remote_names import split
from tests.each import each


@pytest.mark.parametrize(
    ("to", "site", "rest"),
    [
        ("/site/NYC/node/gull/client/ann", "NYC", "/node/gull/client/ann"),
        ("/site/NYC/calc/add", "NYC", "calc/add"),
        ("/node/gull/client/ann", "", "/node/gull/client/ann"),
        ("client/ann", "", "client/ann"),
        ("nodes/x", "", "nodes/x"),
    ],
)
def test_a_name_is_split_into_its_site_and_its_name_there(to: str, site: str, rest: str) -> None:
    assert split(to) == (site, rest)


@each("to", ["/site/NYC", "/site/NYC/", "/site//x", "/site/N Y/x"])
def test_a_name_of_nobody_in_another_site_is_refused(to: str) -> None:
    with pytest.raises(BadName):
        split(to)
