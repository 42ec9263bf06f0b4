"""Publish and get without an event loop."""

import mesh.sync


def main() -> None:
    with mesh.sync.connect() as m:
        m.publish("p3/b", "21.5")
        for message in m.get("p3/b"):
            print(message.key, message.text)


if __name__ == "__main__":
    main()
