"""The worked examples of docs/wire.md as data: messages, proofs, streams, adverts and keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgpack

from mesh.discovery import adverts
from mesh.proof import curve_place, prove
from mesh.security.derive import SERVER, derived, role_secret
from mesh.security.signing import curve_pair
from mesh.wire.limits import VERSION_MAX
from tools.wire_parts.goldens import (
    COOKIE,
    DIALLER,
    ENDPOINT,
    GOLDENS,
    HERON,
    KEY,
    LISTENER,
    PROPS,
    SEED,
    SIGNATURE,
    STREAM,
)
from tools.wire_parts.words import notation

CLUSTER = "default"
ABOUT = (
    "Worked examples of the Heronry wire protocol; docs/wire.md explains them. Bytes are in hexadecimal."
    " `says` is the content of a frame as JSON, with bytes as <hex> and nil for nil. Bodies have none."
)


def frame(data: bytes, *, is_body: bool) -> Mapping[str, str]:
    """Return one frame: its bytes, and its content unless it is a body."""
    return {"hex": data.hex()} if is_body else {"says": notation(msgpack.unpackb(data)), "hex": data.hex()}


def message(name: str) -> Mapping[str, Any]:
    """Return one golden message.

    Each of its bodies is one frame.
    """
    frames = enumerate(GOLDENS[name])
    return {"name": name, "frames": [frame(data, is_body=at > 0 and at % 2 == 0) for at, data in frames]}


def cookie_proof() -> Mapping[str, str]:
    """Return the proofs of a mesh without keys."""
    return {
        "cookie": COOKIE.hex(),
        "hello_nonce": DIALLER.hex(),
        "challenge_nonce": LISTENER.hex(),
        "endpoint": ENDPOINT,
        "dialler": prove(COOKIE, "dialler", DIALLER, LISTENER, ENDPOINT).hex(),
        "listener": prove(COOKIE, "listener", DIALLER, LISTENER, ENDPOINT).hex(),
    }


def curve_proof() -> Mapping[str, str]:
    """Return the keys of a mesh with keys, and the proofs of a client in it.

    The secret of the mesh is COOKIE.
    """
    mine, server = curve_pair(b"\x42" * 32), curve_pair(derived(COOKIE, CLUSTER, SERVER))
    client, place = role_secret(COOKIE, CLUSTER, "client"), curve_place(mine.public, server.public)
    return {
        "mesh": COOKIE.hex(),
        "cluster": CLUSTER,
        "node": role_secret(COOKIE, CLUSTER, "node").hex(),
        "client": client.hex(),
        "server": server.public,
        "public": mine.public,
        "private": mine.secret,
        "hello_nonce": DIALLER.hex(),
        "challenge_nonce": LISTENER.hex(),
        "dialler": prove(client, "dialler", DIALLER, LISTENER, place).hex(),
        "listener": prove(client, "listener", DIALLER, LISTENER, place).hex(),
    }


def stream() -> Mapping[str, str]:
    """Return a stream id, with its key and the signature of the HELLO in `cookie_proof`."""
    return {
        "seed": SEED.hex(),
        "key": KEY.public.hex(),
        "stream": STREAM.hex(),
        "uuid": HERON.uuid.hex(),
        "signature": SIGNATURE.hex(),
    }


def advert() -> Mapping[str, str | int]:
    heron = adverts.Advert(HERON.uuid, "heron", 3, 7710, ("10.0.0.5",))
    txt = adverts.Adverts(CLUSTER, COOKIE, None, lambda key, text, signature: False).write_txt(heron)
    return {
        "secret": COOKIE.hex(),
        "cluster": CLUSTER,
        "uuid": heron.instance,
        "name": heron.name,
        "boot": heron.boot,
        "port": heron.port,
        "c": txt["c"].decode(),
        "m": txt["m"].decode(),
    }


def text() -> str:
    data = {
        "about": ABOUT,
        "version": VERSION_MAX,
        "cookie_proof": cookie_proof(),
        "curve_proof": curve_proof(),
        "stream": stream(),
        "advert": advert(),
        "properties": frame(PROPS, is_body=False),
        "messages": [message(name) for name in GOLDENS],
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
