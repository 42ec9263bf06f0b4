"""All that a store holds, at once: what `load` gives reads envelopes only when they are gone through."""

from dataclasses import replace

from mesh.operations import Image, Stored
from mesh.store.base import Store


def loaded(store: Store) -> Image:
    """The image, with its envelopes as a list."""
    image = store.load()
    return replace(image, envelopes=list(image.envelopes))


def standing(store: Store) -> list[Stored]:
    """Its envelopes."""
    return list(store.load().envelopes)
