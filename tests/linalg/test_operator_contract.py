"""What every operator promises: its matrix, its adjoint, its bounds, its sums."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zitter as zt
from zitter.linalg import (
    Banded,
    Dense,
    Diagonal,
    Fourier,
    Operator,
    PaddedMomentum,
    Sine,
    Spectral,
    Stencil,
    Sum,
    Unsupported,
    add,
)
from zitter.linalg.sums import parts_of

rng = np.random.default_rng(0)


def symmetric(n, imaginary=0.0):
    a = rng.normal(size=(n, n)) + imaginary * 1j * rng.normal(size=(n, n))
    return 0.5 * (a + a.conj().T)


def kinetic(shape, order, boundary="zero"):
    grid = zt.Grid(shape, tuple(0.3 + 0.1 * a for a in range(len(shape))), boundary)
    return zt.discretize(zt.Model([zt.Kinetic(order=order)]), grid).fixed


def p_operator(shape, order, boundary):
    grid = zt.Grid(shape, 0.4, boundary)
    return grid.momentum(np.arange(1.0, len(shape) + 1), order)


OPERATORS: dict[str, Operator] = {
    "diagonal": Diagonal(rng.normal(size=(5, 6)), (5, 6)),
    "diagonal-broadcast": Diagonal(rng.normal(size=(5, 1)), (5, 6)),
    "dense": Dense(symmetric(7), (7,)),
    "dense-complex": Dense(symmetric(6, 1.0), (2, 3)),
    "banded": zt.discretize(zt.Model([zt.Kinetic(order=6)]), zt.Grid(12, 0.3)).fixed.as_banded(),
    "sine-1d": kinetic((11,), "spectral"),
    "sine-2d": kinetic((5, 6), "spectral"),
    "sine-3d": kinetic((3, 4, 5), "spectral"),
    "fourier-1d": kinetic((9,), "spectral", "periodic"),
    "fourier-2d": kinetic((5, 6), "spectral", "periodic"),
    "fourier-3d": kinetic((3, 4, 5), "spectral", "periodic"),
    "p-fourier-odd": p_operator((9,), "spectral", "periodic"),
    "p-fourier-even": p_operator((4, 6), "spectral", "periodic"),
    "p-padded-1d": p_operator((8,), "spectral", "zero"),
    "p-padded-2d": p_operator((4, 5), "spectral", "zero"),
    "p-stencil": p_operator((6, 7), 4, "zero"),
    "sum": add(
        [kinetic((10,), 4), Diagonal(rng.normal(size=10), (10,)), Dense(symmetric(10), (10,))]
    ),
}
for _order in (2, 4, 6, 8):
    for _boundary in ("zero", "periodic"):
        OPERATORS[f"stencil-{_order}-{_boundary}-1d"] = kinetic((11,), _order, _boundary)
OPERATORS["stencil-2-zero-2d"] = kinetic((5, 6), 2)
OPERATORS["stencil-4-periodic-2d"] = kinetic((6, 7), 4, "periodic")
OPERATORS["stencil-2-zero-3d"] = kinetic((4, 3, 5), 2)
OPERATORS["stencil-2-periodic-3d"] = kinetic((4, 3, 5), 2, "periodic")

each = pytest.mark.parametrize("name", OPERATORS)


def random_state(shape, dtype=np.complex128):
    return jnp.asarray((rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype))


@each
def test_apply_is_the_matrix(name):
    o = OPERATORS[name]
    psi = random_state(o.shape)
    expected = np.asarray(o.as_matrix()) @ np.asarray(psi).ravel()
    np.testing.assert_allclose(
        np.ravel(o.apply(psi)), expected, atol=1e-12 * np.abs(expected).max()
    )


@each
def test_hermitian(name):
    matrix = np.asarray(OPERATORS[name].as_matrix())
    assert OPERATORS[name].hermitian
    np.testing.assert_allclose(matrix, matrix.conj().T, atol=1e-13 * np.abs(matrix).max())


@each
def test_real_means_a_real_matrix_and_a_real_image(name):
    o = OPERATORS[name]
    matrix = np.asarray(o.as_matrix())
    assert o.real == (not np.iscomplexobj(matrix))
    if o.real:
        assert o.apply(jnp.real(random_state(o.shape))).dtype == jnp.float64


@each
def test_bounds_enclose_the_spectrum(name):
    low, high = (float(b) for b in OPERATORS[name].bounds())
    energies = np.linalg.eigvalsh(np.asarray(OPERATORS[name].as_matrix()))
    slack = 1e-12 * (high - low)
    assert low - slack <= energies[0] and energies[-1] <= high + slack


@each
def test_sparse_form_is_the_matrix(name):
    o = OPERATORS[name]
    expected = np.asarray(o.as_matrix())
    waves = any(isinstance(p, Spectral | PaddedMomentum | Dense) for p in parts_of(o))
    if waves:  # each unknown is coupled to all others
        with pytest.raises(Unsupported, match="has no sparse matrix"):
            o.as_sparse()
    else:
        found = o.as_sparse().toarray()
        np.testing.assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max())


@each
def test_matrices_along_the_axes_add_up(name):
    o = OPERATORS[name]
    expected = np.real(np.asarray(o.as_matrix()))
    along_axes = isinstance(o, Spectral | Stencil) or (
        isinstance(o, Banded | Dense) and len(o.shape) == 1
    )
    if not along_axes:
        with pytest.raises(Unsupported, match="is not a sum of matrices along the axes"):
            o.axis_matrices()
        return
    found = np.zeros_like(expected)
    for axis, matrix in enumerate(o.axis_matrices()):
        before, after = (np.eye(math.prod(x)) for x in (o.shape[:axis], o.shape[axis + 1 :]))
        found += np.kron(np.kron(before, matrix), after)
    np.testing.assert_allclose(found, expected, atol=1e-12 * (1 + np.abs(expected).max()))


@each
def test_scaling(name):
    o = OPERATORS[name]
    matrix = np.asarray(o.as_matrix())
    np.testing.assert_allclose(
        np.asarray(o.scaled(-0.7).as_matrix()), -0.7 * matrix, rtol=1e-12, atol=1e-14
    )
    low, high = (float(b) for b in o.scaled(-0.7).bounds())
    assert low <= high
    turned = o.scaled(1j)
    np.testing.assert_allclose(np.asarray(turned.as_matrix()), 1j * matrix, rtol=1e-12, atol=1e-14)
    assert not turned.hermitian


@each
def test_two_of_a_kind_merge(name):
    o = OPERATORS[name]
    matrix = np.asarray(o.as_matrix())
    both = add([o, o.scaled(2.0)])
    assert not (isinstance(both, Sum) and not isinstance(o, Sum))
    np.testing.assert_allclose(np.asarray(both.as_matrix()), 3 * matrix, rtol=1e-12, atol=1e-13)


@each
def test_single_precision(name):
    o = OPERATORS[name].astype(np.float32)
    assert o.apply(random_state(o.shape, np.complex64)).dtype == jnp.complex64


@each
def test_added_to_a_matrix(name):
    o = OPERATORS[name]
    start = symmetric(o.size)
    np.testing.assert_allclose(
        np.asarray(o.added_to(jnp.asarray(start))), start + np.asarray(o.as_matrix()), atol=1e-12
    )


@pytest.mark.parametrize("name", [n for n in OPERATORS if "1d" in n or n in ("banded", "sum")])
def test_banded_form_is_the_same_matrix_or_refused(name):
    o = OPERATORS[name]
    if ("stencil" in name and "zero" in name) or name == "banded":
        np.testing.assert_allclose(np.asarray(o.as_banded().as_matrix()), np.asarray(o.as_matrix()))
    else:
        with pytest.raises(Unsupported, match="banded"):
            o.as_banded()


def test_banded_form_of_a_potential_that_absorbs_is_not_hermitian():
    assert not Diagonal(np.array([1.0, -1j, 2.0]), (3,)).as_banded().hermitian
    assert Diagonal(np.array([1.0, 3.0, 2.0]), (3,)).as_banded().hermitian


def test_banded_matrices_of_different_width_add():
    narrow, wide = kinetic((12,), 2).as_banded(), kinetic((12,), 8).as_banded()
    expected = np.asarray(narrow.as_matrix()) + np.asarray(wide.as_matrix())
    np.testing.assert_allclose(np.asarray(add([narrow, wide]).as_matrix()), expected, atol=1e-13)


def test_non_hermitian_banded_and_dense_keep_their_entries():
    bands = rng.normal(size=(5, 9)) + 1j * rng.normal(size=(5, 9))
    banded = Banded(bands, assumed_hermitian=False)
    matrix = np.zeros((9, 9), complex)
    for k in range(-2, 3):
        for j in range(9):
            if 0 <= j + k < 9:
                matrix[j, j + k] = bands[2 + k, j]
    np.testing.assert_allclose(np.asarray(banded.as_matrix()), matrix)
    psi = random_state((9,))
    np.testing.assert_allclose(np.asarray(banded.apply(psi)), matrix @ psi, atol=1e-13)


@settings(max_examples=25)
@given(
    diagonal=st.lists(st.floats(-5, 5), min_size=4, max_size=4),
    side=st.lists(st.floats(-3, 3), min_size=3, max_size=3),
)
def test_gershgorin_encloses_any_tridiagonal_matrix(diagonal, side):
    matrix = np.diag(diagonal) + np.diag(side, 1) + np.diag(side, -1)
    bands = np.zeros((3, 4))
    bands[0, 1:], bands[1], bands[2, :3] = side, diagonal, side
    energies = np.linalg.eigvalsh(matrix)
    for operator in (Dense(matrix, (4,)), Banded(bands)):
        low, high = (float(b) for b in operator.bounds())
        assert low - 1e-12 <= energies[0] and energies[-1] <= high + 1e-12


def test_spectral_parts_of_different_transforms_stay_apart():
    sine = Spectral(Sine(), [np.arange(4.0)], (4,), even=True)
    fourier = Spectral(Fourier(), [np.arange(4.0)], (4,))
    assert len(add([sine, fourier]).parts) == 2


def test_padded_momentum_is_exact_for_what_vanishes_at_the_walls():
    """p of a Gaussian; the box cuts e^{−16}, the grid ends at k = 10 where ψ is e^{−25}."""
    grid = zt.Grid(40, 0.3)
    x = grid.points(0)
    psi = np.exp(-(x**2) / 2 * 0.9)
    found = PaddedMomentum(np.ones(1), grid.spacing, grid.shape).apply(jnp.asarray(psi))
    np.testing.assert_allclose(np.asarray(found), 1j * 0.9 * x * psi, atol=2e-6)
