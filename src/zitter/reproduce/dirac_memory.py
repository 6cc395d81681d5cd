"""What an assembled Dirac Hamiltonian would hold, and what is stored instead (Fig. 2 of GaDE)."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from zitter.bases import RadialBSplines, SpinorBasis, angular
from zitter.bases.spinor.light import SpinorLight, points, workspace
from zitter.reproduce.report import Row


def nonzero_entries(kappa_max: int, splines: int, lmax: int, degree: int = 7) -> int:
    """Entries of the assembled H(t): pairs of channels that some l ≤ lmax couples, times the bands.

    μ' = μ ± 1 and |l_κ' − l_−κ| ≤ lmax or |l_−κ' − l_κ| ≤ lmax with l of the right parity (Eqs. 29
    and 30); H₀ adds the diagonal blocks.
    """
    pairs = 0
    kappas = np.asarray([s * k for k in range(1, kappa_max + 1) for s in (-1, 1)])
    for kappa in kappas:
        for other in kappas:
            near = min(
                abs(int(angular.orbital(kappa)) - int(angular.orbital(-other))),
                abs(int(angular.orbital(-kappa)) - int(angular.orbital(other))),
            )
            if near <= lmax:
                small, large = sorted((abs(int(kappa)), abs(int(other))))
                # μ' = μ + 1 and μ − 1 with |μ| < small and |μ'| < large
                pairs += 2 * (2 * small - (small == large))
    channels = 2 * kappa_max * (kappa_max + 1)
    overlapping = splines * (2 * degree + 1) - degree * (degree + 1)
    return (pairs + channels) * 4 * overlapping


def stored_bytes(basis: SpinorBasis, lmax: int, stages: int = 3) -> int:
    """What a run of `GaussCollocation(stages)` holds: tables, levels, states, and a product's work.

    BiCGSTAB has eight vectors of all stages, the propagator ψ, the next ψ and the last stages.
    """
    light = jax.eval_shape(lambda: SpinorLight(basis, lmax))
    tables = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(light))
    unknowns = basis.shape[1]
    levels = 8 * len(basis.distinct_kappas) * unknowns * (unknowns + 1)
    states = 16 * basis.size * (9 * stages + 2)
    r, x = points(basis, lmax)
    # Four complex components at (r, θ) for each of the 2κ_max + 1 values of m, in portions.
    work = min(workspace(), 4 * 16 * (2 * basis.kappa_max + 1) * len(x) * r.size)
    return tables + levels + states + work


def memory_rows(curves: dict[str, Any]) -> list[Row]:
    """Fig. 2: entries of the assembled matrix against κ, and what is stored here instead."""
    kappas, splines, lmax = (5, 10, 20, 30, 33, 40), 223, 10
    entries = [nonzero_entries(k, splines, lmax) for k in kappas]
    radial = RadialBSplines(splines, 7, 60.0)
    stored = [stored_bytes(SpinorBasis(radial, kappa), lmax) for kappa in kappas]
    curves["memory"] = (kappas, entries, stored)
    # CSR with complex128 values and 32-bit columns.
    assembled = 20 * entries[kappas.index(33)]
    thirty, more = (entries[kappas.index(k)] / 1e9 for k in (30, 33))
    return [
        # The paper gives one or two digits, of a count that may hold zeros.
        Row.compared("entries of H at κ_max = 30 (10⁹)", thirty, 1.6, 0.16),
        Row.compared("entries of H at κ_max = 33 (10⁹)", more, 2.0, 0.2),
        # By the sizes of the arrays: neither was run. The bound is a choice, that forty runs fit
        # where the matrix alone would. States and levels are 0.0153 of it by their numbers; tables
        # and work must stay small beside them.
        dataclasses.replace(
            Row.bounded("memory of a run here over that of the assembled matrix, κ_max = 33",
                        stored[kappas.index(33)] / assembled, 0.025),
            projected=True,
        ),
    ]  # fmt: skip
