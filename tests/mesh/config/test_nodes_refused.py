"""Errors in the nodes and rules of a configuration, each with its line."""

from pathlib import Path

import pytest

from mesh.config import load, rules
from mesh.errors import BadConfig


def written(folder: Path, text: str) -> Path:
    path = folder / "mesh.toml"
    path.write_bytes(text.encode())
    return path


def refusal(path: Path) -> str:
    with pytest.raises(BadConfig) as caught:
        load(path, {}, {})
    assert caught.value.code == "BAD_CONFIG"
    return str(caught.value)


def test_xpaths_that_together_take_long_are_refused(tmp_path: Path) -> None:
    many = [f"//*[.//b[@c='{n}']]" for n in range(30)]
    one = f"[[nodes.a.master]]\nxpaths = {many}\n"
    assert len(rules(load(written(tmp_path, one), {}, {}))) == 1
    assert "The XPaths of all rules may have to read 6,0" in refusal(
        written(tmp_path, one + one.replace(".a.", ".b."))
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        # unknown keys and sections
        ("[nodes.a]\nadress = 'x'", 2, "unknown key 'adress' in section [nodes.a]. Did you mean 'address'?"),
        (
            "[nodes.a]\nzzz = 1",
            2,
            "unknown key 'zzz' in section [nodes.a]. Known there: address, ping, backoff_min, "
            "backoff_max, forward_patience, disconnect, passwd, master.",
        ),
        ("[nodes.a.masters]", 1, "unknown section 'masters' in section [nodes.a]. Did you mean 'master'?"),
        ("[nodes.a.b.c]", 1, "unknown section 'b' in section [nodes.a]. A name with a dot in it is quoted"),
        ("[nodes.a]\n['nodes'.a.x]", 2, "unknown section 'x' in section [nodes.a]"),
        ('[nodes."a.b"]\nx = 1', 2, "unknown key 'x' in section [nodes.\"a.b\"]"),
        ("[node.a]", 1, "in section [node]. The section of another node is [nodes.a]."),
        ("[nods.a]", 1, "unknown section 'nods'. Did you mean 'nodes'?"),
        # wrong types
        ("\nnodes = 5", 2, "'nodes' must be a section. Write [nodes.NAME]"),
        ("[[nodes]]\nname = 'a'", 1, "'nodes' must be a section."),
        ("[nodes]\naddress = 'x'", 2, "'address' in [nodes] is not the section of a node. Write [nodes."),
        (
            "[nodes.a]\n\naddress = 7",
            3,
            "[nodes.a] address = 7 is invalid: it must be a text, not a whole number",
        ),
        ("[nodes.a]\npasswd = 7", 2, 'Write the password of that node, such as passwd = "secret".'),
        ("[nodes.a]\naddress = ''", 2, "[nodes.a] address = '' is invalid"),
        ("[nodes.a.master]\nkeys = ['k']", 1, "must be a list, not a table. Write [[nodes.NAME.master]]"),
        ("[nodes.a]\nmaster = ['D']", 2, "entry [0] must be a table, not a text. Write [[nodes.NAME"),
        # names
        ("[nodes.ok]\n[nodes.'a heron']", 2, "nodes: 'a heron' is not a name. A name has 1 to 64"),
        ("[nodes.'']", 1, "nodes: '' is not a name."),
        (f"[nodes.{'a' * 65}]", 1, "is not a name."),
        # links
        (
            "\nlinks = 'configured'",
            2,
            'links = "configured", but no node is configured, so no node would be linked',
        ),
        ("links = 'configured'\n[nodes]", 1, "no node would be linked. Write a section [nodes.NAME]"),
    ],
)
def test_what_is_wrong_with_a_node_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    path = written(tmp_path, text)
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: ")
    assert says in message


WAY = "domains = ['D']\nstratum = 1\n"


