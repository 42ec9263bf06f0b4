"""Text as XML holds it: between tags, or as the value of an attribute."""

# `html` and not `xml.sax.saxutils`, which brings HTTP and e-mail along, at each start of a node.

import re
from html import escape

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHITE = str.maketrans({"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})  # a reader would make spaces of these


def attribute(text: str, instead: str) -> str:
    """In quotes; what XML cannot hold becomes `instead`."""
    return f'"{escape(NOT_XML.sub(instead, text)).translate(_WHITE)}"'


def content(text: str, instead: str) -> str:
    """Between tags; likewise."""
    return escape(NOT_XML.sub(instead, text), quote=False)
