"""States near an energy, however near to one of them that energy is."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import zitter as zt
from zitter.linalg import shift_invert


def hamiltonian(shape, order, **options):
    terms = [zt.Kinetic(order=order), zt.SoftCoulomb(softening=2.0)]
    return zt.discretize(zt.Model(terms), zt.Grid(shape, 0.5, **options))


# By nested dissection, by minimum degree, in bands and in full; levels of the first are degenerate.
CASES = {
    "cube": hamiltonian((11, 11, 11), 2),
    "rings": hamiltonian((10, 9, 10), 2, boundary="periodic"),
    "plane": hamiltonian((30, 20), 8),
    "full line": hamiltonian(300, "spectral"),
}


def pair(H):
    try:
        matrix = H.operator.as_sparse().tocsc()
    except zt.Unsupported:
        matrix = np.asarray(H.operator.as_matrix())
        return matrix, np.linalg.eigvalsh(matrix)
    return matrix, np.linalg.eigvalsh(matrix.toarray())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("apart", [0.0, 1e-15, 1e-12, -1e-11, 1e-10, 1e-9, 1e-8, 1e-6, -1e-4, 1e-2])
@pytest.mark.parametrize("n", [1, 4])
def test_an_energy_may_be_as_near_to_a_level_as_it_likes(name, apart, n):
    """What rounding leaves of the others would be taken for levels, or never end."""
    H = CASES[name]
    matrix, exact = pair(H)
    for level in (0, 5, 100):
        sigma = exact[level] + apart
        energies, vectors = shift_invert.nearest(matrix, None, n, sigma, H.shape)
        wanted = np.sort(np.abs(exact - sigma))[:n]
        assert np.sort(np.abs(energies - sigma)) == pytest.approx(wanted, abs=1e-11)
        assert np.abs(matrix @ vectors - vectors * energies).max() < 1e-9
        assert vectors.T @ vectors == pytest.approx(np.eye(n), abs=1e-10)


def test_a_generalized_problem_at_one_of_its_levels():
    """Splines: a metric that is none of one."""
    basis = zt.SphericalBasis(zt.RadialBSplines(120, rmax=150.0), lmax=0)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), basis)
    lowest = zt.eigenstates(H, 6).energies
    for level in lowest[:3]:
        found = zt.eigenstates(H, 3, zt.Direct(near=float(level)))
        wanted = np.sort(lowest[np.argsort(np.abs(lowest - level))[:3]])
        assert found.energies == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("apart", [0.0, 1e-13, 1e-10, 1e-7])
def test_resonances_at_one_of_their_energies(apart):
    terms = [zt.Kinetic(order=4), zt.SoftCoulomb(softening=2.0), zt.ComplexAbsorber(3.0)]
    H = zt.discretize(zt.Model(terms), zt.Grid((16, 16), 0.5)).at(0.0)
    exact = np.linalg.eigvals(np.asarray(H.operator.as_matrix()))
    for level in exact[[0, 20]]:
        near = complex(level) + apart
        found = zt.eigenstates(H, 2, zt.Resonances(near=near))
        wanted = np.sort(np.abs(exact - near))[:2]
        assert np.abs(found.energies - near) == pytest.approx(wanted, abs=1e-10)
        assert found.residuals.max() < 1e-8


def decaying(shape):
    terms = [zt.Kinetic(order=4), zt.SoftCoulomb(softening=2.0), zt.ComplexAbsorber(1.5)]
    return zt.discretize(zt.Model(terms), zt.Grid(shape, 0.5)).at(0.0)


@pytest.mark.parametrize("shape", [(150,), (16, 16), (10, 8, 8)])
@pytest.mark.parametrize("n", [1, 6, 12])
def test_no_decaying_state_is_lost(shape, n):
    """Symmetry makes many of them pairs, of which iterations from one vector see but one."""
    H = decaying(shape)
    exact = np.linalg.eigvals(np.asarray(H.operator.as_matrix()))
    draw = np.random.default_rng(3)
    for level in draw.choice(exact, 4):
        near = complex(level + 0.05 * (draw.normal() + 1j * draw.normal()))
        found = zt.Resonances(near=near).solve(H, n)[0]
        wanted = np.sort(np.abs(exact - near))[:n]
        assert np.sort(np.abs(found - near)) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("shell", [3, 5])
@pytest.mark.parametrize("n", [1, 3])
def test_rydberg_levels_as_their_own_targets(shell, n):
    """Four values of l share each level, and knots near the nucleus make H ten thousand times
    larger than the distances of levels."""
    radial = zt.RadialBSplines(
        100, rmax=120.0, knots="exponential", first=1e-3, scaling=zt.ExteriorScaling(90.0, 0.3)
    )
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), zt.SphericalBasis(radial, lmax=3))
    level = -0.5 / shell**2
    found = zt.Resonances(near=level).solve(H, n)[0]
    wanted = np.full(n, level)
    assert np.asarray(found)[: min(n, shell)] == pytest.approx(wanted[: min(n, shell)], abs=1e-7)


def test_states_beyond_what_lies_around_the_shift():
    """From a shift beside 0, 1 is nearer than −0.995."""
    levels = np.concatenate([[0, -0.995, 1, 1.001], np.linspace(3, 60, 86)])
    matrix = scipy.sparse.diags(levels).tocsc()
    for nearest in (shift_invert.nearest, shift_invert.nearest_decaying):
        energies, vectors = nearest(matrix, None, 2, 0.0)
        assert sorted(energies.real) == pytest.approx([-0.995, 0.0], abs=1e-12)
        assert np.argmax(np.abs(vectors), axis=0).tolist() in ([1, 0], [0, 1])


def test_states_without_a_common_frame():
    """A matrix with a Jordan block: two levels and one state, which both come out as."""
    matrix = np.diag(np.arange(80.0)) + 0j
    matrix[3, 4], matrix[4, 4] = 1.0, 3.0
    energies, vectors = shift_invert.nearest_decaying(matrix, None, 2, 3.01)
    # Rounding moves such levels by its square root.
    assert energies == pytest.approx(np.full(2, 3.0), abs=1e-6)
    assert np.abs(matrix @ vectors - energies * vectors).max() < 1e-6


@pytest.mark.parametrize("near", [1e12, 1e200, -1e300])
def test_energies_beyond_all_reason_are_told(near):
    matrix, _ = pair(CASES["plane"])
    with pytest.raises(zt.RunError, match="could not be told from others"):
        shift_invert.nearest(matrix, None, 2, near)


def test_where_levels_lie_close_no_shift_passes_over_many(monkeypatch):
    """In a wide box, near a level but not as near as to lose others: two searches are enough."""
    H = hamiltonian(20_000, 4)
    searches = []
    honest = shift_invert._lanczos
    monkeypatch.setattr(
        shift_invert, "_lanczos", lambda *given: searches.append(1) or honest(*given)
    )
    matrix = H.operator.as_sparse().tocsc()
    first, _ = shift_invert.nearest(matrix, None, 3, 5e-4, H.shape)
    assert len(searches) == 2 and first.max() - first.min() < 1e-4
    # As near as 1/1000 of the way to the next one.
    sigma = float(first[1] + 1e-3 * (first[2] - first[1]))
    again, _ = shift_invert.nearest(matrix, None, 2, sigma, H.shape)
    assert len(searches) < 8 and np.abs(again - first[1]).min() < 1e-12


def test_a_search_that_does_not_end_says_so(monkeypatch):
    """Of an inverse that tells nothing, nearer and nearer states come out."""
    matrix, _ = pair(CASES["plane"])
    numbers = iter(range(1000))

    def random(*_):
        vector = np.eye(matrix.shape[0])[:, [next(numbers)]]
        return np.array([0.4]), vector

    honest = shift_invert._lanczos
    monkeypatch.setattr(
        shift_invert,
        "_lanczos",
        lambda *given: random() if given[-1].shape[1] else honest(*given),
    )
    with pytest.raises(zt.RunError, match=r"states nearest to 0\.4 hartree"):
        shift_invert.nearest(matrix, None, 4, 0.4)


@pytest.mark.parametrize("height", [1e6, 1e8, 1e10, 1e12])
@pytest.mark.parametrize("edge", [250.0, 40.0])
def test_walls_say_nothing_of_the_levels_between_them(height, edge):
    """Rounding is that of what a state adds up, not of the wall: most of the line, or little."""
    wall = zt.Potential(expression=f"where(abs(x)>{edge},{height},0)")
    H = zt.discretize(zt.Model([zt.Kinetic(order=4), wall]), zt.Grid(1200, 0.5))
    matrix = H.operator.as_sparse().tocsc()
    between = np.abs(H.basis.points(0)) <= edge
    exact = np.linalg.eigvalsh(matrix.toarray()[np.ix_(between, between)])
    for level in (0, 20, 70):
        sigma = exact[level] + 2e-4
        energies, _ = shift_invert.nearest(matrix, None, 3, sigma, H.shape)
        wanted = np.sort(np.abs(exact - sigma))[:3]
        # A wall of height V moves levels by 1/V, some times their spacing to the walls.
        assert np.sort(np.abs(energies - sigma)) == pytest.approx(wanted, abs=1e-12 + 1 / height)


RINGS = hamiltonian((14, 14), 4, boundary="periodic")
OSCILLATOR = zt.discretize(
    zt.Model([zt.Kinetic(order=4), zt.Harmonic(frequency=1.0), zt.ComplexAbsorber(0.9)]),
    zt.Grid((16, 16), 0.5),
).at(0.0)


@pytest.mark.parametrize(
    "n, near",
    [(6, 5.88645552399023), (8, 11.613544641533267), (17, 18.264102527897123),
     (5, 10.666666666657713), (5, 10.661512764869281)],
)  # fmt: skip
def test_levels_of_many_states_are_found_whole(n, near):
    """A first vector has one direction in each of them; those beyond come out of rounding."""
    H = zt.discretize(zt.Model([zt.Kinetic(order=4)]), RINGS.basis)
    matrix, exact = pair(H)
    energies, vectors = shift_invert.nearest(matrix, None, n, near, H.shape)
    wanted = np.sort(np.abs(exact - near))[:n]
    assert np.sort(np.abs(energies - near)) == pytest.approx(wanted, abs=1e-9)
    assert vectors.T @ vectors == pytest.approx(np.eye(n), abs=1e-9)


def test_decaying_levels_of_many_states_are_found_whole():
    matrix = OSCILLATOR.operator.as_sparse().tocsc()
    exact = np.linalg.eigvals(matrix.toarray())
    draw = np.random.default_rng(8)
    nears = [8.839433302108809 - 0.07290660612134987j]
    nears += [complex(draw.choice(exact) + 10 ** draw.uniform(-14, -1)) for _ in range(60)]
    for near in nears:
        energies, _ = shift_invert.nearest_decaying(matrix, None, 17, near, (16, 16))
        wanted = np.sort(np.abs(exact - near))[:17]
        assert np.sort(np.abs(energies - near)) == pytest.approx(wanted, abs=1e-7)


def test_what_converges_of_a_search_that_does_not_end_counts(monkeypatch):
    """Of levels of many states iterations from one vector find the rest after very long only."""
    solves = []
    honest = shift_invert.factorized

    def counted(*given):
        solve = honest(*given)
        return lambda v: solves.append(1) or solve(v)

    monkeypatch.setattr(shift_invert, "factorized", counted)
    H = zt.discretize(zt.Model([zt.Kinetic(order=2), zt.Harmonic()]), zt.Grid((7, 7, 7), 0.5))
    matrix, exact = pair(H)
    near = 6.679674125081311
    energies, _ = shift_invert.nearest(matrix, None, 29, near, H.shape)
    wanted = np.sort(np.abs(exact - near))[:29]
    assert np.sort(np.abs(energies - near)) == pytest.approx(wanted, abs=1e-9)
    assert len(solves) < 6000


@pytest.mark.parametrize("near", [float("nan"), complex(0.0, float("inf")), "1 V"])
def test_decaying_states_near_nothing_are_refused(near):
    with pytest.raises(zt.InputError, match="near: "):
        zt.Resonances(near=near)


def test_energies_of_decaying_states_have_units_as_well():
    assert zt.Resonances(near="-27.211386245988 eV").near == pytest.approx(-1.0, rel=1e-9)


def test_spinors_in_light_are_found_near_an_energy():
    """Light mixes κ and μ: no channel by itself has these states."""
    light = zt.DiracLight(zt.Static(amplitude=0.02, ramp=1.0))
    basis = zt.SpinorBasis(zt.RadialBSplines(20, rmax=20.0), 1)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), light]), basis).at(5.0)
    found = zt.eigenstates(H, 2, zt.Direct(near=-0.5))
    assert found.residuals.max() < 1e-7
    still = zt.eigenstates(
        zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis), 2, zt.Direct(near=-0.5)
    )
    assert np.abs(np.asarray(found.energies) - still.energies).max() < 0.05


def test_more_states_than_full_matrices_have_room_for_are_refused():
    H = hamiltonian((24, 24, 24), 2)
    with pytest.raises(zt.InputError, match=r"n: must be at most 3456 of 13824 unknowns"):
        zt.eigenstates(H, 5000, zt.Direct(near=0.0))
    assert zt.Direct(near=0.0).memory(CASES["cube"], 500) > 2 * 8 * 1331**2


@pytest.mark.parametrize("order", [4, "spectral"])
def test_sizes_that_a_run_refuses_are_refused_by_its_check(order):
    large = hamiltonian((33, 33, 33), order)
    with pytest.raises(zt.Unsupported, match="at most 8192 unknowns, or 32768"):
        zt.Direct(near=0.0).check(large, 1)
    small = hamiltonian((24, 24, 24), order)
    if order == 4:
        zt.Direct(near=0.0).check(small, 1)
    else:
        with pytest.raises(zt.Unsupported, match="this basis has 13824"):
            zt.Direct(near=0.0).check(small, 1)
