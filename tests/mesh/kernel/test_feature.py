"""Features are built in the declared order, and a feature that fails is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import FeatureFailed
from mesh.features.all import FEATURES
from mesh.kernel.context.component import Component
from mesh.kernel.context.settings import Settings
from mesh.kernel.feature import Feature, FeatureParts, in_order
from mesh.kernel.parts import Parts
from mesh.wire.commands import Introduction


def feature(name: str, *after: str) -> Feature[Parts]:
    return Feature(name, lambda parts: FeatureParts(), after)


@given(st.permutations([0, 1, 2, 3, 4]), st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))))
def test_each_feature_comes_behind_those_that_it_names(
    order: list[int], arrows: set[tuple[int, int]]
) -> None:
    after = {n: sorted(str(low) for low, high in arrows if high == n and low < high) for n in order}
    found = [each.name for each in in_order([feature(str(n), *after[n]) for n in order])]
    assert sorted(found) == sorted(map(str, order))
    for n in order:
        assert all(found.index(name) < found.index(str(n)) for name in after[n])


def test_features_that_name_nothing_keep_their_order() -> None:
    names = ["c", "a", "b"]
    assert [each.name for each in in_order([*map(feature, names)])] == names


@pytest.mark.parametrize(
    ("features", "text"),
    [
        ([feature("a"), feature("b"), feature("a")], "Two features have the name 'a'"),
        ([feature("a", "b")], "'a' needs the feature 'b', which is not installed"),
        ([feature("a", "c"), feature("b", "a"), feature("c", "b")], "cycle: a -> c -> b -> a"),
        ([feature("a", "a")], "cycle: a -> a"),
    ],
)
def test_an_impossible_order_is_refused_with_names(features: list[Feature[Parts]], text: str) -> None:
    with pytest.raises(FeatureFailed, match=text) as failed:
        in_order(features)
    assert failed.value.code == "FEATURE"
    assert failed.value.hint


def made(*features: Feature[Parts]) -> Parts:
    return Parts(Settings(me=Introduction(b"h" * 16, "heron", 1, "")), bytes, lambda: 0.5, features)


def test_a_feature_that_raises_is_named() -> None:
    def broken(parts: Parts) -> FeatureParts:
        raise KeyError("colour")

    with pytest.raises(FeatureFailed, match="feature 'paint' cannot be built: KeyError: 'colour'"):
        made(*FEATURES, Feature("paint", broken))


def test_a_kernel_works_without_features_and_finds_those_that_it_has() -> None:
    class Painted(FeatureParts):
        pass

    one = Component()
    assert made()._features == []
    parts = made(Feature("paint", lambda parts: Painted(one)))
    assert parts[Painted].components == (one,)
    assert one in list(parts.context.face)