@pytest.mark.parametrize(
    ("rule", "line", "says"),
    [
        # unknown keys
        ("\nrefId = 'heron'", 2, "unknown key 'refId' in section [[nodes.a.master]]. Did you mean 'refid'?"),
        ("domain = 'D'", 1, "unknown key 'domain' in section [[nodes.a.master]]. Did you mean 'domains'?"),
        ("key = 'k'", 1, "unknown key 'key' in section [[nodes.a.master]]. Did you mean 'keys'?"),
        ("acceptDefault = true", 1, "Did you mean 'accept_default'?"),
        ("acceptOtherDefault = true", 1, "Did you mean 'accept_other_default'?"),
        ("dirtyRead = true", 1, "Did you mean 'dirty_read'?"),
        ("clean = true", 1, "Known there: domains, keys, stratum, refid, accept_default, accept_other_d"),
        # wrong types
        ("domains = 'D'", 1, "[[nodes.a.master]] domains = 'D' is invalid: it must be a list, not a text"),
        ("domains = 'D'", 1, 'Write a list, such as domains = ["NEWS", "SPORTS"].'),
        ("domains = [1]", 1, "entry [0] must be a text, not a whole number"),
        ("keys = 'k'", 1, 'Write a list, such as keys = ["radar/status"].'),
        ("keys = ['k', ['l']]", 1, "entry [1] must be a text, not a list"),
        ("keys = ['k']\nstratum = '0'", 2, "must be a whole number, not a text"),
        ("keys = ['k']\nstratum = true", 2, "must be a whole number, not true or false"),
        ("keys = ['k']\nstratum = 1.0", 2, "must be a whole number, not a decimal number"),
        (
            "keys = ['k']\nrefid = 5",
            2,
            "must be a text, not a whole number. Write the name of a node, such as",
        ),
        ("accept_default = 1", 1, "must be true or false, not a whole number. Write true or false."),
        ("accept_other_default = 'yes'", 1, "must be true or false, not a text. Write true or false."),
        # strata
        (
            "keys = ['k']\nstratum = -1",
            2,
            "stratum = -1 is invalid: it must be a whole number of at least 0. 0 is the master",
        ),
        (
            "keys = ['k']\nstratum = 16",
            2,
            "stratum = 16 is invalid: it must be a whole number of at most 15. 0 is the mast",
        ),
        # no condition
        ("", 0, "[[nodes.a.master]] has no condition, so it matches no message. Add one of domai"),
        ("stratum = 1", 0, "or stratum and refid, for a slave's parent for everything else"),
        ("refid = 'heron'", 0, "[[nodes.a.master]] has no condition"),
        ("stratum = 1\nrefid = 'elsewhere'", 2, "names a node without a section"),
        ("domains = []\nkeys = []", 0, "[[nodes.a.master]] has no condition"),
        # terms of the cache
        ("keys = ['k']\ncache_ttl = -1", 2, "cache_ttl = -1 is invalid: it must be a number of at least 0"),
        ("keys = ['k']\ncache_ttl = '60'", 2, "must be a number, not a text. Write seconds, such as cache"),
        ("keys = ['k']\ncache_ttl = nan", 2, "cache_ttl = nan is invalid"),
        (
            "keys = ['k']\ncache_linger = inf",
            2,
            "cache_linger = inf is invalid: it must be a number of at most 86400.0",
        ),
        ("keys = ['k']\ncache_linger = 86_401", 2, "must be a number of at most 86400.0. Write seconds"),
        (
            "keys = ['k']\nhistory = 0",
            2,
            "history = 0 is invalid: it must be a whole number of at least 1. Write the number",
        ),
        ("keys = ['k']\nhistory = 1001", 2, "must be a whole number of at most 1000"),
        ("keys = ['k']\nhistory = 5.0", 2, "must be a whole number, not a decimal number"),
        ("keys = ['k']\nmin_nodes = 0", 2, "min_nodes = 0 is invalid: it must be a whole number of at least"),
        ("keys = ['k']\nmin_nodes = 4097", 2, "must be a whole number of at most 4096"),
        ("keys = ['k']\nmin_nodes = 2.5", 2, "must be a whole number, not a decimal number"),
        ("cache_ttl = 5", 0, "[[nodes.a.master]] has no condition"),
        # domains and keys
        ("domains = ['D', 'RUGBY*']", 1, "The domain 'RUGBY*' is invalid: only a whole \"*\" is a wi"),
        ("domains = ['**']", 1, "The domain '**' is invalid: only a whole \"*\" is a wildcard. Name ea"),
        ('domains = ["a\\tb", ""]', 1, "domains in [[nodes.a.master]]: The domain 'a\\tb' holds '\\t'"),
        (f"domains = ['{'D' * 257}']", 1, "has 257 characters. The limit is 256"),
        ("keys = ['k', '']", 1, "keys in [[nodes.a.master]]: The key is empty. Name a topic"),
        (
            "keys = ['radar/#']",
            1,
            "The key 'radar/#' contains the wildcard '#' as a level. The keys of a rule",
        ),
        ("keys = ['+']", 1, "The key '+' contains the wildcard '+' as a level"),
        ('keys = ["a\\u0000"]', 1, "holds '\\x00' at position 1"),
        (f"keys = ['{'k' * 513}']", 1, "has 513 characters"),
        # refids
        (
            WAY + "refid = 'a'",
            3,
            "refid = 'a' in [[nodes.a.master]] is the node of the rule itself. A refid names the no",
        ),
        (WAY + "refid = 'bilbo'", 3, "refid = 'bilbo' in [[nodes.a.master]] names a node without a section"),
        (WAY + "refid = 'bilbo'", 3, "Add a section [nodes.NAME] for it, or omit the refid."),
        (WAY + "refid = 'herom'", 3, "names a node without a section. Did you mean 'heron'?"),
        ("keys = ['k']\nrefid = 'heron'", 2, "a node at stratum 0 is the master and needs no refid"),
        # backups
        ("keys = ['k']\nbackup = 1", 2, "must be true or false, not a whole number. Write true or false."),
        ("keys = ['k']\nbackup = true\nstratum = 1", 2, "[[nodes.a.master]] is a backup, but has stratum 1"),
        ("keys = ['k']\nbackup = true", 0, "a is a backup of key 'k', but no node is its master. Add the s"),
        (
            "keys = ['k']\n[[nodes.a.master]]\nkeys = ['k']\nbackup = true",
            2,
            "a is both master and backup of key 'k' (see ",
        ),
    ],
)
def test_what_is_wrong_with_a_rule_is_named_with_its_line(
    tmp_path: Path, rule: str, line: int, says: str
) -> None:
    path = written(tmp_path, f"[nodes.heron]\n[[nodes.a.master]]\n{rule}")
    message = refusal(path)
    assert message.startswith(f"{path}:{2 + line}: ")
    assert says in message


