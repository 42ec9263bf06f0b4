"""Reserved names, which are refused before they are sent."""

import pytest

from mesh.errors import PublishRefused
from mesh.names import RESERVED
from mesh.reserved import check_domain_free


@pytest.mark.parametrize("level", sorted(RESERVED))
def test_a_domain_below_a_reserved_level_is_refused_with_that_level(level: str) -> None:
    with pytest.raises(PublishRefused) as caught:
        check_domain_free(f"{level}/x")
    assert caught.value.code == "RESERVED" and f"{level}/" in caught.value.what
    for free in (level, f"{level}s/x", f"x/{level}"):
        assert check_domain_free(free) == free
