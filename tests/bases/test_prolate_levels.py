"""Levels of one electron and two charges: the page's numbers, an independent solution, sizes."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, eigsh

import marks
import zitter as zt
from systems import two_centers
from zitter.bases.prolate.levels import Pair
from zitter.bases.prolate.matrices import dense
from zitter.eigensolvers.recommended import SMALL, recommended

CASES = [
    (case, label, energy)
    for case, levels in two_centers.LEVELS.items()
    for label, energy in levels.items()
]


def levels(basis, Z1, Z2, n):
    """{(n_ξ, n_η): E} of the n lowest states."""
    energies, states, _ = basis.stationary(two_centers.field_free(basis, Z1, Z2), n, None)
    return {numbers(basis, state): energy for energy, state in zip(energies, states, strict=True)}


def numbers(basis, state):
    name = basis.level_name(state)
    l = "spdfghi".index(name[1])
    return int(name[0]) - l - 1, l - abs(basis.m)


@pytest.mark.parametrize(("case", "label", "energy"), CASES)
def test_known_levels(case, label, energy):
    R, Z1, Z2, m = case
    found = levels(zt.ProlateSpheroidal(R, m), Z1, Z2, 5)
    # The numbers are right to the digits shown, 1e-13; default sizes leave 7e-12 for Z = (1, 3).
    assert abs(found[label] - energy) < 1e-11


@pytest.mark.parametrize(
    ("R", "Z1", "Z2", "m"),
    [(0.5, 3, 3, 0), (0.7, 1.5, 0.7, 1), (3.3, 1, 2.4, 0), (7.7, 1, 1, 3), (20.0, 1, 3, 0)],
)
def test_levels_that_no_table_has(R, Z1, Z2, m):
    for label, energy in levels(zt.ProlateSpheroidal(R, m), Z1, Z2, 4).items():
        # What the default sizes promise.
        assert abs(energy - two_centers.level(R, Z1, Z2, m, *label)) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("R", [0.5, 0.8, 1.2, 2.0, 3.5, 6.0, 10.0, 15.0, 20.0])
@pytest.mark.parametrize("m", [0, 1, 2])
def test_defaults_keep_their_promise(R, m):
    basis = zt.ProlateSpheroidal(R, m)
    for Z1, Z2 in [(1, 1), (2, 1), (1, 3), (3, 3)]:
        for label, energy in levels(basis, Z1, Z2, 4).items():
            assert abs(energy - two_centers.level(R, Z1, Z2, m, *label)) < 1e-10


@pytest.mark.parametrize(("m", "energy"), [(0, -1.1026342144949), (1, -0.42877181989586)])
def test_errors_fall_exponentially(m, energy):
    errors = []
    for nodes, eta in ((8, 6), (10, 8), (12, 10)):
        basis = zt.ProlateSpheroidal(2.0, m, elements=(0, 2, 7, 15, 29), nodes=nodes, eta=eta)
        errors.append(abs(levels(basis, 1, 1, 1)[0, 0] - energy))
    # Measured for m = 0: 2e-7, 6e-10, 3e-13. Two nodes more bring at least a factor of 50.
    assert errors[0] < 1e-6
    assert errors[1] < errors[0] / 50
    assert errors[2] < errors[1] / 50


@pytest.mark.parametrize("m", [0, 1, -1, 2, 3])
@pytest.mark.parametrize("eta", [8, 13])
def test_no_function_of_eta_is_a_false_state(m, eta):
    """K has the eigenvalues l(l+1): integrals on the nodes alone gave the last function of odd m an
    eigenvalue of about N_η, among the lowest."""
    basis = zt.ProlateSpheroidal(2.0, m, eta=eta)
    found = np.linalg.eigvalsh(np.asarray(basis.kinetic().eta) / (0.25 * basis.R))
    l = abs(m) + np.arange(4)
    np.testing.assert_allclose(found[:4], l * (l + 1), atol=1e-11)


def test_equal_charges_keep_parity_where_levels_agree():
    basis = zt.ProlateSpheroidal(50.0, elements=(0, 2, 6, 14, 24), eta=40)
    energies, states, _ = basis.stationary(two_centers.field_free(basis, 1, 1), 2, None)
    assert abs(energies[1] - energies[0]) < 1e-13  # the splitting is about R e^{−R}
    assert [basis.level_name(state) for state in states] == ["1sσg", "2pσu"]
    for state, parity in zip(np.asarray(states), (1, -1), strict=True):
        np.testing.assert_allclose(state[:, ::-1], parity * state, atol=1e-12)


@pytest.mark.slow
def test_levels_of_a_large_basis_go_the_short_way_too():
    basis = zt.ProlateSpheroidal(50.0, eta=66)
    assert basis.size > 8192  # beyond what Direct takes as a full matrix
    centers = [[0, 0, -25.0], [0, 0, 25.0]]
    model = zt.Model([zt.Kinetic(), zt.Coulomb(Z=[1, 1], centers=centers)])
    found = zt.eigenstates(zt.discretize(model, basis), 2)
    assert [basis.level_name(state) for state in found.states] == ["1sσg", "2pσu"]


def test_states_are_orthonormal_eigenstates():
    basis = zt.ProlateSpheroidal(2.0, 1, rmax=40.0)
    operator = two_centers.field_free(basis, 2, 1)
    energies, states, how = basis.stationary(operator, 3, None)
    matrix = np.asarray(operator.as_matrix())
    flat = np.asarray(states).reshape(3, -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(3), atol=1e-11)
    # Rounding of the largest kinetic energies, 1e3 hartree.
    np.testing.assert_allclose(matrix @ flat.T, flat.T * energies, atol=1e-10)
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix)[:3], energies, atol=1e-11)
    assert "separated" in how


def test_states_near_an_energy():
    basis = zt.ProlateSpheroidal(2.0, rmax=30.0, nodes=8, eta=6)
    operator = two_centers.field_free(basis, 1, 1)
    everything = np.linalg.eigvalsh(np.asarray(operator.as_matrix()))
    nearest = np.sort(everything[np.argsort(abs(everything - 0.3))[:6]])
    energies, _, _ = basis.stationary(operator, 6, 0.3)
    np.testing.assert_allclose(energies, nearest, atol=1e-11)


def test_what_does_not_separate_has_no_short_way():
    basis = zt.ProlateSpheroidal(2.0, rmax=20.0, nodes=6, eta=6)
    operator = two_centers.field_free(basis, 1, 1)
    assert basis.stationary(operator + basis.position([0, 0, 1]), 1, None) is None


def test_the_pair_of_problems_is_that_of_the_whole_matrix():
    rng = np.random.default_rng(7)
    xi, eta = (x + x.T for x in (rng.normal(size=(5, 5)), rng.normal(size=(4, 4))))
    p, q = rng.uniform(0.5, 2.0, 5), rng.uniform(0.5, 2.0, 4)
    root = 1 / np.sqrt(p[:, None] + q).reshape(-1)
    whole = root[:, None] * (np.kron(xi, np.eye(4)) + np.kron(np.eye(5), eta)) * root
    found = [level.energy for level in Pair(xi, eta, p, q).lowest(20)]
    np.testing.assert_allclose(found, np.linalg.eigvalsh(whole), atol=1e-12)


def test_the_wall_shifts_energies_as_told():
    exact = two_centers.LEVELS[2.0, 1, 1, 0][1, 0]
    basis = zt.ProlateSpheroidal(2.0, rmax=14.0)
    operator = two_centers.field_free(basis, 1, 1)
    energies, states, _ = basis.stationary(operator, 3, None)
    shifts, densities = basis.box_errors(operator, energies, states)
    # First order in the shift, and V is not constant beyond the wall: 20 % of 1e-5.
    np.testing.assert_allclose(shifts[2], energies[2] - exact, rtol=0.2)
    assert 1e-7 < shifts[2] < 1e-3
    assert densities.shape == (3,)


def test_elements_assemble():
    blocks = np.array([[[1.0, 2.0], [2.0, 5.0]], [[7.0, 3.0], [3.0, 9.0]]])
    np.testing.assert_array_equal(dense(blocks), [[1.0, 2.0], [2.0, 12.0]])


def test_whether_levels_can_be_found_is_asked_without_finding_them(monkeypatch):
    """They take long, and would be found twice."""
    terms = [zt.Kinetic(), zt.Coulomb(Z=[1, 1], centers=[[0, 0, -1], [0, 0, 1]])]
    H = zt.discretize(zt.Model(terms), zt.ProlateSpheroidal(R=2.0, rmax=40.0, eta=40))
    monkeypatch.setattr(zt.ProlateSpheroidal, "stationary", None)
    assert H.basis.size > SMALL
    assert recommended(H, 1) == zt.Direct()
    assert zt.Direct().memory(H, 1) is None


@pytest.mark.parametrize("R", [marks.slow(5.0), 20.0])
def test_few_functions_of_eta_have_the_ground_level(R):
    """`eta` = 10 + 0.8c, as the page says; at R = 20 what is left is 1.2e-11."""
    exact = two_centers.level(R, 1, 1, 0, 0, 0)
    eta = round(10 + 0.8 * R * np.sqrt(-exact / 2))
    found = levels(zt.ProlateSpheroidal(R, eta=eta), 1, 1, 1)
    assert abs(found[0, 0] - exact) < 2e-11


@pytest.mark.parametrize(
    ("R", "m", "largest"), [(2.0, 0, 584), (0.5, 0, 3536), (2.0, 1, 2.5 * 584), (2.0, 2, 3.5 * 584)]
)
def test_the_largest_kinetic_energy_is_that_of_the_page(R, m, largest):
    basis = zt.ProlateSpheroidal(R, m)
    operator = zt.discretize(zt.Model([zt.Kinetic()]), basis).operator
    apply = jax.jit(lambda psi: operator.apply(psi))

    def product(psi):
        return np.asarray(apply(psi.reshape(basis.shape).astype(complex))).real.ravel()

    matrix = LinearOperator((basis.size, basis.size), matvec=product, dtype=float)
    start = np.random.default_rng(0).normal(size=basis.size)
    found = eigsh(matrix, 1, which="LA", return_eigenvectors=False, tol=1e-6, v0=start)[0]
    assert found == pytest.approx(largest, rel=1e-3 if m == 0 else 0.03)
