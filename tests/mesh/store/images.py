"""The whole content of a store. `load` alone reads envelopes only when they are iterated."""

from dataclasses import replace

from mesh.operations import Image, Stored
from mesh.store.base import Store


def loaded(store: Store) -> Image:
    """Return the image, with its envelopes as a list."""
    image = store.load()
    return replace(image, envelopes=list(image.envelopes))


def standing(store: Store) -> list[Stored]:
    """Return the envelopes of the store."""
    return list(store.load().envelopes)
