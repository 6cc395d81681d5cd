"""Solutions: saved, loaded, handed to xarray, printed."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import zitter as zt


@pytest.fixture(scope="module")
def solution():
    grid = zt.Grid((14, 14), 0.6)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), grid)
    psi = grid.normalize(grid.sample(lambda x, y: np.exp(-((x - 1) ** 2) - y**2 + 0j)))
    return zt.evolve(
        H,
        psi,
        (0.0, 1.0),
        0.05,
        zt.SplitOperator(),
        [zt.Norm(), zt.Position(), zt.Density(every=2), zt.Populations(n=1)],
        save_every=5,
        save_states=True,
    )


def test_save_and_load(solution, tmp_path):
    solution.save(tmp_path / "run.h5")
    again = zt.load(tmp_path / "run.h5")
    assert isinstance(again, zt.Solution)
    np.testing.assert_array_equal(again.times, solution.times)
    np.testing.assert_array_equal(again.final, np.asarray(solution.final))
    np.testing.assert_array_equal(again.states, solution.states)
    assert set(again.observables) == set(solution.observables)
    for name, data in solution.observables.items():
        np.testing.assert_array_equal(again.observables[name], data)
        np.testing.assert_array_equal(again.times_of(name), solution.times_of(name))
    assert again.info == solution.info
    assert again.described == solution.described
    np.testing.assert_array_equal(again.axes["y"], solution.axes["y"])
    assert (
        zt.load(tmp_path / "run.h5").dataset().variables.keys()
        == solution.dataset().variables.keys()
    )


def test_load_takes_an_output_directory(solution, tmp_path):
    solution.save(tmp_path / "result.h5")
    np.testing.assert_array_equal(zt.load(tmp_path).times, solution.times)


def test_files_say_the_units(solution, tmp_path):
    """Times are atomic units, those of observables that are recorded less often as well."""
    solution.save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        found = {name: item.attrs.get("units") for name, item in file.items()}
        np.testing.assert_allclose(file["time"], 0.25 * np.arange(5), rtol=0, atol=1e-14)
        np.testing.assert_allclose(file["time_density"], [0.0, 0.5, 1.0], rtol=0, atol=1e-14)
    units = {"time": "a.u. time", "time_density": "a.u. time", "x": "bohr", "y": "bohr"}
    units |= {"norm": "1", "position": "bohr", "density": "1/bohr^d", "populations": "1"}
    assert {name: found[name] for name in units} == units


def test_xarray(solution, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    data = solution.to_xarray()
    assert data["density"].dims == ("time_density", "x", "y")
    assert data["position"].dims == ("time", "component")
    assert data["norm"].attrs["units"] == "1"
    assert complex(data["final"].values[3, 4]) == complex(solution.final[3, 4])
    data.drop_vars(["final", "states"]).to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    solution.save(tmp_path / "run.h5")
    with xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as read:
        np.testing.assert_array_equal(read["density"].values, solution.observables["density"])
        assert read["states"].dims == ("time", "x", "y", "complex")


def test_eigenstates_round_trip(tmp_path):
    H = zt.discretize(zt.Model([zt.Matrix([[0.0, 0.5j], [-0.5j, 1.0]])]), zt.Levels(2))
    states = zt.eigenstates(H, 2)
    states.save(tmp_path / "e.h5")
    again = zt.load(tmp_path / "e.h5")
    assert isinstance(again, zt.Eigenstates)
    np.testing.assert_array_equal(again.energies, states.energies)
    np.testing.assert_array_equal(again.states, np.asarray(states.states))
    assert again.info == states.info
    assert states.to_xarray()["states"].dims == ("state", "level")


def test_printed_form_shows_what_counts(solution):
    text = repr(solution)
    for word in ("Solution: 5 records", "norm", "SplitOperator", "norm_loss", "precision"):
        assert word in text
