"""Questions about tallies."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from mesh.wire.calls.ask import Ask, AskPage, Carried, Name

LONGEST_TALLY = 180  # characters, so that the names of its rows fit into shared rows

TallyName = Annotated[str, Meta(max_length=LONGEST_TALLY)]


class AskTallyAdd(Carried, frozen=True, kw_only=True):
    """Add to the row of one node. Nodes pass the question on to that node.

    A question that is repeated with the same number counts once.

    Attributes:
        tally: Name of the tally.
        node: Name of the node whose row counts the addition.
        amount: Number to add.
        number: Number of the addition: 1, 2, 3, … for each tally, node and client.
        low: Lowest number without an answer.
        writer: Public Ed25519 key of the client's stream.
        signature: Its signature of "heronry tally" and the fields above in MessagePack.
    """

    verb = "tally_add"
    tally: TallyName
    node: Name
    amount: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    number: Annotated[int, Meta(ge=1, le=2**53)]
    low: Annotated[int, Meta(ge=1, le=2**53)]
    writer: Annotated[bytes, Meta(min_length=32, max_length=32)]
    signature: Annotated[bytes, Meta(max_length=64)] = b""


class AskTally(Ask, frozen=True, kw_only=True):
    """Return the value of a tally, with the present rows of all nodes that answer.

    Attributes:
        tally: Name of the tally.
    """

    verb = "tally"
    tally: TallyName


class AskTallyRow(Ask, frozen=True, kw_only=True):
    """Return the present row of the asked node.

    Attributes:
        tally: Name of the tally.
    """

    verb = "tally_row"
    tally: TallyName


class AskTallies(AskPage, frozen=True, kw_only=True):
    """Return the names of the tallies that the node knows."""

    verb = "tallies"
