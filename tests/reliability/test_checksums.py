"""Damaged files are recognized by their checksums; a damaged checkpoint has one before it."""

from __future__ import annotations

import warnings
from typing import Any

import h5py
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from reliability.disks import Killed, Killing, Watched, put
from reliability.runs import Run, same
from zitter import checkpoints, files, io, loop


def dataset(value: float = 1.0) -> io.Dataset:
    return io.Dataset({"x": io.Variable(np.full(1000, value), ("n",))}, {"kind": "test"})


def flip(path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 16
    path.write_bytes(data)


def test_every_flipped_bit_is_found(tmp_path):
    """In the numbers, where HDF5 alone would notice nothing, and elsewhere."""
    path = tmp_path / "a.h5"
    io.write(path, dataset())
    length = path.stat().st_size
    for place in range(0, length - 48, 97):
        flip(path, place)
        with pytest.raises(zt.InputError, match="file: must be as it was written"):
            io.read(path)
        flip(path, place)
    assert np.all(io.read(path).variables["x"].data == 1)


@pytest.mark.parametrize("left", [0, 1, 40, 600, 2000])
def test_files_that_were_cut(tmp_path, left):
    path = tmp_path / "a.h5"
    io.write(path, dataset())
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(zt.InputError, match="file: must be"):
        io.read(path)


def test_others_may_change_a_file(tmp_path):
    """HDF5 cuts the checksum off: the file counts as one without."""
    path = tmp_path / "a.h5"
    io.write(path, dataset())
    before = path.stat().st_size
    with h5py.File(path, "r+") as file:
        numbers: Any = file["x"]
        numbers[3] = 7.0
    assert path.stat().st_size == before - 48
    assert io.read(path).variables["x"].data[3] == 7


def test_what_is_no_file(tmp_path):
    with pytest.raises(zt.InputError, match="file: must be a file"):
        io.read(tmp_path)
    with pytest.raises(zt.InputError, match="file: must be a file"):
        io.read("/dev/zero")


def logistic(rate, x):
    x = rate * x * (1 - x)
    return x, {"x": x}


def driven(checkpoint, steps=40, resume=False, stop=None):
    def guard(state, done):
        return "stop" if stop is not None and done >= stop else None

    return loop.drive(
        logistic, jnp.float64(3.9), jnp.float64(0.3), steps, guard=guard, checkpoint=checkpoint,
        resume=resume, segment_seconds=1e-9,
    )  # fmt: skip


@pytest.fixture
def begun(tmp_path):
    """The checkpoint of a run that broke off after 8 of 40 steps, with the state at 7 before it."""
    checkpoint = loop.Checkpoint(tmp_path / "c", every=0)
    with pytest.raises(loop.Halted):
        driven(checkpoint, stop=9)
    return checkpoint


@pytest.mark.parametrize("damaged", ["state.h5", "records-000007.h5"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before_it(begun, damaged, tmp_path):
    whole = driven(None)
    path = begun.folder / damaged
    flip(path, path.stat().st_size // 2)
    with pytest.warns(UserWarning, match="the last checkpoint is damaged .* at step 7"):
        again = driven(begun, resume=True)
    assert again.resumed_at == 7
    np.testing.assert_array_equal(again.records["x"], whole.records["x"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        driven(begun, resume=True)


def test_a_damaged_state_does_not_become_the_one_before(tmp_path):
    """The next state that is damaged may be fallen back from as well."""
    folder, state = tmp_path / "c", jnp.float64(0.3)
    first = loop.Checkpoint(folder, every=0)
    with first.held():
        for done in (1, 2):
            first.save(done, state, 0, checkpoints.Piece({}, {}))
    path = folder / "state.h5"
    flip(path, path.stat().st_size // 2)
    second = loop.Checkpoint(folder, every=0)
    with second.held():
        with pytest.warns(UserWarning, match="damaged"):
            assert second.load(state)[0] == 1
        second.save(3, state, 0, checkpoints.Piece({}, {}))
    files.verify(folder / checkpoints.BEFORE)
    flip(path, path.stat().st_size // 2)
    third = loop.Checkpoint(folder, every=0)
    with third.held(), pytest.warns(UserWarning, match="damaged"):
        assert third.load(state)[0] == 1


@pytest.mark.parametrize("damaged", ["state*.h5", "records-000002.h5"])
def test_checkpoints_that_cannot_be_saved(begun, damaged):
    for path in begun.folder.glob(damaged):
        flip(path, path.stat().st_size // 2)
    with pytest.raises(zt.InputError, match="resume: must find a whole checkpoint, but that in"):
        driven(begun, resume=True)


def test_a_kill_between_two_names_of_a_state(begun):
    """The old state has got its new name, the new one not yet."""
    begun.folder.joinpath("state.h5").unlink()
    again = driven(begun, resume=True)
    assert again.resumed_at == 7


def test_a_damaged_checkpoint_of_a_run(tmp_path, capsys):
    """As a user sees it: a warning, and the same bits."""
    whole, run = Run("vmc", tmp_path / "whole"), Run("vmc", tmp_path / "damaged")
    watched = Watched()
    with put(watched):
        assert whole.status() == 0
    result = next(k for k, call in enumerate(watched.calls) if "result.h5" in call[1])
    with put(Killing(result)), pytest.raises(Killed):
        run.status()
    state = run.out / "checkpoint" / "vmc" / "state.h5"
    flip(state, state.stat().st_size // 2)
    capsys.readouterr()
    assert run.status("--resume") == 0
    assert "warning: the last checkpoint is damaged" in capsys.readouterr().err
    assert same(run.numbers(), whole.numbers())


def test_a_damaged_initial_state_is_computed_again(tmp_path, capsys):
    """Of a run that has a state and all records: nothing but checks of the run look back to it."""
    whole, run = Run("evolve", tmp_path / "whole"), Run("evolve", tmp_path / "run")
    assert whole.status() == 0
    watched = Watched()
    with put(watched), pytest.raises(Killed):
        files.disk = Killing(120)
        run.status()
    assert (run.out / "checkpoint" / "state.h5").exists()
    initial = run.out / "checkpoint" / "initial.h5"
    flip(initial, initial.stat().st_size // 2)
    assert run.status("--resume") == 0
    assert "the initial state in the checkpoint is damaged" in capsys.readouterr().err
    assert same(run.numbers(), whole.numbers())


def test_the_step_is_told_that_a_damaged_checkpoint_falls_back_to(begun):
    """Not the number of records, of which one may stand for many steps."""
    path = begun.folder / "state.h5"
    flip(path, path.stat().st_size // 2)
    with pytest.warns(UserWarning, match="at step 700"):
        begun.load(jnp.float64(0.0), 100)
