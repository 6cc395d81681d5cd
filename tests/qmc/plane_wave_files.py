"""ES-HDF files of two hydrogen atoms whose states are known."""

from __future__ import annotations

import itertools

import h5py
import numpy as np

VECTORS = np.array([[0.0, 2.6, 2.6], [2.6, 0.0, 2.6], [2.6, 2.6, 0.0]])
RECIPROCAL = 2 * np.pi * np.linalg.inv(VECTORS).T
POSITIONS = np.array([[0.0, 0.0, 0.0], [1.3, 1.3, 1.3]])


def mesh(n, offset=(0.0, 0.0, 0.0)):
    """k-points of an n1 × n2 × n3 mesh, in reciprocal lattice vectors."""
    return np.array([np.array(i) / n + offset for i in itertools.product(*map(range, n))])


def solved(k, bands):
    """Lowest states at k of two electrons in a weak potential of the lattice's period."""
    m = np.array(list(itertools.product(range(-4, 5), repeat=3)))
    m = m[np.linalg.norm((m + k) @ RECIPROCAL, axis=1) < 4.5]
    H = np.diag(0.5 * np.sum(((m + k) @ RECIPROCAL) ** 2, axis=1)).astype(complex)
    for i, j in itertools.product(range(len(m)), repeat=2):
        G = (m[i] - m[j]) @ RECIPROCAL
        if 0 < G @ G < 12:
            # Atoms of different strengths: no inversion, so that states are truly complex.
            H[i, j] -= 0.2 * np.exp(-1j * G @ POSITIONS[0]) + 0.05 * np.exp(-1j * G @ POSITIONS[1])
    energies, states = np.linalg.eigh(H)
    return m, energies[:bands], states[:, :bands].T


def write(path, fractions, electrons=(1, 1), bands=1, shared=False, spins=1):
    """An ES-HDF file; every state has a phase of its own. Returns {k: (m, amplitudes)}."""
    rng = np.random.default_rng(0)
    kept = {}
    with h5py.File(path, "w") as file:
        file["format"] = np.array([b"ES-HDF"])
        file["supercell/primitive_vectors"] = VECTORS
        file["atoms/number_of_atoms"] = [2]
        file["atoms/number_of_species"] = [1]
        file["atoms/positions"] = POSITIONS
        file["atoms/species_ids"] = np.array([0, 0], np.int32)
        file["atoms/species_0/name"] = np.array([b"H"])
        file["atoms/species_0/atomic_number"] = [1]
        file["atoms/species_0/valence_charge"] = [1]
        file["electrons/number_of_electrons"] = list(electrons)
        file["electrons/number_of_kpoints"] = [len(fractions)]
        file["electrons/number_of_spins"] = [spins]
        for i, k in enumerate(fractions):
            m, energies, states = solved(k, bands)
            states = states * np.exp(2j * np.pi * rng.uniform(size=(bands, 1)))
            group = file.create_group(f"electrons/kpoint_{i}")
            group["reduced_k"] = k
            if i == 0 or not shared:
                group["gvectors"] = m.astype(np.int32)
            for spin in range(spins):
                inside = group.create_group(f"spin_{spin}")
                inside["number_of_states"] = [bands]
                inside["eigenvalues"] = energies
                for j, c in enumerate(states):
                    inside[f"state_{j}/psi_g"] = np.stack([c.real, c.imag], axis=-1)
            kept[tuple(k)] = (m, states)
    return kept
