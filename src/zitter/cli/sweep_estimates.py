"""`zitter sweep --dry-run`: how many items run together, and what they take."""

from __future__ import annotations

from collections.abc import Sequence

from zitter import batches, runtime, sweeps, tables
from zitter.cases import memory
from zitter.cases.base import Cost
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
    known: dict[int, Cost] = {}
    for part in parts:
        if len(part) not in known:
            known[len(part)] = _cost(part)
    together = max(known, default=0)
    costs = [known[len(part)] for part in parts]
    facts = {
        "case": case,
        "items": len(chosen),
        "done": len(chosen) - sum(map(len, parts)),
        "runs": len(parts),
        "items_at_once": together,
        "memory_bytes": max((cost.memory_bytes for cost in costs), default=0),
        "device_bytes": memory.available(),
        "seconds_to_compile": sum(cost.to_compile for cost in known.values()),
        "seconds_to_start": sum(cost.to_start for cost in costs),
        "seconds_to_run": sum(cost.to_run for cost in costs),
        **runtime.describe(),
        **runtime.describe_shares(batches.shares(together) if together > 1 else {}),
    }
    rows = {axis.key: _values(axis) for axis in axes}
    rows |= shown(facts)
    print(tables.table(f"{case}: dry run, nothing is written", rows))
    if json:
        print_json(facts)
    return 0


def _cost(part: sweeps.Part) -> Cost:
    lead, *others = part.cases
    if others:
        return lead.estimate_together(others)
    with batches.alone():
        facts = lead.estimate().facts
    seconds = (facts.get(f"seconds_to_{what}") or 0.0 for what in ("compile", "start", "run"))
    return Cost(facts.get("memory_bytes") or 0, *seconds)


def _values(axis: sweeps.Axis) -> str:
    some = axis.labels if len(axis.values) <= 6 else [*axis.labels[:3], "…", axis.labels[-1]]
    return f"{', '.join(some)} ({len(axis.values)} values)"
