"""Access to the pages of a node over HTTP."""

import pytest

from mesh.shell.http.asked import HEADERS, HttpPath, HttpRequest, HttpResponse, is_here, read, wanted

TOKEN = "0123456789abcdef"


def asked(
    path: str = "/metrics", token: str | None = TOKEN, host: str = "127.0.0.1:7780", method: str = "GET"
) -> str:
    headers = {"host": host}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    found = wanted(HttpRequest(method, path, headers), 7780, TOKEN)
    return found.status[:3] if isinstance(found, HttpResponse) else found.value


def test_who_knows_the_token_gets_metrics_and_nobody_else() -> None:
    assert asked() == "/metrics"
    found = [asked(token=token) for token in (None, "", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\xff")]
    assert set(found) == {"401"}


def test_whoever_is_here_may_ask_whether_it_lives() -> None:
    assert [asked(path, None) for path in ("/healthz", "/readyz")] == ["/healthz", "/readyz"]
    assert asked("/healthz", method="HEAD") == "/healthz"


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/nowhere"])
def test_a_page_that_came_by_a_name_of_its_own_gets_nothing(path: str) -> None:
    assert asked(path, host="rebound.example:7780") == "421"


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7780", "localhost:7780", "LOCALHOST:7780", "[::1]:7780", "127.9.9.9:7780"]
)
def test_this_machine_is_known_by_its_loopback(host: str) -> None:
    assert is_here(host, 7780)


@pytest.mark.parametrize(
    "host",
    ["", "127.0.0.1", "127.0.0.1:7781", "10.0.0.1:7780", "localhost.evil.example:7780", "127.0.0.1.evil:7780",
     "[::1]", "[::2]:7780", "0.0.0.0:7780", ":7780", "127.0.0.1:07780", "localhost:7780:7780"],
)  # fmt: skip
def test_what_only_looks_like_this_machine_is_not(host: str) -> None:
    assert not is_here(host, 7780)


def test_without_a_port_it_is_80() -> None:
    assert is_here("localhost", 80) and is_here("[::1]", 80) and not is_here("localhost", 7780)


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "DELETE", "get", ""])
def test_only_reading_is_possible(method: str) -> None:
    assert asked(method=method) == "405"


def test_what_is_not_there_is_told_with_what_is() -> None:
    found = wanted(HttpRequest("GET", "/", {"host": "localhost:7780"}), 7780, TOKEN)
    assert isinstance(found, HttpResponse) and b"/healthz, /readyz, /metrics" in found.text


def test_a_request_is_read() -> None:
    found = read(b"GET /metrics?x=/healthz HTTP/1.1\r\nHost: a:1\r\nX-Y:  z \r\n\r\n")
    assert found == HttpRequest("GET", "/metrics", {"host": "a:1", "x-y": "z"})


@pytest.mark.parametrize(
    "head",
    [
        b"", b"\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/2\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n",
        b"GET http://evil/ HTTP/1.1\r\n\r\n", b"\x16\x03\x01 \xff\xff\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET / HTTP/1.1\r\n: empty\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"a%d: 1\r\n" % n for n in range(HEADERS + 1)) + b"\r\n",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(head: bytes) -> None:
    found = read(head)
    assert isinstance(found, HttpResponse) and found.status.startswith("400")


def test_an_answer_says_its_length_and_that_it_is_the_last() -> None:
    frames = HttpResponse("200 OK", b"ok\n").frames()
    assert (
        frames.endswith(b"\r\n\r\nok\n")
        and b"Content-Length: 3\r\n" in frames
        and b"Connection: close" in frames
    )
    assert HttpResponse("200 OK", b"ok\n").frames(has_body=False).endswith(b"\r\n\r\n")
    assert HttpPath("/healthz") is HttpPath.LIVES
