"""Inverses of many matrices: those of NumPy, and on a CPU none that waits for another."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import zitter as zt
from zitter.bases.spinor.solver import SpinorSolver
from zitter.linalg.banded_solver import reduce_blocks
from zitter.linalg.inverses import inverses


@pytest.mark.parametrize("shape", [(3, 3), (5, 4, 4), (2, 3, 6, 6)])
def test_inverses_are_those_of_numpy(shape):
    rng = np.random.default_rng(1)
    matrices = rng.normal(size=shape) + 1j * rng.normal(size=shape) + 4 * np.eye(shape[-1])
    found = jax.jit(inverses)(matrices)
    np.testing.assert_allclose(found, np.linalg.inv(matrices), rtol=1e-12, atol=1e-13)


def factored_shapes(function, *arrays) -> list[str]:
    """Shapes of what LAPACK is given, without the matrix itself: [] or [5], …"""
    program = jax.jit(function).lower(*arrays).compile().as_text()
    calls = [line for line in program.splitlines() if "getrf_ffi" in line]
    assert calls
    return [re.findall(r"\((?:f64|c128)\[([\d,]+)\]", call)[0] for call in calls]


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="LAPACK works on CPUs")
def test_no_program_hands_lapack_batches_that_wait_for_threads():
    """Several batches in one program stood still for good: four classes of κ, two cores."""
    basis = zt.SpinorBasis(zt.RadialBSplines(40, 5, 20.0), 8)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    bands = basis.overlap_matrices() + 0.01j * H.fixed.bands()
    shapes = factored_shapes(lambda b: SpinorSolver(basis, b).factors, bands)
    rng = np.random.default_rng(2)
    blocks = rng.normal(size=(3, 8, 4, 4)) + 5 * np.eye(4)
    shapes += factored_shapes(reduce_blocks, *blocks)
    assert len(shapes) > 4
    assert all(shape.count(",") == 1 for shape in shapes), shapes
