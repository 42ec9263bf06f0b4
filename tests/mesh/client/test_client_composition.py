"""The calls of a client are composed in one flat list."""

import inspect

import mesh
from mesh.client.connected import Connected
from mesh.client.posting import Posting

FEATURES = mesh.Client.__bases__


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_each_feature_derives_from_posting_alone() -> None:
    assert len(FEATURES) > 5
    assert {feature.__bases__ for feature in FEATURES} == {(Posting,)}
    assert Posting.__bases__ == (Connected,) and not public(Posting)


def test_each_call_is_in_one_feature() -> None:
    classes = [*FEATURES, Connected]
    names = [name for kind in classes for name in public(kind)]
    assert len(names) == len(set(names))
    assert set(names) == {name for name, _ in inspect.getmembers(mesh.Client) if not name.startswith("_")}
