"""Answers of a node to `info`, for tests of their output."""

from mesh.wire.replies import Info


def info(**figures: float) -> Info:
    return Info(
        name="heron", uuid="ab", boot=3, address="", cluster="lab", software="heronry 1", scope="mesh",
        uptime=5.0, pid=1, data="", ipc="", lag_p99=0.1, lag_worst=0.2, snapshots={}, disk={"disk_free": 7},
        metrics=dict(figures),
    )  # fmt: skip
