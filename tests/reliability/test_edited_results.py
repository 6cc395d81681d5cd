"""Results that another program has changed: whole, or refused in one sentence."""

from __future__ import annotations

import json
import shutil

import h5py
import numpy as np
import pytest

from command_line import zitter
from reliability.runs import Run


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One of each kind, made once."""
    made = {}
    for kind in ("evolve", "eigenstates", "sweep", "vmc"):
        run = Run(kind, tmp_path_factory.mktemp(kind))
        assert run.status() == 0
        made[kind] = run.out / "result.h5"
    return made


def told(key, value):
    """An edit of `info`."""

    def edit(file):
        info = json.loads(file.attrs["info"])
        file.attrs["info"] = json.dumps(info | {key: value})

    return edit


def put(name, value):
    def edit(file):
        del file[name]
        if value is not None:
            file[name] = value

    return edit


@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("eigenstates", told("error_bounds", -1)),
        ("eigenstates", told("basis_errors", [])),
        ("eigenstates", put("energies", np.zeros((2, 2)))),
        ("eigenstates", put("energies", np.bytes_(b"abc"))),
        ("evolve", put("time", 5.0)),
        ("evolve", put("time", np.zeros(0))),
        ("vmc", put("variance", None)),
        ("vmc", put("energy", None)),
        ("vmc", put("energy", np.zeros(3))),
        ("sweep", put("final_time", 5.0)),
        ("sweep", put("final_time", np.bytes_(b"abc"))),
        ("sweep", put("done", np.zeros(0))),
    ],
)
def test_what_does_not_fit_is_refused(results, kind, edit, tmp_path, capsys):
    path = tmp_path / "edited.h5"
    shutil.copy(results[kind], path)
    with h5py.File(path, "r+") as file:
        edit(file)
    for command in (["show", path, "--json"], ["plot", path, "-o", tmp_path / "x.png"]):
        code, out, err = zitter(capsys, *command)
        assert code == 2 and not out
        assert (
            err.startswith("error: file: must be a whole zitter result, but") and str(path) in err
        )


@pytest.mark.parametrize("kind", ["evolve", "eigenstates", "sweep", "vmc"])
def test_a_note_of_ones_own_does_no_harm(results, kind, tmp_path, capsys):
    path = tmp_path / "noted.h5"
    shutil.copy(results[kind], path)
    with h5py.File(path, "r+") as file:
        file.attrs["note"] = "for figure 3"
    assert zitter(capsys, "show", path)[0] == 0
    assert zitter(capsys, "plot", path, "-o", tmp_path / "x.png")[0] == 0
