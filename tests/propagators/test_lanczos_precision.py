"""Lanczos in single precision."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.propagators import lanczos


def test_the_small_matrix_is_diagonalized_in_double(monkeypatch):
    """A GPU's eigenvectors in single precision lose 1e-6 of the norm in each step."""
    seen = []
    eigh = jnp.linalg.eigh

    def watched(matrix):
        seen.append(matrix.dtype)
        return eigh(matrix)

    monkeypatch.setattr(lanczos.jnp.linalg, "eigh", watched)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(37, 0.4))
    psi = H.basis.sample(lambda x: jnp.exp(-(x**2)) + 0j).astype(jnp.complex64)
    H = H.astype(jnp.float32)
    found, error = lanczos.evolved(H.operator, psi, jnp.float32(0.05), order=8)
    assert found.dtype == jnp.complex64 and error < 1e-6
    assert seen == [jnp.float64]
    norms = [float(jnp.linalg.norm(x)) for x in (psi, found)]
    assert norms[1] == pytest.approx(norms[0], rel=4 * float(np.finfo(np.float32).eps))
