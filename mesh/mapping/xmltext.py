"""Escapes text for XML: between tags, or as the value of an attribute."""

# `html` is used because `xml.sax.saxutils` imports HTTP and e-mail at each start of a node.

import re
from html import escape

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHITE = str.maketrans({"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})  # readers would turn them into spaces


def attribute(text: str, instead: str) -> str:
    """Return the text in quotes, with `instead` for characters that XML cannot hold."""
    return f'"{escape(NOT_XML.sub(instead, text)).translate(_WHITE)}"'


def content(text: str, instead: str) -> str:
    """Return the text for use between tags, with `instead` for characters that XML cannot hold."""
    return escape(NOT_XML.sub(instead, text), quote=False)
