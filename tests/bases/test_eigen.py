"""Bases of eigenstates: made from B-splines, written to and read from files, refused when wrong."""

from __future__ import annotations

import h5py
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt


@pytest.fixture(scope="module")
def basis():
    radial = zt.RadialBSplines(40, 7, 30.0, "graded", first=0.4)
    atom = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), zt.SphericalBasis(radial, 3))
    return zt.eigenbasis(atom, energy_max=15.0)


def test_dipole_forms_agree(basis):
    # ⟨i|∂_z|j⟩ = (E_j − E_i)⟨i|z|j⟩ for exact states: here the lowest of each l.
    gaps = basis.energies[1][None, :5] - basis.energies[0][:5, None]
    np.testing.assert_allclose(basis.velocity[0][:5, :5], gaps * basis.length[0][:5, :5], atol=1e-7)


def test_states_go_to_the_splines_and_back(basis):
    psi = basis.state(1, 2) + 1j * basis.state(0, 0)
    on_splines = basis.on_parent(psi)
    assert float(basis.parent.norm(on_splines)) == pytest.approx(np.sqrt(2), abs=1e-12)
    np.testing.assert_allclose(basis.project(on_splines), psi, atol=1e-11)


def test_light_and_absorbers_are_those_of_the_splines(basis):
    """⟨φ|O|ψ⟩ of complex states is the same on either basis, signs included."""
    rng = np.random.default_rng(4)
    inside = np.arange(basis.shape[1]) < np.asarray(basis.sizes)[:, None]
    phi, psi = inside * (rng.normal(size=(2, *basis.shape, 2)) @ [1, 1j])
    there = [basis.on_parent(jnp.asarray(state)) for state in (phi, psi)]
    for word in (
        lambda on: on.position([0.0, 0.0, 1.0]),
        lambda on: on.momentum([0.0, 0.0, 1.0]),
        lambda on: on.absorber(12.0, lambda depth, spacing: 0.2 * depth**2),
    ):
        found = complex(jnp.vdot(phi, word(basis).apply(jnp.asarray(psi))))
        expected = complex(jnp.vdot(there[0], word(basis.parent).apply(there[1])))
        assert abs(expected) > 0.1
        assert found == pytest.approx(expected, rel=1e-10)  # overlaps are kept to 1e-12, as above


def test_static_part_and_ground_state(basis):
    pulse = zt.SineSquared(cycles=2, frequency=1.0, amplitude=0.1)
    H = zt.discretize(zt.Model([zt.FieldFree(), zt.LengthGauge(pulse)]), basis)
    lowest = zt.eigenstates(H.static, 3)
    np.testing.assert_allclose(lowest.energies, [-0.5, -0.125, -0.125], atol=1e-8)
    assert lowest.residuals.max() < 1e-14
    with pytest.raises(zt.Unsupported, match=r"Kinetic cannot .* on an EigenBasis: use FieldFree"):
        zt.discretize(zt.Model([zt.Kinetic()]), basis)


def test_file_round_trip(basis, tmp_path):
    basis.save(tmp_path / "atom.h5")
    again = zt.read_eigenbasis(tmp_path / "atom.h5")
    assert again.sizes == basis.sizes
    np.testing.assert_array_equal(again.energies, basis.energies)
    np.testing.assert_array_equal(again.length, basis.length)
    np.testing.assert_array_equal(again.velocity, basis.velocity)


def full_matrix(blocks, sign):
    channels, n = len(blocks) + 1, blocks.shape[1]
    full = np.zeros((channels, n, channels, n))
    for i, block in enumerate(blocks):
        full[i, :, i + 1], full[i + 1, :, i] = block, sign * block.T
    return full


def write(path, **data):
    with h5py.File(path, "w") as file:
        for name, value in data.items():
            file[name] = value
    return path


def test_full_matrices_are_accepted(tmp_path):
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=(2, 4, 4))
    path = write(
        tmp_path / "full.h5",
        energy=np.sort(rng.normal(size=(3, 4))),
        length=full_matrix(blocks, 1),
        velocity=full_matrix(blocks, -1),
    )
    basis = zt.read_eigenbasis(path)
    np.testing.assert_array_equal(basis.length, blocks)
    np.testing.assert_array_equal(basis.velocity, blocks)


def wrong_symmetry(full):
    full[0, 0, 1, 0] += 0.5
    return full


def wrong_selection(full):
    full[0, 0, 2, 1] = full[2, 1, 0, 0] = 0.3
    return full


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d | {"length": wrong_symmetry(d["length"])}, "length: must be symmetric for a"),
        (lambda d: d | {"length": wrong_selection(d["length"])}, "must couple l with l ± 1 only"),
        (lambda d: d | {"length": np.zeros((2, 4, 3))}, r"length: must have shape \(2, 4, 4\)"),
        (lambda d: {"energy": d["energy"]}, r"length: must be in the file \(or velocity\)"),
        (lambda d: {"length": d["length"]}, "energy: must be in the file"),
        (lambda d: d | {"energy": d["energy"] * np.nan}, "energy: must be finite everywhere"),
        (lambda d: d | {"l": np.array([0, 1, 3])}, "l: must rise by one over 3 blocks"),
        (lambda d: d | {"l": 0}, r"l: must have shape \(3\), but has shape \(\)"),
        (lambda d: d | {"l": np.array([-1, 0, 1])}, "^l: must be at least 0, but is -1"),
        (lambda d: d | {"size": 4}, r"size: must have shape \(3\), but has shape \(\)"),
        (lambda d: d | {"size": np.array([4, 9, 4])}, "^size: must be 3 numbers from 1 to 4"),
        (lambda d: d | {"size": [4, 2.5, 4]}, r"size: must be whole numbers, but is \[4.0, 2.5"),
        (lambda d: d | {"energy": d["energy"] * 1j}, "^energy: must be real"),
        (lambda d: d | {"length": "none"}, "^length: must be an array of numbers"),
        (lambda d: {"energy/of": 1.0, "length": d["length"]}, "file: must hold datasets only"),
        (lambda d: d | {"size": np.array([4, 2, 4])}, "length: must be zero beyond the 4 × 2"),
    ],
)
def test_wrong_files_are_refused(tmp_path, change, sentence):
    rng = np.random.default_rng(0)
    data = {
        "energy": np.sort(rng.normal(size=(3, 4))),
        "length": full_matrix(rng.normal(size=(2, 4, 4)), 1),
    }
    with pytest.raises(zt.InputError, match=sentence):
        zt.read_eigenbasis(write(tmp_path / "wrong.h5", **change(data)))


def test_complex_blocks_are_refused():
    with pytest.raises(zt.InputError, match="length: must be real"):
        zt.EigenBasis(np.zeros((2, 3)), 1j * jnp.ones((1, 3, 3)))
