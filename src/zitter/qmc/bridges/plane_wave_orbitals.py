"""Plane-wave states at the k-points of a supercell: which are filled, and their real forms.

Time reversal takes c_G at k to c*_G at −k − G. Where k and −k differ by more than a reciprocal
vector, Re ψ and Im ψ of one stand for both. Where 2k = G₀, ψ and ψ* live at the same k,

    Re ψ: (c_G + c*_{−G₀−G})/2        Im ψ: (c_G − c*_{−G₀−G})/2i,

and n orbitals, each with a phase of its own and mixed where they are degenerate, have n independent
ones among their 2n real and imaginary parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zitter import checks
from zitter.qmc.bridges.folding import same
from zitter.qmc.bridges.pwscf_records import Waves
from zitter.qmc.bridges.real_orbitals import CLOSED

DEGENERATE = 1e-6  # hartree


class Filled(NamedTuple):
    """Occupied states of one k-point, and whether both parts of each count."""

    fractions: np.ndarray  # k (3,), in reciprocal lattice vectors
    integers: np.ndarray  # G (waves, 3)
    amplitudes: np.ndarray  # (states, waves)
    both: bool = False


def fill(states: list[Waves], fractions: np.ndarray, count: int) -> list[Filled]:
    """The `count` lowest states of all k-points together."""
    energies = np.concatenate([one.energies for one in states])
    owner = np.repeat(np.arange(len(states)), [len(one.energies) for one in states])
    if len(energies) < count:
        raise checks.InputError(
            "file",
            f"must hold the {count} electrons of a spin, but has {len(energies)} states at the "
            f"{len(states)} k-points of the supercell",
        )
    order = np.argsort(energies, kind="stable")
    if count < len(energies) and count > 0:
        gap = energies[order[count]] - energies[order[count - 1]]
        if gap < DEGENERATE:
            raise checks.InputError(
                "twist",
                f"must leave no degenerate states half filled, but those at "
                f"{energies[order[count]]:.6f} hartree are; another twist or supercell would do",
            )
    filled = []
    for i, (one, k) in enumerate(zip(states, fractions, strict=True)):
        chosen = np.sort(order[:count][owner[order[:count]] == i])
        inside = chosen - np.flatnonzero(owner == i)[0]
        filled.append(Filled(k, one.integers, one.amplitudes[inside]))
    return [one for one in filled if len(one.amplitudes)]


def real_forms(filled: list[Filled]) -> list[Filled] | None:
    """What real orbitals are made of; None where the states are not closed under time reversal."""
    found: list[Filled] = []
    done: set[int] = set()
    for i, one in enumerate(filled):
        if i in done:
            continue
        partners = [j for j, other in enumerate(filled) if same(other.fractions, -one.fractions)]
        if len(partners) != 1:
            return None
        partner = filled[partners[0]]
        done |= {i, partners[0]}
        turned = _reversed(partner, one)
        n = len(one.amplitudes)
        if turned is None or len(partner.amplitudes) != n:
            return None
        if partners[0] == i:
            real = (one.amplitudes + turned) / 2
            imaginary = (one.amplitudes - turned) / 2j
            half = _independent(np.concatenate([real, imaginary]), n)
            if half is None:
                return None
            found.append(one._replace(amplitudes=half))
        else:
            if not _same_span(one.amplitudes, turned):
                return None
            found.append(one._replace(both=True))
    return found


def _reversed(partner: Filled, one: Filled) -> np.ndarray | None:
    """Amplitudes of ψ* of a partner's states on the plane waves of `one`; None where these lack."""
    offset = np.round(partner.fractions + one.fractions).astype(np.int64)
    places = {tuple(m): i for i, m in enumerate(partner.integers)}
    # e^{−i(k'+G')·r} = e^{i(k+G)·r} with G = −G' − (k + k')
    wanted = [places.get(tuple(-m - offset)) for m in one.integers]
    norm = np.sum(np.abs(partner.amplitudes) ** 2, axis=1)
    turned = np.zeros((len(partner.amplitudes), len(wanted)), np.complex128)
    for i, place in enumerate(wanted):
        if place is not None:
            turned[:, i] = partner.amplitudes[:, place].conj()
    kept = np.sum(np.abs(turned) ** 2, axis=1)
    # Both sets of plane waves end at one cutoff; what only one of them has is next to nothing.
    return turned if np.all(kept > (1 - CLOSED**2) * norm) else None


def _independent(parts: np.ndarray, n: int) -> np.ndarray | None:
    """n orthonormal real combinations of functions given by amplitudes (2n, waves)."""
    gram = np.real(parts @ parts.conj().T)
    sizes, turns = np.linalg.eigh(gram)
    sizes, turns = sizes[::-1], turns[:, ::-1]
    if n < len(sizes) and sizes[n] > CLOSED**2 * sizes[n - 1]:
        return None
    return (turns[:, :n] / np.sqrt(sizes[:n])).T @ parts


def _same_span(a: np.ndarray, b: np.ndarray) -> bool:
    sizes = np.linalg.svd(np.concatenate([a, b]), compute_uv=False)
    n = len(a)
    return len(sizes) == n or bool(sizes[n] < CLOSED * sizes[n - 1])
