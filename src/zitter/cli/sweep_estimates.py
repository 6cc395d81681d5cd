"""`zitter sweep --dry-run`: how many items run together, and what they take."""

from __future__ import annotations

from collections.abc import Sequence

from zitter import batches, runtime, sweeps, tables
from zitter.cases import memory
from zitter.cases.physics import shown
from zitter.cli.showing import print_json


def tell(
    case: str,
    axes: Sequence[sweeps.Axis],
    chosen: Sequence[sweeps.Item],
    parts: Sequence[sweeps.Part],
    json: bool,
) -> int:
    """Of one part of each size; the others take as long."""
    known: dict[int, tuple[int, float, float]] = {}
    for part in parts:
        if len(part) not in known:
            known[len(part)] = _cost(part)
    together = max(known, default=0)
    compiling = sum(cost[1] for cost in known.values())
    running = sum(known[len(part)][2] for part in parts)
    facts = {
        "case": case,
        "items": len(chosen),
        "done": len(chosen) - sum(map(len, parts)),
        "runs": len(parts),
        "items_at_once": together,
        "memory_bytes": max((cost[0] for cost in known.values()), default=0),
        "device_bytes": memory.available(),
        "seconds_to_compile": compiling,
        "seconds_to_run": running,
        **runtime.describe(),
        **runtime.describe_shares(batches.shares(together) if together > 1 else {}),
    }
    rows = {axis.key: _values(axis) for axis in axes}
    rows |= shown(facts)
    print(tables.table(f"{case}: dry run, nothing is written", rows))
    if json:
        print_json(facts)
    return 0


def _cost(part: sweeps.Part) -> tuple[int, float, float]:
    lead, *others = part.cases
    if others:
        return lead.estimate_together(others)
    with batches.alone():
        facts = lead.estimate().facts
    wanted = ("memory_bytes", "seconds_to_compile", "seconds_to_run")
    memory_bytes, compiling, running = (facts.get(key) or 0 for key in wanted)
    return memory_bytes, compiling, running


def _values(axis: sweeps.Axis) -> str:
    some = axis.labels if len(axis.values) <= 6 else [*axis.labels[:3], "…", axis.labels[-1]]
    return f"{', '.join(some)} ({len(axis.values)} values)"