@pytest.mark.parametrize(
    ("sets", "topic"), [("domains = ['*', 'D']", "domain '*'"), ("keys = ['k/l']", "key 'k/l'")]
)
def test_a_node_that_is_master_and_way_of_the_same_is_refused_with_both_places(
    tmp_path: Path, sets: str, topic: str
) -> None:
    path = written(
        tmp_path, f"[nodes.b]\n[[nodes.a.master]]\n{sets}\n[[nodes.a.master]]\n{sets}\nstratum = 2"
    )
    assert refusal(path).startswith(
        f"{path}:4: a has stratum 2 for {topic}, and also stratum 0 (see {path}:2). "
    )


def chain(*steps: tuple[str, str], sets: str = "domains = ['D']") -> str:
    """Return the nodes of a file in which each has a route to the next, at stratum 1."""
    return "".join(
        f"[[nodes.{node}.master]]\n{sets}\nstratum = 1\nrefid = '{refid}'\n" for node, refid in steps
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (chain(("a", "b"), ("b", "a")), 1, "for domain 'D' the refids form a loop: a -> b -> a. "),
        (chain(("a", "b"), ("b", "c"), ("c", "a")), 1, "loop: a -> b -> c -> a. A refid names the node"),
        (chain(("x", "a"), ("a", "b"), ("b", "a")), 5, "loop: a -> b -> a. "),
        (chain(("a", "b"), ("b", "a"), sets=""), 1, "for everything else the refids form a loop: a -> b"),
        (chain(("a", "b"), ("b", "a"), sets="keys = ['k']"), 1, "for key 'k' the refids form a loop: a"),
        (
            chain(("a", "b"), ("b", "a"), sets="accept_other_default = true"),
            1,
            "for messages without a domain the",
        ),
        (chain(("a", "m"), ("a", "b"), ("b", "a")) + "[nodes.m]", 5, "loop: a -> b -> a. "),
    ],
    ids=["two", "three", "behind another", "everything else", "key", "without a domain", "one of two ways"],
)
def test_refids_in_a_circle_are_refused_with_the_circle(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    path = written(tmp_path, text)
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: for ")
    assert says in message


def test_two_nodes_may_be_the_way_to_each_other_for_different_domains(tmp_path: Path) -> None:
    text = chain(("a", "b")) + chain(("b", "a"), sets="domains = ['E']")
    assert len(rules(load(written(tmp_path, text), {}, {}))) == 2


@pytest.mark.slow  # for its length
def test_ten_thousand_nodes_in_a_row_are_no_circle(tmp_path: Path) -> None:
    steps = [(f"n{number}", f"n{number + 1}") for number in range(10_000)]
    text = chain(*steps, sets="domains=['*']") + "[nodes.n10000]\n"
    assert len(load(written(tmp_path, text), {}, {}).nodes) == 10_001
