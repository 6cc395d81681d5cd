"""Warnings of many items: each said once, as the worst of them has it, with how many had it."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from typing import Any

from zitter.keywords import caller
from zitter.sweeps.items import Item

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Heard:
    """What was said of which item; `tell` says it again, in the end."""

    def __init__(self, total: int):
        self.total = total
        self._said: dict[str, dict[int, tuple[Item, str, Any]]] = {}

    @contextlib.contextmanager
    def of(self, item: Item) -> Iterator[None]:
        """Inside, warnings are about this item."""

        def hear(message, category, filename, lineno, file=None, line=None):
            sentence = " ".join(str(message).split())
            said = self._said.setdefault(NUMBER.sub("", sentence), {})
            before = said.get(item.index)
            if before is None or _weight(sentence) > _weight(before[1]):
                said[item.index] = item, sentence, category

        with warnings.catch_warnings():
            warnings.simplefilter("always")  # of every item, and not only of the first
            warnings.showwarning = hear
            yield

    def tell(self) -> None:
        for said in self._said.values():
            item, sentence, category = max(said.values(), key=lambda one: _weight(one[1]))
            whose = f"item {item.index}: {item.label}"
            if len({other for _, other, _ in said.values()}) > 1:
                whose += f"; the worst of {len(said)} among {self.total} items"
            elif len(said) > 1:
                whose = f"{len(said)} of {self.total} items"
            warnings.warn(f"{sentence} ({whose})", category, stacklevel=caller())
        self._said = {}


def _weight(sentence: str) -> list[float]:
    """By which sentences with the same words compare: their measured numbers, then all others.

    What is measured has a point or an exponent; other numbers count states or name settings.
    """
    found = NUMBER.findall(sentence)
    measured = [abs(float(text)) for text in found if not text.lstrip("+-").isdigit()]
    return measured + [abs(float(text)) for text in found]
