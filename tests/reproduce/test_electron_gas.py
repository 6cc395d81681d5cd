"""What decides the rows of the electron gas reproduction."""

from __future__ import annotations

import sys
import types

import pytest

from zitter.qmc import ElectronGas
from zitter.reproduce import electron_gas

ERROR = 1e-4


def rows(monkeypatch, by_vmc: float, by_dmc: float) -> dict[str, bool]:
    """`ok` by quantity at r_s = 2, from fractions of the exact correlation energy."""
    bare = ElectronGas(14, 2.0, tolerance=electron_gas.TOLERANCE).hartree_fock()[0]
    exact = electron_gas.EXACT_14[2.0][0] / 14

    def found(share):
        return types.SimpleNamespace(energy=bare + share * exact, energy_error=ERROR)

    unchanged = lambda psi, *_, **__: types.SimpleNamespace(wavefunction=psi)  # noqa: E731
    monkeypatch.setattr(electron_gas, "optimize", unchanged)
    monkeypatch.setattr(electron_gas, "vmc", lambda *_, **__: found(by_vmc))
    monkeypatch.setattr(electron_gas, "dmc", lambda *_, **__: found(by_dmc))
    table = electron_gas._correlated(2.0, {}, False)
    correlation = next(row for row in table if row.quantity.startswith("correlation energy"))
    assert correlation.value == pytest.approx(by_dmc * exact, rel=1e-9)
    assert correlation.reference == pytest.approx(exact)
    return {row.quantity.split(",")[0]: row.ok for row in table}


@pytest.mark.parametrize(
    ("by_vmc", "by_dmc", "wrong"),
    [
        # Nodes may cost what they cost: theory only says on which side of the truth DMC lies.
        (0.93, 0.97, None),
        (0.88, 0.90, None),
        # What is left to noise, and must be three times the error bar, is 2.8 % here.
        (0.97, 1.03, "correlation energy by DMC"),
        (0.80, 0.97, "correlation recovered by VMC"),
        (0.99, 0.95, "VMC above DMC"),
    ],
)
def test_decisions_on_correlation_energies(monkeypatch, by_vmc, by_dmc, wrong):
    decided = rows(monkeypatch, by_vmc, by_dmc)
    assert len(decided) == 6
    assert [quantity for quantity, ok in decided.items() if not ok] == ([wrong] if wrong else [])


def test_noise_does_not_make_a_result_right(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ERROR", 4e-4)
    assert not rows(monkeypatch, 0.93, 0.97)["correlation energy by DMC"]


@pytest.mark.slow
def test_hartree_fock_row_of_two_electrons():
    (row,) = electron_gas._hartree_fock((("square", 2, 2, 16),))
    assert row.error is not None
    assert row.reference is not None
    assert row.reference == ElectronGas(2, 10.0, 2, "square", tolerance=1e-5).hartree_fock()[0]
    assert abs(row.value - row.reference) < 4 * row.error
    # A row passes by its value and by an error bar that is small enough.
    assert row.ok == (abs(row.value - row.reference) <= 6e-4 and row.error <= 2e-4)


@pytest.mark.slow
def test_default_run_of_the_wheel_is_as_expected(default_run):
    default_run("electron-gas")
