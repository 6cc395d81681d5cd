"""The paper's tables on a small lattice, and the shape of the report."""

import numpy as np
import pytest

from zitter.reproduce import imaginary_time_3d as paper


@pytest.mark.parametrize("name", ["harmonic", "anharmonic"])
def test_energy_against_updates(name):
    """48 points along an axis: what is left over is the lattice's own h² error, 0.4–0.6 %."""
    case = next(c for c in paper.CASES if c.name == name)
    k, energy, _ = paper.course_of(case, 48, case.dtau)
    for count, reference in case.table:
        assert np.interp(count, k, energy) == pytest.approx(reference, rel=7e-3)


def test_the_cut_coulomb_potential():
    """Eq. 16 on the scaled lattice: 0 within one spacing, 1/a − 1/r beyond, continuous at a."""
    case = paper.CASES[0]
    H, scale = paper.lattice(case, 32)
    values = np.asarray(H.operator.parts[1].full())
    a = 0.08 * 8
    assert values[15, 15, 15] == 0.0
    assert values[15, 15, 16] == pytest.approx(0.0, abs=1e-12)
    assert values[15, 15, 17] == pytest.approx(1 / a - 1 / (2 * a))
    assert scale == 64.0  # the square of the ratio of the spacings, so of the stable steps


@pytest.mark.slow
def test_default_run_is_as_expected():
    report = paper.run()
    assert report.ok, [row for row in report.rows if not row.ok]
