"""What every result can do: be saved and loaded, tell its numbers, and show itself as a table.

A kind of result is one class here or beside what makes it, and one entry in `zitter.kinds`, which
knows how files name it and who draws it.
"""

from __future__ import annotations

import abc
import json
import os
from typing import Any, ClassVar

import numpy as np

from zitter import checks, io


class Result(abc.ABC):
    """What a run leaves. `info` says how it was made, `input` is the file it was described by."""

    kind: ClassVar[str]  # what files call it
    info: dict[str, Any]
    input: str

    @abc.abstractmethod
    def dataset(self) -> io.Dataset:
        """All of it, as a file holds it."""

    @classmethod
    @abc.abstractmethod
    def from_dataset(cls, data: io.Dataset) -> Result:
        """What `dataset` gave, from a file; a `KeyError` names what the file lacks."""

    @abc.abstractmethod
    def numbers(self) -> dict[str, Any]:
        """The key numbers with their errors, for programs."""

    @abc.abstractmethod
    def summary(self) -> str:
        """A table for people: every number with what is known about its error."""

    @property
    def notes(self) -> list[str]:
        """What is to be known beside the numbers, as that an error could not be found."""
        return []

    def save(self, path: str | os.PathLike[str]) -> None:
        io.write(checks.path("path", path), self.dataset())

    def to_xarray(self) -> Any:
        return io.to_xarray(self.dataset())


def decoded(text: Any) -> dict[str, Any]:
    """A dictionary, as attributes of files keep it."""
    return dict(json.loads(text) if isinstance(text, str) else text)


def coordinate(name: str, points: Any) -> io.Variable:
    """Places are in bohr; whole numbers count levels, states or channels."""
    points = np.asarray(points)
    return io.Variable(points, (name,), "1" if points.dtype.kind in "iu" else "bohr")
