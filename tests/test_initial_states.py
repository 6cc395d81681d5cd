"""Where runs start: valence shells by default, states by n, l and m, the core on purpose."""

from __future__ import annotations

import re

import h5py
import numpy as np
import pytest

import zitter as zt
from zitter import cases, config, initial

# 1s of argon has the size 1/18.
RADIAL = zt.RadialBSplines(70, 7, 40.0, "graded", first=0.02)
HYDROGEN = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)])
ARGON = zt.Model([zt.Kinetic(), zt.TongLin("Ar")])


def energy_of(start, H) -> tuple[float, dict]:
    psi, known = start.make(H, 0.0)
    assert float(H.basis.norm(psi)) == pytest.approx(1.0, abs=1e-12)
    mean = float(H.expectation(psi))
    assert mean == pytest.approx(known["initial_energy"], abs=1e-9)
    assert known["initial_residual"] < 1e-6
    return mean, known


@pytest.mark.parametrize(("n", "l"), [(1, 0), (2, 0), (2, 1), (3, 2)])
def test_states_of_hydrogen_by_name(n, l):
    H = zt.discretize(HYDROGEN, zt.SphericalBasis(RADIAL, 3))
    energy, known = energy_of(zt.Eigenstate(n=n, l=l), H)
    # The wall at 40 bohr lifts n = 3 by 2e-7, and the others by less than 1e-10.
    assert energy == pytest.approx(-0.5 / n**2, abs=3e-7 if n == 3 else 1e-9)
    assert known["initial_state"] == f"{n}{'spd'[l]}"
    populations = np.asarray(zt.Eigenstate(n=n, l=l).on(H) != 0).any(axis=1)
    assert list(np.nonzero(populations)[0]) == [l]


def test_m_of_a_state():
    H = zt.discretize(HYDROGEN, zt.SphericalBasis(RADIAL, 2, m="all"))
    psi, known = zt.Eigenstate(n=2, l=1, m=-1).make(H, 0.0)
    assert H.basis.channels[int(np.nonzero(np.asarray(psi).any(axis=1))[0][0])] == (1, -1)
    with pytest.raises(zt.InputError, match="m: must be from -1 to 1 for l = 1, but is 2"):
        zt.Eigenstate(n=2, l=1, m=2).on(H)
    assert known["initial_state"] == "2p, m = -1"
    assert zt.Eigenstate(n=2, l=1).make(H, 0.0)[1]["initial_state"] == "2p, m = 0"
    assert zt.Eigenstate(n=2, l=0).make(H, 0.0)[1]["initial_state"] == "2s"


@pytest.mark.parametrize("m", [0, 1])
def test_argon_starts_in_3p(m):
    H = zt.discretize(ARGON, zt.SphericalBasis(RADIAL, 2, m=m))
    energy, known = energy_of(initial.Eigenstate(), H)
    # 15.76 eV measured, the fit is within 0.3 %.
    assert energy * 27.211386 == pytest.approx(-15.76, rel=5e-3)
    assert known["initial_state"] == ("3p" if m == 0 else "3p, m = 1")
    assert "initial_in_core" not in known


@pytest.mark.parametrize("start", [zt.Eigenstate(0), zt.Eigenstate(n=3, l=0)])
def test_the_core_says_so(start):
    H = zt.discretize(ARGON, zt.SphericalBasis(RADIAL, 2))
    with pytest.warns(UserWarning, match="starts in the core, .* below the valence shell 3p"):
        energy, known = energy_of(start, H)
    assert energy < -0.6
    assert re.match("the run starts in the core", known["initial_in_core"])


def test_above_the_valence_shell_nothing_is_said(recwarn):
    H = zt.discretize(ARGON, zt.SphericalBasis(RADIAL, 2))
    _, known = energy_of(zt.Eigenstate(n=4, l=0), H)
    assert "initial_in_core" not in known and not recwarn.list


@pytest.mark.parametrize("start", [zt.Eigenstate(0), zt.Eigenstate(n=2, l=1)])
def test_a_basis_may_leave_the_valence_shell_out(start, recwarn, tmp_path):
    """1s of helium has no m = 1; on eigenstates of such a basis neither."""
    helium = zt.Model([zt.Kinetic(), zt.TongLin("He")])
    H = zt.discretize(helium, zt.SphericalBasis(RADIAL, 2, m=1))
    energy, known = energy_of(start, H)
    # Between 2p of the singlet, −0.1238, and of the triplet, −0.1332.
    assert -0.1332 < energy < -0.1238
    assert "initial_in_core" not in known
    states = zt.eigenbasis(H, 12)
    states.save(tmp_path / "helium.h5")
    for made in (states, zt.read_eigenbasis(tmp_path / "helium.h5")):
        there = zt.discretize(zt.Model([zt.FieldFree()]), made)
        assert energy_of(start, there)[0] == pytest.approx(energy, abs=1e-9)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("atom", "lmax", "m", "shell"),
    [(zt.TongLin("Ar"), 0, 0, "3p"), (zt.Marinescu("Rb"), 1, 1, "5s")],
)
def test_the_core_says_so_where_the_basis_lacks_the_shell(atom, lmax, m, shell):
    light = zt.LengthGauge(zt.SineSquared(cycles=2, frequency=0.1, amplitude=0.01))
    model = zt.Model([zt.Kinetic(), atom, light])
    H = zt.discretize(model, zt.SphericalBasis(RADIAL, lmax, m=m))
    with pytest.warns(UserWarning, match=f"starts in the core, .* below the valence shell {shell}"):
        zt.Eigenstate(0).on(H)


