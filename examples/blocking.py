"""The same without an event loop, for scripts, notebooks and frameworks. Needs a node: `mesh up`."""

import mesh.sync

with mesh.sync.connect() as m:
    m.publish_many("counter/value", (str(number) for number in range(1000)))
    [last] = m.get("counter/value")
    print("the last of 1,000 values is", last.content.decode())

    with m.subscribe("counter/value") as messages:
        first = next(messages)
        print("a new subscriber begins with it:", first.content.decode(), first.state)
