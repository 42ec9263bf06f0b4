"""The XML of a session, and XPaths that select it."""

from mesh.mapping.clientxml import FEATURES, ClientDocument
from mesh.mapping.cost import ELEMENTS
from mesh.mapping.keyxml import asked
from mesh.names import SessionName

JOE = SessionName("joe", 1, "heron")


def document(user: str = "", reads_inbox: bool = False, features: tuple[str, ...] = ()) -> ClientDocument:
    return ClientDocument(JOE, user, "client", bool(user), reads_inbox, features)


def test_an_xpath_selects_a_session_by_each_of_its_attributes() -> None:
    joe = document('k<e&y"', reads_inbox=True, features=("pieces", "queues"))
    for xpath, is_selected in (
        ("//client", True),
        ("/client[@name='joe']", True),
        ("//client[@name='ann']", False),
        ("//client[@name='joe' and @session='1' and @node='heron']", True),
        ("//client[@session > 1]", False),
        ("//client[starts-with(@node, 'her')]", True),
        ("//client[@user='k<e&y\"']", True),
        ("//client[@role='client' and @inbox='open']", True),
        ("//client[feature='queues']", True),
        ("//client[not(feature='queues')]", False),
        ("//client[@named]", True),
        ("//key", False),
    ):
        assert asked(xpath).matches(joe) is is_selected, xpath
    assert not asked("//client[@user or @named or @inbox or feature]").matches(document())


def test_what_a_client_claims_about_itself_neither_breaks_nor_swells_the_document() -> None:
    odd = document(features=("<x/>", "a b", "\x00", "é", "", "w" * 10_000, *(f"f{n}" for n in range(10_000))))
    assert asked("//client[@name='joe']").matches(odd)
    assert len(odd.root) <= FEATURES < ELEMENTS
    assert len(odd.text) < 8000
    assert not asked("//x").matches(odd)
