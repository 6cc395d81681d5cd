"""Published pseudopotentials by name."""

from __future__ import annotations

import equinox as eqx
import numpy as np
import pytest
from pyscf_files import chkfile

import zitter as zt
from zitter import checks


def test_ccecp_is_the_one_that_orbitals_are_made_with():
    carbon, oxygen = zt.qmc.from_pyscf(chkfile("co")).system.nuclei.pseudopotentials
    assert eqx.tree_equal(zt.qmc.pseudopotential("C"), carbon)
    assert eqx.tree_equal(zt.qmc.pseudopotential("O", "ccECP"), oxygen)
    assert float(zt.qmc.pseudopotential("Si", "bfd").charge) == 4


@pytest.mark.parametrize(("element", "name"), [("C", "ccecp"), ("Si", "ccecp"), ("Si", "bfd")])
def test_nuclei_are_screened_without_a_pole(element, name):
    """−Z/r + v_loc is finite at the nucleus: the term Z/r e^{−αr²} is there."""
    potential = zt.qmc.pseudopotential(element, name)
    near = [potential.local(r) - float(potential.charge) / r for r in (1e-4, 2e-4)]
    assert np.all(np.abs(near) < 100)
    assert abs(near[0] - near[1]) < 0.05  # no slope either


def test_elements_without_one_are_refused():
    with pytest.raises(checks.InputError) as caught:
        zt.qmc.pseudopotential("Xe")
    assert str(caught.value) == (
        "element: must have a pseudopotential in ccecp, but Xe has none; bfd has one"
    )
    with pytest.raises(checks.InputError, match=r"but Hg has none$"):
        zt.qmc.pseudopotential("Hg")
    with pytest.raises(checks.InputError, match='name: must be one of ccecp, bfd, but is "gth"'):
        zt.qmc.pseudopotential("C", "gth")


def test_symbols_begin_with_a_capital():
    with pytest.raises(checks.InputError, match='did you mean "C"'):
        zt.qmc.pseudopotential("c")
