"""Sizes with which a test builds any architecture in a moment, one that was added yesterday too."""

import dataclasses

from seedvote.generation.models.architectures import ARCHITECTURES

SMALL = {"embedding": 8, "layers": 2, "attention": 6, "dropout": 0.0, "width": 16, "heads": 2, "feedforward": 24}


def small_sizes(name, hidden):
    """A value for each field of the architecture's sizes: a small one, or the papers' where none is known here."""
    known = SMALL | {"hidden": hidden}
    return {
        field.name: known.get(field.name, field.default)
        for field in dataclasses.fields(type(ARCHITECTURES[name].paper))
    }
