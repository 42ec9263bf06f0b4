"""The maps, counters, tallies and locks of a scenario, and the programs that use them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle

from mesh.features.spaces.node.parts import SpaceParts
from tools.simulator.clients.sharer import Sharer
from tools.simulator.stage.company import Company
from tools.simulator.stage.scene import Scene, Steps
from tools.simulator.world import sharing

USED = ("put", "put_if", "remove", "get", "add", "value")  # words of calls
DRIFT = 0.04  # s that the clock of a client gains or loses per second, at most


class Spaces:
    """The spaces of a scene, and the steps that concern them. `kill` and `start` end and start a node."""

    def __init__(
        self, scene: Scene, company: Company, kill: Callable[[str], None], start: Callable[[str], None]
    ) -> None:
        self._scene, self._company, self._kill, self._start = scene, company, kill, start
        self._sharers: dict[str, Sharer] = {}
        self._lives: dict[str, int] = {}  # by the name in the script: how often the client died
        self._numbers = count(1)

    @property
    def steps(self) -> Steps:
        return {
            "use map": lambda name, *args: self._of(name, lambda each: each.use_map(*args)),
            "use counter": lambda name, *args: self._of(name, lambda each: each.use_counter(*args)),
            "use tally": lambda name, *args: self._of(name, lambda each: each.use_tally(*args)),
            "hold": lambda name, *args: self._of(name, lambda each: each.hold(*args)),
            "move space": lambda name, *args: self._of(name, lambda each: each.move_space(*args)),
            "nap": lambda name, seconds: self._of(name, lambda each: each.program.pause(seconds)),
            "die sharing": self._die,
            "kill home": self._kill_home,
            "cut home": self._cut_home,
        }

    def _of(self, name: str, then: Callable[[Sharer], object]) -> None:
        name = f"{name}:{self._lives[name]}" if name in self._lives else name
        client = self._scene.clients.get(name)
        if client is None or client.is_closed:
            return
        if name not in self._sharers:
            drift = self._scene.net.chance(f"clock of {name}").uniform(-DRIFT, DRIFT)
            self._sharers[name] = Sharer(client, drift, self._numbers)
        then(self._sharers[name])

    def _die(self, name: str, back: float) -> None:
        """End a client, which returns as another session `back` s later."""

        def die(sharer: Sharer) -> None:
            sharer.client.die()
            sharer.end()
            life, node = self._lives.get(name, 0) + 1, name.split("-")[1]
            self._lives[name] = life
            self._scene.net.after(back, lambda: self._company.come(f"{name}:{life}", node))

        self._of(name, die)

    # --- faults of homes ------------------------------------------------------------------------------------

    def _home_of(self, space: str) -> str:
        """Return the home of a space by its newest definition at a node that runs, or ""."""
        nodes = [node for node in self._scene.nodes.values() if node.is_up]
        known = [found for node in nodes if (found := node.core.parts[SpaceParts].spaces.last(space))]
        return max(known, key=lambda each: each.generation).node if known else ""

    def _kill_home(self, space: str, back: float) -> None:
        if home := self._home_of(space):
            self._kill(home)
            self._scene.net.after(back, lambda: self._start(home))

    def _cut_home(self, space: str, seconds: float) -> None:
        """Cut the home of a space off from all other nodes."""
        if not (home := self._home_of(space)):
            return
        for other in self._scene.script.nodes:
            if other != home:
                self._scene.fault("cut", home, other)
                self._scene.net.cut(home, other)
                self._scene.net.after(seconds, lambda other=other: self._mend(home, other))  # type: ignore[misc]

    def _mend(self, home: str, other: str) -> None:
        self._scene.over("cut", home, other)
        self._scene.net.heal_pair(home, other)

    # --- the end --------------------------------------------------------------------------------------------

    def are_through(self) -> bool:
        return all(each.is_through for each in self._sharers.values())

    def read_all(self) -> None:
        """Read all values once more, each at one node, and the tallies at each node."""
        nodes = cycle(self._scene.script.nodes)
        used = {(e.domain, e.keys[0]) for e in self._scene.history.of("op") if e.text in USED}
        for space, key in sorted(used):
            kind, _, name = space.partition("/")
            match kind:
                case "map":
                    self.steps["use map"](f"asker-{next(nodes)}", name, key, "get", "")
                case "counter":
                    self.steps["use counter"](f"asker-{next(nodes)}", name, key, "value", 0)
                case "tally":
                    for node in self._scene.script.nodes:
                        self.steps["use tally"](f"asker-{node}", name, "value", 0)

    def hurry(self) -> None:
        """End all pauses of programs, and let them release their locks."""
        for sharer in self._sharers.values():
            sharer.hurry()

    def sample(self) -> None:
        """Record tables above their limits, and wrong counts."""
        for node in self._scene.nodes.values():
            if node.is_up and not node.is_stopped:
                for text in sharing.out_of_bounds(node.core.parts[SpaceParts]):
                    self._scene.tell("out of bounds", text, node.name)

    def end(self) -> None:
        """Record calls without an answer, and unfinished work of nodes."""
        for sharer in self._sharers.values():
            sharer.last_words()
        for node in self._scene.nodes.values():
            for text in sharing.unfinished(node.core.parts[SpaceParts]):
                self._scene.tell("out of bounds", text, node.name)

    def close(self) -> None:
        """End all programs, after the end of the history."""
        for sharer in self._sharers.values():
            if not sharer.client.is_closed:
                sharer.client.die()
            sharer.end()