def test_eigenstates_of_argon_know_their_shell(tmp_path):
    basis = zt.SphericalBasis(RADIAL, 2)
    states = zt.eigenbasis(zt.discretize(ARGON, basis), 12)
    states.save(tmp_path / "argon.h5")
    for made in (states, zt.read_eigenbasis(tmp_path / "argon.h5")):
        H = zt.discretize(zt.Model([zt.FieldFree()]), made)
        energy, known = energy_of(zt.Eigenstate(), H)
        assert known["initial_state"] == "3p"
        assert energy == pytest.approx(float(states.energies[1, 1]))


def test_a_dirac_shell():
    """Sommerfeld's 2p 3/2 of Z = 1 lies 2 α²/64 above 2p 1/2, and by n and l it is the former."""
    basis = zt.SpinorBasis(zt.RadialBSplines(40, 7, 40.0, "graded", first=0.1), 2, 0.5)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    psi, known = zt.Eigenstate(n=2, l=1).make(H, 0.0)
    alpha = 1 / 137.035999177
    assert known["initial_energy"] == pytest.approx(-0.125 - alpha**2 / 128, abs=2e-8)
    assert psi.shape == basis.shape


class TestRefusals:
    def refused(self, sentence, *given, model=HYDROGEN, basis=None, **more):
        with pytest.raises(zt.ZitterError, match=sentence):
            start = zt.Eigenstate(*given, **more)
            basis = basis or zt.SphericalBasis(RADIAL, 1)
            start.check(zt.discretize(model, basis))

    def test_of_contradictions(self):
        self.refused("n: must not be given with state = 2, but is", 2, n=1)
        self.refused("l: must not be given with state = valence, but is", "valence", l=1)
        self.refused('state: must be a number or "valence", but is "core"', "core")
        self.refused("n: must be at least 2, but is 1", n=1, l=1)

    def test_of_what_the_basis_lacks(self):
        self.refused(r"l: must be a channel of the basis, but is \(2, 0\)", n=3, l=2)
        self.refused("state: must be a number, or n and l, as no term names", "valence")
        self.refused("m: must be from -1 to 1 for l = 1, but is 5", model=ARGON, m=5)
        self.refused("m: must be one that the basis has, 0, but is 1", n=2, l=1, m=1)
        self.refused("m: must be given with n or l, as no term names .* but is 5 alone", m=5)
        grid = zt.Grid(15, 0.4)
        soft = zt.Model([zt.Kinetic(), zt.SoftCoulomb(Z=1, softening=1.0)])
        self.refused("by n and l cannot be written on a Grid: count", model=soft, basis=grid, n=2)


INPUT = """
[basis]
type = "SphericalBasis"
radial = { type = "RadialBSplines", n = 30, degree = 7, rmax = 20, knots = "graded", first = 0.02 }
lmax = 2
[model]
terms = ["Kinetic", { type = "TongLin", atom = "Ar" }]
[evolve]
t = [0, 1]
dt = 0.1
"""


def test_a_file_needs_no_initial_state():
    case = cases.read(config.parse(INPUT))
    assert case.initial.make(case.hamiltonian(), 0.0)[1]["initial_state"] == "3p"


def test_a_file_names_states():
    text = INPUT + '[initial]\ntype = "Eigenstate"\nn = 4\nl = 1\nm = 0\n'
    case = cases.read(config.parse(text))
    assert case.initial.make(case.hamiltonian(), 0.0)[1]["initial_state"] == "4p"
    with pytest.raises(zt.InputError, match=r"initial\.l: must be a channel"):
        case = cases.read(config.parse(text.replace("l = 1", "l = 3")))
        case.check(estimating=True)


def test_a_stored_state_of_another_basis_is_told(tmp_path, recwarn):
    """Numbers of one spacing are no state of another: norm and energy are then others, too."""
    terms = zt.Model([zt.Kinetic(), zt.Harmonic(1.0)])
    file = tmp_path / "levels.h5"
    made = zt.discretize(terms, zt.Grid(21, 0.4))
    zt.eigenstates(made, 1).save(file)
    recwarn.clear()
    initial.Stored(str(file)).make(made, 0.0)
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"belongs to another basis, Grid.*0\.4.*for Grid.*0\.2"):
        initial.Stored(str(file)).make(zt.discretize(terms, zt.Grid(21, 0.2)), 0.0)


@pytest.mark.parametrize("kind", [">f8", ">f4", "f2"])
def test_a_stored_state_of_other_numbers(kind, tmp_path):
    """As another program may have written them: of another byte order, or of half precision."""
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid(21, 0.4))
    run = zt.evolve(H, zt.eigenstates(H, 1).states[0], (0.0, 1.0), 0.1)
    run.save(file := tmp_path / "run.h5")
    with h5py.File(file, "r+") as data:
        scales = [dim[0] for dim in data["final"].dims]
        values = data["final"][()].astype(kind)
        del data["final"]
        data["final"] = values
        for dim, scale in zip(data["final"].dims, scales, strict=True):
            dim.attach_scale(scale)
    psi, _ = initial.Stored(str(file)).make(H, 0.0)
    assert np.iscomplexobj(run.final) and np.ptp(np.imag(run.final)) > 0.1
    # Half of a unit in the last of 11 digits.
    np.testing.assert_allclose(psi, run.final, atol=2**-11)
