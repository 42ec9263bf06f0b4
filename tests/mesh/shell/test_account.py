"""The lines that a node logs about itself at its start and at its end."""

from mesh.shell.account import begins, ends, waiting

NOTHING = {"client_published": 0, "delivered": 0, "pending": 0, "queue_messages": 0, "tailed_back": 0}


def test_what_waits_is_named_by_where_it_waits() -> None:
    assert waiting(NOTHING) == "nothing"
    assert waiting({**NOTHING, "pending": 1200, "tailed_back": 3}) == (
        "1,200 for subscribers, 3 for unreachable masters"
    )
    assert waiting({**NOTHING, "queue_messages": 7}) == "7 in queues"


def test_the_first_line_says_who_it_is_and_what_waits() -> None:
    it = {"name": "heron", "uuid": "221ecdec3c48", "boot": 7, "cluster": "lab"}
    assert begins("heronry 1.2.3", it, ("tcp://127.0.0.1:7710",), "sqlite", {**NOTHING, "pending": 2}) == (
        "node 'heron' begins: heronry 1.2.3, boot 7, id 221ecdec, cluster 'lab', at tcp://127.0.0.1:7710, "
        "store sqlite, waiting: 2 for subscribers"
    )


def test_the_last_line_says_what_it_has_done() -> None:
    figures = {**NOTHING, "client_published": 12345, "delivered": 999}
    assert ends("heron", 7201.4, figures) == (
        "node 'heron' ends after 7,201 s: published 12,345, delivered 999, waiting: nothing"
    )
