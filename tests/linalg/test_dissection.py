"""Nested dissection: a whole order, known fill, and less of it than a general order leaves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg

import zitter as zt
from zitter.linalg import shift_invert
from zitter.linalg.dissection import Dissection
from zitter.solve import needs


def well(shape, order, **options):
    terms = [zt.Kinetic(order=order), zt.SoftCoulomb(softening=2.0)]
    return zt.discretize(zt.Model(terms), zt.Grid(shape, 0.5, **options))


def sparse_matrix(H):
    return H.operator.as_sparse().tocsc()


CASES = {
    "cube": well((12, 12, 12), 4),
    "slab": well((20, 14, 6), 2),
    "plane": well((40, 30), 8),
    "rings": well((14, 12, 10), 2, boundary="periodic"),
}


def channels(count):
    """Matrices of bands that know nothing of each other, as those of an atom without light."""
    parts = [sparse_matrix(well(100, 8)) + k * sparse.identity(100) for k in range(count)]
    return sparse.block_diag(parts).tocsc()


@pytest.mark.parametrize("name", CASES)
def test_the_factors_have_as_many_numbers_as_was_told(name):
    """Told is the most there can be: blocks that are eliminated at once are not quite full."""
    H = CASES[name]
    matrix = sparse_matrix(H) + 0.3 * sparse.identity(H.basis.size)
    found = Dissection.of(matrix, H.shape)
    order = found.order()
    assert np.array_equal(np.sort(order), np.arange(H.basis.size))
    factors = scipy.sparse.linalg.splu(
        matrix[order][:, order].tocsc(),
        permc_spec="NATURAL",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    assert factors.nnz <= found.numbers + H.basis.size < 1.5 * factors.nnz


def test_where_diagonals_are_no_pivots_numbers_may_double():
    """Near the middle of the spectrum rows change places; what is found stays right."""
    H = zt.discretize(zt.Model([zt.Kinetic(order=4)]), zt.Grid((14, 14, 14), 1.0))
    matrix = sparse_matrix(H)
    sigma = float(matrix.diagonal()[0])
    found = Dissection.of(matrix, H.shape)
    order = found.order()
    factors = scipy.sparse.linalg.splu(
        (matrix - sigma * sparse.identity(H.basis.size))[order][:, order].tocsc(),
        permc_spec="NATURAL",
        diag_pivot_thresh=shift_invert.PIVOT,
        options={"SymmetricMode": True},
    )
    assert factors.nnz < 3 * found.numbers
    energies, vectors = shift_invert.nearest(matrix, None, 3, sigma, H.shape)
    assert np.abs(matrix @ vectors - vectors * energies).max() < 1e-9


def test_what_is_not_coupled_is_counted_apart():
    matrix = channels(8)
    found = Dissection.of(matrix, (8, 100))
    assert found.reach == (0, 4)
    assert np.array_equal(np.sort(found.order()), np.arange(800))
    factors = scipy.sparse.linalg.splu(matrix, permc_spec="MMD_AT_PLUS_A")
    assert factors.nnz < found.numbers + 800 < 2 * factors.nnz
    assert found.numbers == 8 * Dissection.of(channels(1), (1, 100)).numbers


def test_reaches_and_rings_are_those_of_the_matrix():
    assert Dissection.of(sparse_matrix(CASES["cube"]), (12, 12, 12)).reach == (2, 2, 2)
    found = Dissection.of(sparse_matrix(CASES["rings"]), (14, 12, 10))
    assert found.reach == (1, 1, 1) and found.closed == (True, True, True)
    # Where all of an axis are coupled there is no ring to open.
    full = sparse.kron(sparse.identity(9), np.ones((7, 7)))
    found = Dissection.of(full, (9, 7))
    assert found.reach == (0, 6) and found.closed == (False, False)


@pytest.mark.parametrize("name", CASES)
def test_parts_know_no_more_of_later_ones_than_is_told(name):
    """What a part is coupled to, by itself or by those that are gone, is around it."""
    H = CASES[name]
    found = Dissection.of(sparse_matrix(H), H.shape)
    pattern = sparse_matrix(H)[found.order()][:, found.order()].tocsr()
    stops = np.cumsum([part.size for part in found.parts])
    owner = np.repeat(np.arange(len(stops)), np.diff(stops, prepend=0))
    known: list[set[int]] = [set() for _ in stops]
    for number, (stop, part) in enumerate(zip(stops, found.parts, strict=True)):
        rows = pattern[stop - part.size : stop]
        later = known[number] | {int(k) for k in rows.indices if k >= stop}
        assert len(later) <= part.around
        if later:  # the next one to be eliminated inherits it
            heir = owner[min(later)]
            known[heir] |= {k for k in later if k >= stops[heir]}


def test_a_cube_takes_far_less_than_a_general_order():
    H = well((18, 18, 18), 4)
    matrix = sparse_matrix(H) + 0.3 * sparse.identity(H.basis.size)
    general = scipy.sparse.linalg.splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A")
    assert Dissection.of(matrix, H.shape).numbers < 0.95 * general.nnz


@pytest.mark.parametrize(("shape", "order"), [((70, 70), 8), ((200, 20), 8), ((3000,), 8)])
@pytest.mark.parametrize("boundary", ["zero", "periodic"])
def test_planes_strips_and_lines_fill_up_no_more_than_told(shape, order, boundary, monkeypatch):
    """In the middle of the spectrum, where pivots taken freely would make ten times as many."""
    H = well(shape, order, boundary=boundary)
    matrix, made = sparse_matrix(H), []
    honest = scipy.sparse.linalg.splu

    def counted(*given, **options):
        made.append(honest(*given, **options))
        return made[-1]

    monkeypatch.setattr(scipy.sparse.linalg, "splu", counted)
    shift_invert.factorized(matrix, None, 3.0, H.shape)
    (factors,) = made
    told = Dissection.of(matrix, H.shape).numbers + H.basis.size
    assert 0.4 * told < factors.nnz < 1.25 * told


@pytest.mark.parametrize("name", CASES)
def test_states_near_an_energy_are_those_of_the_whole_matrix(name):
    H = CASES[name]
    matrix = sparse_matrix(H)
    energies, vectors = shift_invert.nearest(matrix, None, 3, 0.4, H.shape)
    exact = np.linalg.eigvalsh(matrix.toarray())
    exact = np.sort(exact[np.argsort(np.abs(exact - 0.4))[:3]])
    # To rounding of ‖H‖.
    assert energies == pytest.approx(exact, abs=1e-12 * abs(matrix).sum(axis=0).max())
    assert np.abs(matrix @ vectors - vectors * energies).max() < 1e-9


def test_a_search_near_an_energy_tells_memory_and_time():
    H, solver = CASES["cube"], zt.Direct(near=0.4)
    found = needs.of_solver(H, 2, solver, checked=True)
    numbers = Dissection.of(sparse_matrix(H), H.shape).numbers
    assert 10 * numbers < found.memory < 20 * numbers
    assert found.seconds is not None and 0 < found.seconds < 20


@pytest.mark.parametrize("boundary", ["zero", "periodic"])
@pytest.mark.parametrize("order", [4, "spectral"])
def test_on_lines_memory_and_time_are_those_of_few_bands_or_of_a_full_matrix(boundary, order):
    H = well(600, order, boundary=boundary)
    found = needs.of_solver(H, 2, zt.Direct(near=0.4))
    assert found.memory is not None and found.seconds is not None
    full = order == "spectral"
    assert (found.memory > 8 * 600**2) is full
    assert found.seconds < 2


def test_a_long_line_is_counted_without_being_made(monkeypatch):
    H = well(2_000_000, 4)
    monkeypatch.setattr(type(H.operator), "as_sparse", lambda self: pytest.fail("made"))
    found = zt.Direct(near=0.4).memory(H, 2)
    assert found is not None and 2e6 * 5 * 12 < found < 2e6 * 1000


def test_many_states_near_an_energy_are_not_tried():
    assert needs.of_solver(CASES["cube"], 60, zt.Direct(near=0.4)).seconds is None


def test_the_grids_to_compare_with_are_searched_near_the_same_energy():
    assert zt.Direct(near=0.4).on_other_bases == zt.Direct(near=0.4)
    assert zt.Direct().on_other_bases is None
    assert zt.LOBPCG().on_other_bases is None
