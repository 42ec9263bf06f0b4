"""Parses and authorizes one HTTP request, without I/O.

Law: a request with a foreign Host, as after DNS rebinding of a browser, is refused. So is a request for
metrics without the token, which other users of this machine do not know.
"""

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

HEADERS = 64  # header lines of a request, at most
LONGEST = 8192  # bytes of a request, at most


class HttpPath(Enum):
    """The paths that the endpoint serves."""

    LIVES = "/healthz"
    SERVES = "/readyz"
    METRICS = "/metrics"


OPEN = (HttpPath.LIVES, HttpPath.SERVES)  # to every user of this machine


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Response to a request."""

    status: str
    text: bytes
    kind: str = "text/plain; charset=utf-8"
    more: tuple[str, ...] = ()  # further header lines

    def frames(self, has_body: bool = True) -> bytes:
        """Return the bytes to send, without the text unless `has_body`.

        The connection closes afterwards.
        """
        head = (
            f"HTTP/1.1 {self.status}",
            f"Content-Type: {self.kind}",
            f"Content-Length: {len(self.text)}",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            "Connection: close",
            *self.more,
        )
        return "\r\n".join((*head, "", "")).encode() + (self.text if has_body else b"")


def no(status: str, why: str, *more: str) -> HttpResponse:
    """Return a refusal with `why` as its text."""
    return HttpResponse(status, f"{why}\n".encode(), more=more)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """Head of a request.

    Header names are lower case.
    """

    method: str
    path: str
    headers: Mapping[str, str]


def read(head: bytes) -> HttpRequest | HttpResponse:
    """Return the request, or the refusal of a malformed one.

    `head` ends with the empty line.
    """
    bad = no("400 Bad Request", "not a request of HTTP/1.1")
    lines = head.decode("latin-1").split("\r\n")
    first = lines[0].split(" ")
    if len(first) != 3 or first[2] not in ("HTTP/1.0", "HTTP/1.1") or not first[1].startswith("/"):
        return bad
    headers: dict[str, str] = {}
    for line in filter(None, lines[1:]):
        name, colon, value = line.partition(":")
        if (
            not colon
            or not name
            or name != name.strip()
            or name.lower() in headers
            or len(headers) == HEADERS
        ):
            return bad  # duplicates: another parser may use the other one
        headers[name.lower()] = value.strip()
    return HttpRequest(first[0], first[1].partition("?")[0], headers)


def wanted(request: HttpRequest, port: int, token: str) -> HttpPath | HttpResponse:
    """Return the allowed path, or a refusal.

    `port` is the local port. `token` is required for each path that is not in OPEN.
    """
    if not is_here(request.headers.get("host", ""), port):
        return no(
            "421 Misdirected Request", "Host must be the address of this machine or localhost, with the port"
        )
    if request.method not in ("GET", "HEAD"):
        return no("405 Method Not Allowed", "only GET and HEAD", "Allow: GET, HEAD")
    try:
        path = HttpPath(request.path)
    except ValueError:
        return no("404 Not Found", f"use one of {', '.join(path.value for path in HttpPath)}")
    said = request.headers.get("authorization", "")
    if path not in OPEN and not hmac.compare_digest(said.encode("latin-1"), f"Bearer {token}".encode()):
        why = "Authorization: Bearer TOKEN is required; `mesh metrics --token` prints the file of TOKEN"
        return no("401 Unauthorized", why, "WWW-Authenticate: Bearer")
    return path


def is_here(host: str, port: int) -> bool:
    """Return whether the Host header `host` names this machine's loopback and `port`.

    A header without a port means port 80.
    """
    name, colon, its_port = host.rpartition(":")
    if host.endswith("]") or not colon:
        name, its_port = host, "80"
    if its_port != str(port):
        return False
    try:
        return name.lower() == "localhost" or ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
