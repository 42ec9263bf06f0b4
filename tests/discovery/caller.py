"""Program for network namespaces that runs the mDNS of a node and prints each sighting as a line of JSON.

python -m tests.discovery.caller '{"name": "a", "interfaces": ["10.99.0.1"], "hosts": ["10.99.0.1"]}'

Each line on stdin is a new list of interfaces. The end of stdin stops the program.
"""

import json
import sys
import threading

import mesh.discovery.mdns
from mesh.discovery.adverts import Advert, Adverts
from mesh.discovery.mdns import Mdns
from mesh.discovery.sights import Discovered, Sight


def shown(sight: Sight) -> dict[str, object]:
    if isinstance(sight, Discovered):
        return {"kind": "found", "name": sight.advert.name, "hosts": sight.advert.hosts}
    return {"kind": type(sight).__name__.lower(), "text": str(sight)}


def main() -> None:
    it = json.loads(sys.argv[1])
    mesh.discovery.mdns.LOOK_AGAIN = it.get("look", mesh.discovery.mdns.LOOK_AGAIN)
    mesh.discovery.mdns.PAUSE = it.get("pause", mesh.discovery.mdns.PAUSE)
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
