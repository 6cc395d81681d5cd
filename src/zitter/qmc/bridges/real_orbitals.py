"""Real orbitals of ±k pairs, by time reversal: ψ_{−k} = ψ_k*.

    k ≢ −k:  ψ_k and ψ_{−k} span the same as Re ψ_k and Im ψ_k.
    k ≡ −k:  the functions at k are real, but degenerate orbitals may be mixtures with phases. Real
             and imaginary parts of n orbitals span n real ones, an orthonormal half by SVD.

Where occupied orbitals are not closed under time reversal, as where a degenerate shell is filled in
part, there are no such real orbitals, and Ψ is complex.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zitter.qmc.bridges.folding import same

# The first singular value that should vanish, relative to the last that should not. Converged
# orbitals leave 1e-4 and less; half of a degenerate pair leaves about 1.
CLOSED = 0.03


class Bloch(NamedTuple):
    """Orbitals of one k that are filled alike."""

    fractions: np.ndarray  # k (3,), in reciprocal lattice vectors
    coefficients: np.ndarray  # (functions, orbitals)


class Parts(NamedTuple):
    """Bloch orbitals of which the real part is taken, or both parts."""

    fractions: np.ndarray
    coefficients: np.ndarray
    both: bool


def real_parts(orbitals: list[Bloch]) -> list[Parts] | None:
    """What real orbitals are made of; None where there are none."""
    found, done = [], set()
    for i, one in enumerate(orbitals):
        if i in done:
            continue
        partners = [j for j, other in enumerate(orbitals) if same(other.fractions, -one.fractions)]
        if len(partners) != 1:
            return None
        (j,) = partners
        done |= {i, j}
        if one.coefficients.shape != orbitals[j].coefficients.shape:
            return None
        if i == j:
            real = _real_half(one.coefficients)
            if real is None:
                return None
            found.append(Parts(one.fractions, real, False))
        else:
            if not _same_span(orbitals[j].coefficients, one.coefficients.conj()):
                return None
            found.append(Parts(one.fractions, one.coefficients, True))
    return found


def _real_half(coefficients: np.ndarray) -> np.ndarray | None:
    n = coefficients.shape[1]
    parts = np.concatenate([np.real(coefficients), np.imag(coefficients)], axis=1)
    U, sizes, _ = np.linalg.svd(parts, full_matrices=False)
    return U[:, :n] if _rank_is(sizes, n) else None


def _same_span(a: np.ndarray, b: np.ndarray) -> bool:
    sizes = np.linalg.svd(np.concatenate([a, b], axis=1), compute_uv=False)
    return _rank_is(sizes, a.shape[1])


def _rank_is(sizes: np.ndarray, n: int) -> bool:
    return n == 0 or len(sizes) == n or bool(sizes[n] < CLOSED * sizes[n - 1])
