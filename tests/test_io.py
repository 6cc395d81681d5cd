"""Files: whole or not at all, the same after a round trip, readable by others."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import zitter as zt
from zitter import files, io


def dataset():
    x = np.linspace(0, 1, 4)
    psi = np.exp(1j * x).astype(np.complex64)
    return io.Dataset(
        {
            "x": io.Variable(x, ("x",), "bohr", "place"),
            "psi": io.Variable(psi, ("x",), "a.u.", "state"),
            "history": io.Variable(np.outer([1, 2, 3], psi), ("step", "x")),
            "count": io.Variable(np.arange(3), ("step",), "1"),
            "alone": io.Variable(np.asarray(2.5), ()),
        },
        {"kind": "test", "numbers": {"a": 1, "b": [1.5, None]}},
    )


def test_round_trip(tmp_path):
    io.write(tmp_path / "a.h5", dataset())
    read = io.read(tmp_path / "a.h5")
    for name, variable in dataset().variables.items():
        again = read.variables[name]
        assert again.dims == tuple(variable.dims)
        assert again.data.dtype == np.asarray(variable.data).dtype
        assert np.array_equal(again.data, variable.data)
        assert (again.units, again.long_name) == (variable.units, variable.long_name)
    assert read.attributes["kind"] == "test"


def test_complex_numbers_keep_every_bit(tmp_path):
    """The signs of zeros too, and infinities."""
    parts = [0.0, -0.0, np.inf, -np.inf, 1.5]
    numbers = np.array([[complex(x, y) for x in parts] for y in parts])
    io.write(tmp_path / "a.h5", io.Dataset({"psi": io.Variable(numbers, ("x", "y"))}, {}))
    assert io.read(tmp_path / "a.h5").variables["psi"].data.tobytes() == numbers.tobytes()


def test_xarray_reads_the_file(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    io.write(tmp_path / "a.h5", dataset())
    with xarray.open_dataset(tmp_path / "a.h5", engine="h5netcdf") as data:
        assert data["psi"].dims == ("x", "complex")
        assert data["history"].dims == ("step", "x", "complex")
        assert data["psi"].attrs["units"] == "a.u."
        np.testing.assert_allclose(data["x"].values, np.linspace(0, 1, 4))
        np.testing.assert_array_equal(data["count"].values, [0, 1, 2])
        assert "step" not in data.coords  # a dimension without coordinate values


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.h5"
    io.write(path, dataset())
    before = path.read_bytes()
    broken = dataset()
    broken.variables["more"] = io.Variable(np.zeros(7), ("x",))  # x has length 4
    with pytest.raises(ValueError, match="dimension x"):
        io.write(path, broken)
    with pytest.raises(RuntimeError, match="broken"), files.whole(path) as file:
        file.write(b"half")
        raise RuntimeError("broken off")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_unreadable_files_get_one_sentence(tmp_path):
    (tmp_path / "text.h5").write_text("no")
    with pytest.raises(zt.InputError, match="file: must be a readable result file"):
        io.read(tmp_path / "text.h5")
    with pytest.raises(zt.InputError, match="file: must exist"):
        zt.load(tmp_path / "missing.h5")
    io.write(tmp_path / "other.h5", dataset())
    with pytest.raises(zt.InputError, match="file: must be a zitter result"):
        zt.load(tmp_path / "other.h5")
    io.write(tmp_path / "half.h5", io.Dataset({}, {"kind": "eigenstates"}))
    with pytest.raises(zt.InputError, match="file: must be a whole zitter result"):
        zt.load(tmp_path / "half.h5")
    with h5py.File(tmp_path / "other.h5", "a") as file:
        file.create_group("energy")
    with pytest.raises(zt.InputError, match='file: must hold datasets only, but "energy" in'):
        zt.load(tmp_path / "other.h5")


def _info(text):
    return lambda file: file.attrs.__setitem__("info", text)


def _form_of_a_number(file):
    del file["objects/basis/form"]
    file["objects/basis/form"] = 3.0


@pytest.mark.parametrize(
    "damage",
    [
        _info("not JSON"),
        _info(5),
        _info("[1, 2]"),
        lambda file: file.__delitem__("x"),  # the scale of the states' axis
        lambda file: file.__setitem__("far", h5py.ExternalLink("/nowhere.h5", "/x")),
        _form_of_a_number,
    ],
)
def test_damaged_results_get_one_sentence(damage, tmp_path):
    path = tmp_path / "e.h5"
    zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid(16, 0.5)), 1).save(path)
    with h5py.File(path, "r+") as file:
        damage(file)
    with pytest.raises(zt.InputError, match="file: must be a"):
        zt.load(path)


@pytest.mark.parametrize("value", [0, "x", np.zeros((2, 2)), np.zeros(0)])
def test_dimensions_that_are_none(tmp_path, value):
    """HDF5's own reader of dimension scales would end the process."""
    io.write(tmp_path / "a.h5", dataset())
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["history"].attrs["DIMENSION_LIST"] = value
    with pytest.raises(zt.InputError, match="file: must be a readable result file"):
        io.read(tmp_path / "a.h5")


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Else a machine that loses its power may leave an empty file under it; and then the folder
    is, or the name may be gone."""
    calls = []

    class Told(files.Disk):
        def write(self, handle, data, offset):
            calls.append("write")
            return super().write(handle, data, offset)

        def sync(self, handle):
            calls.append("sync")
            super().sync(handle)

        def sync_folder(self, path):
            calls.append(path)
            super().sync_folder(path)

        def replace(self, source, target):
            calls.append("replace")
            super().replace(source, target)

    monkeypatch.setattr(files, "disk", Told())
    io.write(tmp_path / "x.h5", io.Dataset({"x": io.Variable(np.arange(3.0), ("x",))}, {}))
    assert "write" in calls and calls[-3:] == ["sync", "replace", tmp_path]


def test_a_file_that_ends_inside_its_checksum_is_damaged(tmp_path):
    io.write(tmp_path / "a.h5", dataset())
    contents = (tmp_path / "a.h5").read_bytes()
    trailer = 48
    for cut in range(1, trailer - 7):  # of fewer bytes of the mark nobody knows what they are
        (tmp_path / "b.h5").write_bytes(contents[:-cut])
        with pytest.raises(files.Damaged, match="is damaged"):
            files.verify(tmp_path / "b.h5")
    (tmp_path / "b.h5").write_bytes(contents[:-trailer])
    files.verify(tmp_path / "b.h5")  # as files without a checksum are
