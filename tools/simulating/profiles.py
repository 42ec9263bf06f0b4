"""Which faults and which work go together?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """`faults` are those that may be enabled, each by chance; () = all. `seconds` that a story lasts."""

    name: str
    faults: tuple[str, ...] = ()
    rules: tuple[str, ...] = ("plain", "plain", "chain", "several")
    rate: float = 6.0  # messages a second, of the whole mesh
    seconds: tuple[float, float] = (120.0, 600.0)
    is_slow: bool = False  # many slow readers, small windows


WIRES = ("cut", "one way", "isolate", "swizzle", "loss", "delay", "narrow", "break", "break client")
DISKS = ("crash point", "full", "io error", "rot", "slow disk", "crash", "power")
PROFILES = {
    profile.name: profile
    for profile in (
        Profile("swarm"),
        Profile("disk", faults=(*DISKS, "bounce", "break client")),
        Profile("membership", (*WIRES, "crash", "power", "bounce", "pause", "advert", "stranger", "namesake"),
                ("plain",), rate=0.5, seconds=(300.0, 1200.0)),
        Profile("masters", rules=("chain", "several"), rate=8.0),
        Profile("slow", (*WIRES, "pause", "full", "slow disk", "crash"), rate=20.0, is_slow=True,
                seconds=(120.0, 240.0)),
    )
}  # fmt: skip
SHORT = Profile("short", seconds=(20.0, 40.0))  # for tests
