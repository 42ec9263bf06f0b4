"""The XML of a connected session of a client, for XPath destinations of direct messages."""

# Law: an XPath over clients is as cheap as one over keys: the document is within the limits of keyxml.py.

from __future__ import annotations

from collections.abc import Iterable

from mesh.mapping.cost import ELEMENTS
from mesh.mapping.keyxml import Document
from mesh.mapping.xmltext import attribute
from mesh.names import SessionName

FEATURES = ELEMENTS // 4  # features of a session that are shown
UNKNOWN = "\ufffd"  # instead of characters that XML cannot hold
WORD = 64  # characters of a feature that are shown


class ClientDocument(Document):
    """The XML of a session: `<client name='joe' session='1' node='heron'><feature>pieces</feature></client>`.

    `user` is the key of its connection, without keys "". `role` is what its secret permits, such as `client`.
    `is_named` is whether its user chose the name of the client, `reads_inbox` whether its inbox is open.
    """

    __slots__ = ()

    def __init__(
        self,
        name: SessionName,
        user: str = "",
        role: str = "",
        is_named: bool = False,
        reads_inbox: bool = False,
        features: Iterable[str] = (),
    ) -> None:
        super().__init__("")
        given = {
            "name": name.client,
            "session": str(name.session),
            "node": name.node or "",
            "user": user,
            "role": role,
            "named": "true" if is_named else "",
            "inbox": "open" if reads_inbox else "",
        }
        texts = [f"{key}={attribute(value, UNKNOWN)}" for key, value in given.items() if value]
        inside = [f"<feature>{word}</feature>" for word in _words(features)]
        self.text = f"<client {' '.join(texts)}>{''.join(inside)}</client>"


def _words(features: Iterable[str]) -> list[str]:
    """Return the features that are plain words, as others cannot be in a document unchanged."""
    plain = (word[:WORD] for word in features if word.isascii() and word.replace("_", "").isalnum())
    return sorted(plain)[:FEATURES]
