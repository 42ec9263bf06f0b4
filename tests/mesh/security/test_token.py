"""Tokens: each is read as it was written, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import KeysRefused
from mesh.security.token import PREFIX, Token, read_token, write_token

NODE = Token("default", "node", bytes(range(32)))
CLIENT = Token("prod-1", "client", bytes(32), "k" * 40, 2_000_000_000)

names = st.from_regex(r"[A-Za-z0-9_.:-]{1,64}", fullmatch=True)
secrets = st.binary(min_size=32, max_size=32)
times = st.integers(0, 2**40)
tokens = st.one_of(
    st.builds(Token, names, st.just("node"), secrets, st.just(""), times),
    st.builds(Token, names, st.sampled_from(["client", "monitor"]), secrets, st.just("z" * 40), times),
)


def refused(text: str, now: float = 0.0) -> str:
    with pytest.raises(KeysRefused) as error:
        read_token(text, now)
    assert error.value.hint
    return error.value.code


@given(tokens)
def test_every_token_comes_back(token: Token) -> None:
    assert read_token(write_token(token), 0.0 if token.expires else 1e12) == token


@given(tokens, st.data())
def test_one_wrong_or_missing_letter_is_noticed(token: Token, data: st.DataObject) -> None:
    text = write_token(token)
    at = data.draw(st.integers(len(PREFIX), len(text) - 1))
    letter = data.draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567").filter(lambda x: x != text[at]))
    # The last character can contain a few unused bits.
    for damaged in (text[:at] + letter + text[at + 1 :], text[:at] + text[at + 1 :], text + letter):
        try:
            assert read_token(damaged, 0.0) == token
        except KeysRefused as error:
            assert error.code == "TOKEN_DAMAGED"
        else:
            assert at == len(text) - 1


@given(st.text(max_size=200))
def test_any_text_is_a_token_or_refused(text: str) -> None:
    for word in (text, PREFIX + text):
        assert refused(word) in ("TOKEN", "TOKEN_DAMAGED")


def test_what_a_chat_does_to_it_does_no_harm() -> None:
    text = write_token(CLIENT)
    broken = "\n".join([text[:50].lower(), "  " + text[50:90], "-".join(text[90:])])
    assert read_token(f" {broken} \n", 0.0) == CLIENT


def test_after_its_time_it_is_refused() -> None:
    assert read_token(write_token(CLIENT), CLIENT.expires - 0.1) == CLIENT
    assert refused(write_token(CLIENT), CLIENT.expires) == "TOKEN_EXPIRED"
    assert read_token(write_token(NODE), 1e12) == NODE  # never expires


def test_neither_longer_nor_other_than_a_token_is_looked_at() -> None:
    assert refused("HELLO") == "TOKEN"
    assert refused(PREFIX + "A" * 2000) == "TOKEN"
    assert refused("") == "TOKEN"


@pytest.mark.parametrize(
    "odd",
    [
        Token("", "node", bytes(32)),
        Token("a b", "node", bytes(32)),
        Token("a", "king", bytes(32)),
        Token("a", "node", bytes(31)),
        Token("a", "client", bytes(32)),
        Token("a", "node", bytes(32), "k" * 40),
    ],
)
def test_a_token_that_no_mesh_would_write_is_damaged(odd: Token) -> None:
    assert refused(write_token(odd)) == "TOKEN_DAMAGED"


def test_its_secret_does_not_show_in_a_log() -> None:
    assert "secret" not in repr(NODE)
