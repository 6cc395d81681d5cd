"""The bounds of the device that a program runs on, from the record of device_bounds.py."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from records import device

RESULTS = Path(__file__).parent / "results"


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Bytes per second at best; a copy counts both ways."""

    read: float
    write: float
    copy: float
    record: str  # its name, date and commit

    def row(self) -> dict[str, Any]:
        """What a record that refers to these bounds says of them."""
        told = {
            f"{what}_TB_per_s": getattr(self, what) / 1e12 for what in ("read", "write", "copy")
        }
        return {"what": "bound of the device", "record": self.record, **told}


def of_this_device() -> Bounds | None:
    """None, with a word, where the device has no such record: then there are no ratios."""
    kind = device()["kind"]
    for file in sorted(RESULTS.glob("device_bounds_*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["device"]["kind"] == kind:
            speeds = {r["bound"]: r["bytes_per_second"] for r in found["measured"] if "bound" in r}
            name = f"{file.stem}, {found['date']}, {found['commit'][:10]}"
            return Bounds(speeds["read"], speeds["write"], speeds["copy"], name)
    print(f"no record of the bounds of {kind}, so no ratios to them (device_bounds.py)", flush=True)
    return None
