"""Objects in files: whole, exact, and nothing but data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter import cases, config, io, kept_classes, stored
from zitter.hamiltonian import Hamiltonian

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.toml"))
SPLINES = zt.RadialBSplines(20, 5, 20.0, scaling=None)
PULSE = zt.SineSquared(intensity="1e14 W/cm^2", wavelength="400 nm", cycles=2, polarization="x")


def again(thing):
    """Through JSON, as a file does it."""
    packed = stored.pack(thing)
    packed.form = json.loads(json.dumps(packed.form))
    return stored.unpack(packed)


def same(one, other) -> None:
    """Equal structure (static choices), equal arrays of equal kinds."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert type(a) is type(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "thing",
    [
        zt.Grid((8, 9), (0.2, 0.3), "periodic", center=1.0),
        zt.Grid((8, 8), 0.2, particles=2),
        zt.Levels(3),
        zt.RadialBSplines(20, 5, 20.0, "exponential", scaling=zt.ExteriorScaling(10.0, "30 deg")),
        zt.SphericalBasis(SPLINES, 2, "all"),
        zt.SpinorBasis(SPLINES, 2, c=100.0),
        zt.EigenBasis(np.ones((2, 3)), np.ones((1, 3, 3))),
        PULSE,
        2.0 * PULSE + zt.Gaussian(amplitude=0.1, frequency=0.5, fwhm="1 fs"),
        zt.Tabulated([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, -1.0, 0.0]),
        zt.Trapezoid(amplitude=0.1, frequency=0.5, ramp_cycles=1, plateau_cycles=2),
        zt.Model([zt.Kinetic(order=4), zt.Potential(expression="0.5*x**2 + x*sin(t)")]),
        zt.Model([zt.Potential(array=np.arange(8.0)), zt.MaskAbsorber(width=2.0)]),
        zt.Model([zt.SoftCoulomb([1, 2], centers=[-1, 1], motion=zt.Rigid(0.5, 3.0))]),
        zt.Model([zt.SoftCoulomb(motion=zt.TabulatedPath([0, 1, 2], [0.0, 1.0, 0.5]))]),
        zt.Model([zt.Matrix([[0, 1j], [-1j, 1]]), zt.DrivenMatrix([[0, 1], [1, 0]], pulse=PULSE)]),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_comes_back_is_what_went_in(thing):
    same(again(thing), thing)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_nothing_of_the_examples_is_lost(path):
    """A new term or field that files cannot keep shows here."""
    document = config.read(path).of_one()
    if "basis" not in document.table:
        pytest.skip("Monte Carlo has no basis")
    case = cases.read(document)
    same(again(case.basis), case.basis)
    same(again(case.model), case.model)


def test_names_of_classes_are_unique():
    """Files know a class by its name alone."""
    found = list(kept_classes.rules())
    assert len({rule.cls.__name__ for rule in found}) == len(found)
    public = {getattr(zt, name) for name in zt.__all__}
    wanted = {c for c in public if isinstance(c, type) and issubclass(c, zt.Basis | zt.Field)}
    assert wanted <= {rule.cls for rule in found}


def test_a_basis_of_eigenstates_leaves_its_dipoles_out():
    """They follow from the states, bit for bit; those of a user do not and are kept."""
    atom = zt.Model([zt.Kinetic(), zt.Coulomb()])
    basis = zt.eigenbasis(zt.discretize(atom, zt.SphericalBasis(SPLINES, 2)), 6)
    packed = stored.pack(basis)
    assert {a.shape for a in packed.arrays.values()} == {(3, 6), (3, 20, 6)}
    same(stored.unpack(packed), basis)
    own = eqx.tree_at(lambda b: b.length, basis, 2.0 * basis.length)
    same(again(own), own)


class Mine(zt.Term):
    """A user's own term."""

    def discretize(self, basis):
        return zt.Kinetic().discretize(basis)


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        (zt.Potential(lambda x: 0.5 * x**2), "holds <lambda>, a Python function"),
        (Mine(), "holds Mine, not a class of zitter"),
    ],
)
def test_what_cannot_be_kept_says_so(term, reason, tmp_path):
    grid = zt.Grid(16, 0.5)
    found = zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic(), term]), grid), 1)
    assert found.missing == {}
    found.save(tmp_path / "e.h5")
    read = zt.load(tmp_path / "e.h5")
    same(read.basis, grid)
    assert read.model is None
    assert list(read.missing) == ["model"] and reason in read.missing["model"]
    read.save(tmp_path / "again.h5")  # what the file had stays as it was
    assert zt.load(tmp_path / "again.h5").missing == read.missing


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda form: form.update({"class": "os.system"}), "this version has no os.system"),
        (lambda form: form["parts"].pop("boundary"), "differs in boundary"),
        (lambda form: form["parts"].update(new=1), "differs in new"),
        (lambda form: form.update({"#": "call"}), "is damaged"),
        (lambda form: form["parts"].update(shape={"#": "array", "key": "x"}), "is damaged"),
    ],
)
def test_a_file_of_another_version_or_a_damaged_one(change, reason, tmp_path):
    """The numbers are read; what is not understood is None, with the version that wrote it."""
    grid = zt.Grid(16, 0.5)
    zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic()]), grid), 1).save(tmp_path / "e.h5")
    with h5py.File(tmp_path / "e.h5", "r+") as file:
        form = json.loads(file["objects/basis/form"].asstr()[()])
        change(form)
        del file["objects/basis/form"]
        file["objects/basis/form"] = json.dumps(form)
        file.attrs["version"] = "9.9"
    read = zt.load(tmp_path / "e.h5")
    assert len(read.energies) == 1
    assert read.basis is None and reason in read.missing["basis"]
    if "damaged" not in reason:
        assert "zitter 9.9 wrote it" in read.missing["basis"]
    assert isinstance(read.model, zt.Model)


