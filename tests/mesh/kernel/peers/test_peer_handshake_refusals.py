"""The effects of a refused HELLO, by the code of the refusal."""

from itertools import product
from typing import Any
from unittest.mock import Mock

import pytest

from mesh.kernel.peers.facts import LoginRefused
from mesh.kernel.peers.peer_handshake import MEANINGS, YOUNG, PeerHandshake
from mesh.kernel.peers.reach_table import ReachEvent
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Refuse

# Written by hand: R reported, S a young node stops, L the link of a data connection is refused, A only if
# this node denies the link as well, N a final refusal is about this node.
MEANS = """
DUEL           N
SAME_UUID      L
NAME_IN_USE    R S L N
CONFLICT       R S L N
DENIED         R A N
WRONG_CLUSTER  R L N
"""
EXPECTED = {code: set(signs) for code, *signs in map(str.split, MEANS.strip().splitlines())}
CASES = [*product(EXPECTED, (NODE_CONTROL, NODE_DATA), *[(False, True)] * 4)]


def refused(
    code: str, role: str, final: bool, is_proven: bool, is_young: bool, denies: bool, is_known: bool = True
) -> set[str]:
    """Return the signs of the refused node's actions, with E if its connection counts as ended."""
    context, dialler, neighbours, peer, conn = Mock(), Mock(), Mock(), Mock(), Mock(role=role, seed="")
    context.clock.now, context.denies.return_value = (1.0 if is_young else YOUNG + 1), denies
    peer.dials, peer.link.reason = {NODE_DATA: [conn], NODE_CONTROL: []}, ""
    neighbours.of.return_value = peer if is_known else None
    neighbours.peers = {}
    handshake: Any = PeerHandshake(context, dialler, neighbours, Mock())
    handshake.rejected(conn, Refuse(code, "why", final=final), is_proven)
    facts = [call.args[0] for call in context.facts.publish_fact.call_args_list]
    is_unwelcome = peer.reach.happens.called
    assert not is_unwelcome or peer.reach.happens.call_args.args[0] is ReachEvent.UNWELCOME
    has_ended = dialler.on_conn_ended.called
    signs = {
        "R": context.event.called or context.out.log_line.called,
        "S": any(isinstance(fact, LoginRefused) for fact in facts),
        "L": peer.link.on_refused.called and not has_ended and not peer.dials[NODE_DATA],
        "N": is_unwelcome,
        "E": has_ended,
    }
    return {sign for sign, is_so in signs.items() if is_so}


@pytest.mark.parametrize(("code", "role", "final", "is_proven", "is_young", "denies"), CASES)
def test_each_refusal_has_the_effects_of_its_row(
    code: str, role: str, final: bool, is_proven: bool, is_young: bool, denies: bool
) -> None:
    row = EXPECTED[code]
    expected = row & {"R"}
    if "S" in row and final and is_proven and is_young:
        expected.add("S")
    if role == NODE_DATA and ("L" in row or ("A" in row and denies)):
        expected.add("L")
    else:
        expected.add("E")
        if final:
            expected |= row & {"N"}
    assert refused(code, role, final, is_proven, is_young, denies) == expected


@pytest.mark.parametrize("code", EXPECTED.keys())
def test_the_refusal_of_an_unknown_node_ends_its_connection(code: str) -> None:
    signs = refused(code, NODE_DATA, True, False, True, False, is_known=False)
    assert signs == EXPECTED[code] & {"R"} | {"E"}


def test_the_hand_written_table_has_each_code() -> None:
    assert MEANINGS.keys() < EXPECTED.keys()
