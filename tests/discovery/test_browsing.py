"""A search for nodes by multicast DNS on the loopback interface."""

from __future__ import annotations

import secrets

from mesh.discovery.adverts import Advert, Adverts, Near
from mesh.discovery.browsing import browse
from tests.discovery.test_mdns import LOOPBACK, Listener, listening


def test_a_search_finds_the_nodes_that_announce_themselves_and_announces_nothing() -> None:
    secret = secrets.token_bytes(32)
    with listening(Listener("heron", secret), Listener("egret", secret)) as (heron, egret):
        found = browse(heron.adverts, LOOPBACK)
        assert {it.name: it for it in found} == {"heron": heron.advert, "egret": egret.advert}
        assert heron.found().keys() <= {"egret"}


def test_without_the_secret_of_the_mesh_a_node_with_a_key_is_found_without_a_proof() -> None:
    secret, key = secrets.token_bytes(32), b"k" * 32
    heron = Listener("heron", secret)
    heron.advert = Advert(heron.advert.uuid, "heron", 1, 7000, LOOPBACK, key)
    heron.adverts = Adverts("test", secret, lambda text: b"s" * 64, lambda *_: True)
    heron.mdns = type(heron.mdns)(heron.adverts, heron.advert, LOOPBACK, lambda: None)
    client = Adverts("test", b"", lambda text: b"", lambda *_: True)
    with listening(heron):
        [found] = browse(client, LOOPBACK)
        assert isinstance(found, Near) and (found.name, found.address) == ("heron", "tcp://127.0.0.1:7000")