class TestModelOfHamiltonian:
    """It is there for people and files, and JAX does not see it."""

    def H(self, amplitude: float) -> Hamiltonian:
        pulse = zt.SineSquared(amplitude=amplitude, frequency=0.5, cycles=2)
        terms = [zt.Kinetic(), zt.Harmonic(), zt.LengthGauge(pulse)]
        return zt.discretize(zt.Model(terms), zt.Grid(16, 0.5))

    def test_it_goes_along(self):
        H = self.H(0.1)
        for other in (H.static, H.at(1.0), H.astype(jnp.float32), H.dense()):
            assert other.model is H.model
        assert zt.eigenstates(H.static, 1).model is H.model

    def test_another_model_compiles_nothing_anew(self):
        count = 0

        @eqx.filter_jit
        def energy(H, psi):
            nonlocal count
            count += 1
            return H.at(0.3).expectation(psi)

        psi = jnp.exp(-(jnp.arange(16.0) ** 2)) + 0j
        assert energy(self.H(0.1), psi) != energy(self.H(0.2), psi)
        assert count == 1
        leaves = jax.tree.leaves(self.H(0.1))
        bare = eqx.tree_at(lambda H: H.origin, self.H(0.1), type(self.H(0.1).origin)())
        assert len(leaves) == len(jax.tree.leaves(bare))

    def test_what_jax_has_made_anew_has_no_model(self):
        """It may be another H: here one with twice the potential."""
        H = self.H(0.1)
        assert jax.tree.map(lambda leaf: 2 * leaf, H).model is None
        assert eqx.filter_jit(lambda H: H)(H).model is None

    def test_a_model_that_is_being_traced_is_not_kept(self):
        def energy(amplitude):
            H = self.H(amplitude)
            assert H.model is None
            return H.at(0.3).expectation(jnp.ones(16, complex))

        assert jnp.isfinite(jax.grad(energy)(0.1))


def test_objects_come_back_in_double_precision_in_a_new_process(tmp_path):
    """Nobody has chosen settings there, and JAX by itself would make single precision of them."""
    path = tmp_path / "e.h5"
    basis = zt.EigenBasis(np.ones((2, 3)), np.ones((1, 3, 3)))
    io.write(path, io.Dataset({}, {}, {"basis": stored.pack(basis)}))
    program = (
        "import sys, zitter as zt\n"
        "from zitter import io, kinds, stored\n"
        "basis = stored.Kept(packed=io.read(sys.argv[1]).objects).get('basis')\n"
        "print(basis.energies.dtype)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["float64"]
