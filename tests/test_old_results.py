"""Results of version 0.1.0, which kept neither basis nor model.

`tests/data` holds two, made by `zitter run`: a soft-core atom (63 points) in a pulse, and hydrogen
on 20 splines with l ≤ 1.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import zitter as zt
from zitter import cli

DATA = Path(__file__).parent / "data"
EVOLUTION, LEVELS = DATA / "evolution-0.1.0.h5", DATA / "eigenstates-0.1.0.h5"
SENTENCE = "zitter 0.1.0 wrote the file, and only 0.2 and later keep it"


def test_the_numbers_are_read():
    run, levels = zt.load(EVOLUTION), zt.load(LEVELS)
    assert run.times[-1] == 5.0
    np.testing.assert_allclose(run.observables["norm"], 1.0, atol=1e-12)
    # E = −1/2n²: twenty splines to 20 bohr leave 2e-3 for the ground state, the wall less.
    np.testing.assert_allclose(levels.energies, [-0.5, -0.125, -0.125], atol=5e-3)
    for result in (run, levels):
        assert result.basis is None and result.model is None
        assert result.missing == {"basis": SENTENCE, "model": SENTENCE}
        assert "[model]" in result.input


@pytest.mark.parametrize("file", [EVOLUTION, LEVELS])
def test_they_are_shown_and_drawn(file, tmp_path, capsys):
    assert cli.status(["show", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["kind"] in file.stem
    assert cli.status(["plot", str(file), "-o", str(tmp_path / "x.png")]) == 0
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_that_need_the_basis_say_so():
    run, levels = zt.load(EVOLUTION), zt.load(LEVELS)
    with pytest.raises(zt.InputError, match=f"must know its basis .*, but {SENTENCE}"):
        zt.plot.densities.final_density(run)
    # With H the basis is known after all; without, the levels stand alone.
    atom = zt.Model([zt.Kinetic(), zt.Coulomb()])
    H = zt.discretize(atom, zt.SphericalBasis(zt.RadialBSplines(20, 5, 20.0), 1))
    assert len(zt.plot.levels(H, levels).axes) == 2
    assert len(zt.plot.levels(None, levels).axes) == 1


def test_a_run_may_start_from_one(tmp_path):
    from zitter.initial import Stored

    H = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid(63, 0.5))
    psi, _ = Stored(str(EVOLUTION)).make(H, 0.0)
    assert psi.shape == (63,)


def test_the_picture_is_named_after_the_whole_name_of_the_file(tmp_path, capsys):
    """Dots included: r1.4.h5 and r1.5.h5 have a picture each."""
    for name in ("r1.4", "r1.5"):
        (tmp_path / f"{name}.h5").write_bytes(LEVELS.read_bytes())
        assert cli.status(["plot", str(tmp_path / f"{name}.h5")]) == 0
        assert (tmp_path / f"{name}.png").exists()
