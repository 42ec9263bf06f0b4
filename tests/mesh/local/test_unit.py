"""The systemd unit of a node, with any characters in its paths."""

import pytest

from mesh.errors import BadArgument
from mesh.local.unit import OF_SYSTEM, ServiceUnit, word


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/usr/bin/python3", "/usr/bin/python3"), ("/a b", '"/a b"'), ("100%", "100%%"), ("$HOME", "$$HOME"),
        ('say "x"', '"say \\"x\\""'), ("a\\b", '"a\\\\b"'), ("", '""'), ("a;b", '"a;b"'), ("é", "é"),
    ],
)  # fmt: skip
def test_a_word_stays_one_word(text: str, written: str) -> None:
    assert word(text) == written


@pytest.mark.parametrize("text", ["a\nExecStart=/bin/evil", "\x00", "\u202e", "\ud800", "a\r"])
def test_what_is_not_seen_is_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        word(text)


def test_the_unit_of_a_machine_has_a_user_and_is_hardened_and_that_of_a_user_is_his() -> None:
    system = ServiceUnit("heron", ["/bin/mesh", "up"], "mesh", ["/srv/my queues"]).text().splitlines()
    assert {"User=mesh", "StateDirectoryMode=0700", *OF_SYSTEM} <= {*system}
    assert 'ReadWritePaths="/srv/my queues"' in system and system[-1] == "WantedBy=multi-user.target"
    own = ServiceUnit("heron", ["/bin/mesh", "up"]).text()
    assert "User=" not in own and "StateDirectory" not in own and "WantedBy=default.target" in own
    for text in ("Type=notify", "WatchdogSec=30", "ExecReload=/bin/kill -HUP $MAINPID"):
        assert text in own.splitlines() and text in system


def test_a_name_with_a_colon_is_a_file_of_its_own() -> None:
    assert ServiceUnit("a:b", ()).name == "heronry-a-b.service"
