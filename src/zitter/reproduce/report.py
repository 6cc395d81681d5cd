"""What a reproduction returns: each number beside the one it is compared with."""

from __future__ import annotations

import dataclasses
import math
from typing import Any


@dataclasses.dataclass(frozen=True)
class Row:
    """One quantity: our value and its error, the reference, and who says what may lie between.

    `source` says whose the reference is, `tolerance_source` whose the tolerance: "paper" (digits or
    an uncertainty that it prints), "exact" (theory, or the digits of an exact reference), "choice"
    (ours). Neither may follow from the value that they judge. A row without `tolerance_source` (a
    cost, a size) is a statement and decides nothing. `projected` is what was not measured as it
    stands, but follows from a part of the run or from a model.
    """

    quantity: str
    value: float
    error: float | None = None
    reference: float | None = None
    source: str = "paper"
    tolerance: float | None = None
    ok: bool = True
    tolerance_source: str = ""
    projected: bool = False

    @classmethod
    def compared(
        cls,
        quantity: str,
        value: float,
        reference: float,
        tolerance: float,
        source: str = "paper",
        error: float | None = None,
        tolerance_source: str = "choice",
    ) -> Row:
        """A row that is fine if value and reference differ by at most the tolerance."""
        ok = bool(abs(value - reference) <= tolerance)  # false for NaN
        return cls(
            quantity, float(value), error, float(reference), source, float(tolerance), ok,
            tolerance_source,
        )  # fmt: skip

    @classmethod
    def bounded(
        cls,
        quantity: str,
        value: float,
        most: float,
        source: str = "bound",
        error: float | None = None,
        tolerance_source: str = "choice",
    ) -> Row:
        """A row that is fine if the value is at most `most` (a deviation that should be small)."""
        return cls.compared(quantity, value, 0.0, most, source, error, tolerance_source)

    @classmethod
    def sampled(
        cls,
        quantity: str,
        value: float,
        error: float,
        reference: float,
        tolerance: float,
        source: str = "paper",
        above: float = 0.0,
        below: float = 0.0,
    ) -> Row:
        """A mean of samples, fine if it lies within the tolerance of reference + above and
        reference − below, with an error bar of at most a third of the tolerance.

        So the tolerance is fixed beforehand: noise cannot widen it, and too much of it is told.
        """
        inside = reference - below - tolerance <= value <= reference + above + tolerance
        ok = bool(inside and error <= tolerance / 3)
        largest = float(tolerance + max(above, below))
        return cls(quantity, float(value), error, reference, source, largest, ok, "choice")

    @classmethod
    def difference(
        cls,
        quantity: str,
        value: float,
        error: float,
        reference: float | None = None,
        source: str = "zitter",
    ) -> Row:
        """What something takes, as the difference of two times, which noise may turn negative.

        Where it is no larger than its error the row says the most that it may be.
        """
        if value > error:
            return cls(quantity, float(value), float(error), reference, source)
        label = f"{quantity}, less than can be measured: at most"
        return cls(label, float(max(value, 0.0) + error), None, reference, source)

    def to_json(self) -> dict[str, Any]:
        """Its fields; `projected` only where it is so."""
        told = {key: _plain(value) for key, value in dataclasses.asdict(self).items()}
        if not self.projected:
            del told["projected"]
        return told


@dataclasses.dataclass
class Report:
    """All rows of one reproduction, and how they were made."""

    name: str
    rows: list[Row]
    seconds: float
    device: str
    precision: str
    notes: list[str] = dataclasses.field(default_factory=list)
    figures: list[str] = dataclasses.field(default_factory=list)

    @property
    def ok(self) -> bool:
        return bool(self.rows) and all(row.ok for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, lists and strings; what JSON has no number for becomes null."""
        return {
            "name": self.name,
            "ok": self.ok,
            "rows": [row.to_json() for row in self.rows],
            "seconds": _plain(self.seconds),
            "device": self.device,
            "precision": self.precision,
            "notes": list(self.notes),
            "figures": [str(figure) for figure in self.figures],
        }

    def table(self) -> str:
        """The rows as text for a terminal."""
        from rich import box
        from rich.table import Table

        from zitter.tables import rendered

        head = f"{self.name}: {'all as expected' if self.ok else 'NOT all as expected'}"
        head += f" ({self.seconds:.3g} s, {self.device}, {self.precision} precision)"
        grid = Table(box=box.SIMPLE_HEAD)
        grid.add_column("quantity")
        for column in ("value", "error", "reference"):
            grid.add_column(column, justify="right")
        grid.add_column("whose")
        grid.add_column("tolerance", justify="right")
        grid.add_column("whose")
        grid.add_column("")
        for row in self.rows:
            numbers = [row.value, row.error, row.reference, row.tolerance]
            forms = [".10g", ".1e", ".10g", ".1e"]
            cells = [
                "" if x is None else format(x, form) for x, form in zip(numbers, forms, strict=True)
            ]
            verdict = ("ok" if row.ok else "OFF") if row.tolerance_source else ""
            whose = row.source, cells.pop(), row.tolerance_source
            quantity = row.quantity + ", projected" * row.projected
            grid.add_row(quantity, *cells, *whose, verdict)
        lines = [rendered(head, grid), *self.notes]
        return "\n".join([*lines, *(f"figure: {figure}" for figure in self.figures)])


def _plain(value: Any) -> Any:
    if isinstance(value, bool | str) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None
