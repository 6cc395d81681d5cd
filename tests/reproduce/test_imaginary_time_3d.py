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
    """Eq. 16 on the scaled lattice: 0 within one spacing, 1/a − 1/r beyond.

    With 32 points along an axis, two of them at the walls, the origin lies between points.
    """
    case = paper.CASES[0]
    H, scale = paper.lattice(case, 32)
    values = np.asarray(H.operator.parts[1].full())
    assert values.shape == (30, 30, 30)
    a = 0.08 * 255 / 31
    assert values[14, 14, 14] == values[15, 15, 15] == 0.0  # r = √3/2 a
    r = a * np.sqrt(0.5**2 + 0.5**2 + 1.5**2)
    assert values[15, 15, 16] == values[14, 14, 13] == pytest.approx(1 / a - 1 / r)
    # The square of the ratio of the spacings, so of the stable steps.
    assert scale == pytest.approx((255 / 31) ** 2)


def test_where_the_rule_is_met():
    """E = e^{−k/500}: |ΔE| per update falls below 1e-7 after 500 ln(1/(500 × 1e-7)) updates."""
    k = np.arange(0.0, 6000.0, 10.0)
    met = paper.rule_met(k, np.exp(-k / 500))
    assert met == pytest.approx(500 * np.log(1 / (500 * 1e-7)), abs=0.01)


def test_tolerances_come_from_the_papers_table():
    """Between its rows the harmonic energy falls by 0.629, 0.102, 0.020 and 0.004175."""
    case = next(c for c in paper.CASES if c.name == "harmonic")
    slopes = [paper.slope(case, count) for count, _ in case.table]
    assert slopes == pytest.approx([6.29e-4, 6.29e-4, 1.02e-4, 2.0e-5, 0.004175 / 1004])


def test_the_figure_is_drawn(tmp_path):
    k = np.arange(0.0, 20_000.0, 100.0)
    courses = {case.name: (k, np.exp(-k / 3000), np.exp(-k / 1500)) for case in paper.CASES}
    assert paper._figures(tmp_path, courses) == [str(tmp_path / "imaginary-time-3d.png")]
    assert (tmp_path / "imaginary-time-3d.png").is_file()


@pytest.mark.slow
def test_default_run_of_the_wheel_is_as_expected(default_run):
    default_run("imaginary-time-3d")
