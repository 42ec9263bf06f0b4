"""A node's mDNS alone, as a program for namespaces: what it sees, a line of JSON each.

python -m tests.discovery.caller '{"name": "a", "interfaces": ["10.99.0.1"], "hosts": ["10.99.0.1"]}'

Each line on stdin is a list of interfaces to go over to; the end of stdin stops it.
"""

import json
import sys
import threading

import discovery.mdns
from discovery.adverts import Advert, Adverts
from discovery.mdns import Mdns
from discovery.sights import Discovered, Sight


def shown(sight: Sight) -> dict[str, object]:
    if isinstance(sight, Discovered):
        return {"kind": "found", "name": sight.advert.name, "hosts": sight.advert.hosts}
    return {"kind": type(sight).__name__.lower(), "text": str(sight)}


def main() -> None:
    it = json.loads(sys.argv[1])
    discovery.mdns.LOOK_AGAIN = it.get("look", discovery.mdns.LOOK_AGAIN)
    discovery.mdns.PAUSE = it.get("pause", discovery.mdns.PAUSE)
    woken, ended = threading.Event(), threading.Event()
    advert = Advert(it["name"].encode().ljust(16), it["name"], 1, 7710, tuple(it["hosts"]))
    mdns = Mdns(Adverts("lab", b"s" * 32, None, lambda *_: False), advert, it["interfaces"], woken.set)

    def obey() -> None:
        for line in sys.stdin:
            mdns.update(advert, json.loads(line))
        ended.set()
        woken.set()

    threading.Thread(target=obey, daemon=True).start()
    mdns.start()
    while not ended.is_set():
        woken.wait()
        woken.clear()
        for sight in mdns.take():
            print(json.dumps(shown(sight)), flush=True)
    mdns.stop()


if __name__ == "__main__":
    main()
