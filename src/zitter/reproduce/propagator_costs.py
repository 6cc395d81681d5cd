"""Figures 4 to 6 of Ó Broin & Nikolopoulos: what a run costs against the number of l.

Projected from a few steps here and now, and from a part of the pulse on a GPU: that is read from
the record that `benchmarks/atoms_gpu.py` made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zitter.bases import EigenBasis
from zitter.fields import Field
from zitter.propagators import Propagator
from zitter.reproduce.report import Row
from zitter.solve import evolve
from zitter.terms import FieldFree, Model, VelocityGauge, discretize

RECORD = Path(__file__).parent / "atoms_gpu_h200.json"
Curves = dict[str, list[tuple[int, float]]]  # method: (number of l, seconds of the paper's run)
STEPS = 40  # that are run here


def projected(
    basis: EigenBasis, pulse: Field, methods: Mapping[str, tuple[Propagator, float, float]]
) -> Curves:
    """Seconds of the whole pulse, from `STEPS` steps, with half of the l and with all."""
    assert basis.velocity is not None
    curves: Curves = {name: [] for name in methods}
    for count in (max(2, basis.shape[0] // 2), basis.shape[0]):
        part = EigenBasis(basis.energies[:count], velocity=basis.velocity[: count - 1])
        H = discretize(Model([FieldFree(), VelocityGauge(pulse)]), part)
        for name, (method, dt, _) in methods.items():
            args = (H, part.state(0), (0.0, STEPS * dt), dt, method)
            # The first run compiles; the least of the others is the least disturbed.
            seconds = [evolve(*args, save_every=STEPS).info["seconds"] for _ in range(4)][1:]
            curves[name].append((count, min(seconds) / (STEPS * dt) * float(pulse.duration)))
    return curves


def recorded() -> tuple[Curves, str]:
    """The curves of the GPU record, with the device and the day; none where it is missing."""
    if not RECORD.exists():
        return {}, ""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    curves: Curves = {}
    for row in record["projected"]:
        kind, _, name = str(row["what"]).partition(", ")
        if kind == "cost":
            curves.setdefault(name, []).append((row["l"], row["seconds_per_10_cycles"]))
    curves = {name: sorted(points) for name, points in curves.items()}
    kind = record["device"]["kind"]
    return curves, f"projected from a part of the pulse, {kind}, record of {record['date']}"


def rows(here: Curves) -> list[Row]:
    """Both as rows: seconds, and how they grow with the number of l."""
    own = f"zitter, here, projected from {STEPS} steps"
    found = [
        Row(f"run with {name}, {count} values of l (s)", seconds, source=own, projected=True)
        for name, points in here.items()
        for count, seconds in points
    ]
    curves, source = recorded()
    for name, points in curves.items():
        found += [
            Row(
                f"10 cycles with {name}, {count} values of l × 640 (s)", seconds, source=source,
                projected=True,
            )
            for count, seconds in points
        ]  # fmt: skip
    return found


def figure(here: Curves, states: int, ax: Any = None) -> Any:
    """Seconds against the number of l, both axes logarithmic; dashed is proportional."""
    from zitter.plot import style

    ax = style.axes_or_new(ax, 6.0, 4.0)
    curves, _ = recorded()
    for kind, group, line in (("here", here, "o-"), ("GPU", curves, "s-")):
        size = states if kind == "here" else 640
        for i, (name, points) in enumerate(group.items()):
            count, seconds = np.transpose(points)
            color = style.COLORS[i % len(style.COLORS)]
            label = f"{name}, {size} states, {kind}"
            ax.loglog(count, seconds, line, color=color, ms=4, lw=1.0, label=label,
                      alpha=1.0 if kind == "GPU" else 0.6)  # fmt: skip
    ax.set_xlabel("values of l")
    ax.set_ylabel("seconds for the pulse, projected")
    ax.legend(fontsize=7, frameon=False)
    style.title(ax, "Cost against the number of l, projected from a part of the pulse")
    return style.figure_of(ax)
