"""`mesh erase`: erased topics are listed, and the exit code says whether there was one."""

import pytest

from mesh.cli.main import main
from tests.mesh.cli.fake import Given


def test_erase_prints_what_is_gone(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(erase=["k"])
    assert main(["erase", "k", "--domain", "D"]) == 0
    assert capsys.readouterr() == ("k\n", "erased 1 topic\n")
    assert fake.asked == [("erase", ("k",), {"domain": "D", "silent": False, "history_only": False})]
    assert main(["erase", "k", "--silent"]) == main(["erase", "k", "--history-only"]) == 0
    assert [said["silent"] for _, _, said in fake.asked] == [False, True, False]
    assert [said["history_only"] for _, _, said in fake.asked] == [False, False, True]


def test_an_empty_domain_is_deprecated_as_it_means_every_domain(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = given(erase=["k"])
    assert main(["erase", "k", "--domain", ""]) == 0
    assert [said["domain"] for _, _, said in fake.asked] == [None]
    assert "every domain, as without it" in capsys.readouterr().err


def test_erase_says_by_its_exit_code_that_there_was_nothing(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(erase=[])
    assert main(["erase", "k"]) == 1
    said = capsys.readouterr()
    assert (said.out, "mesh route k" in said.err) == ("", True)
    assert "in any domain that this node knows. For another domain, give --domain." in said.err


def test_two_ways_to_erase_are_refused_with_the_names_of_the_options(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = given(erase=[])
    assert main(["erase", "k", "--silent", "--history-only"]) == 2 and fake.asked == []
    assert "either --silent or --history-only" in capsys.readouterr().err


Capture = pytest.CaptureFixture[str]


def test_trial_C_hints_of_verbs_can_be_typed(given: Given, capsys: Capture) -> None:
    given(erase=[])
    assert main(["erase", "my key; rm -rf ~", "--domain", "a b"]) == 1
    assert "mesh route --domain 'a b' 'my key; rm -rf ~'" in capsys.readouterr().err
    given(erase=[])
    assert main(["erase", "--", "--all"]) == 1
    assert "mesh route -- --all" in capsys.readouterr().err
