"""What is in the files that an input names is part of it: other content is another run."""

from __future__ import annotations

import numpy as np
import pytest

from reliability.disks import Killed, Killing, put
from reliability.runs import Run
from zitter import config, sweeps

WELL = '{ type = "Potential", file = "well.npy" }'


def well(run: Run, depth: float) -> None:
    np.save(run.folder / "well.npy", -depth / np.cosh(np.linspace(-7.5, 7.5, 31)) ** 2)


@pytest.fixture
def evolution(tmp_path) -> Run:
    run = Run("evolve", tmp_path)
    run.command()
    case = tmp_path / "case.toml"
    case.write_text(case.read_text().replace('{ type = "SoftCoulomb", Z = 1 }', WELL))
    well(run, 1.0)
    return run


def test_a_stopped_run_goes_on_with_the_same_potential_only(evolution, capsys):
    with put(Killing(120)), pytest.raises(Killed):
        evolution.status()
    well(evolution, 2.0)
    assert evolution.status("--resume") == 2
    assert "--resume: must continue the same run" in capsys.readouterr().err
    well(evolution, 1.0)
    assert evolution.status("--resume") == 0


def test_a_run_is_extended_with_the_same_potential_only(evolution, capsys):
    assert evolution.status("--keep-checkpoint") == 0
    well(evolution, 2.0)
    farther = ("--extend", "--set", "evolve.t=[0, 4.125]")
    assert evolution.status(*farther) == 2
    assert "--extend: must change nothing but how far" in capsys.readouterr().err
    well(evolution, 1.0)
    assert evolution.status(*farther) == 0


def test_an_item_with_other_parameters_is_another_one(tmp_path):
    """`wavefunction.parameters` names a file as `file` does elsewhere."""
    run = Run("optimize", tmp_path)
    run.command()
    case = tmp_path / "case.toml"
    case.write_text(case.read_text() + "[vmc]\nwalkers = 8\nblocks = 4\n")
    axes, settings = [sweeps.Axis("vmc.seed", (1,))], ["wavefunction.parameters=jastrow.h5"]
    names = []
    for content in (b"one", b"other", b"one"):
        (tmp_path / "jastrow.h5").write_bytes(content)
        names.append(sweeps.laid_out(case, settings, axes)[0].name)
    assert names[0] == names[2] != names[1]


@pytest.mark.parametrize("name", ["none.npy", "a\0b", "x" * 5000, "."])
def test_a_file_that_is_none_has_no_content(tmp_path, name):
    document = config.parse("", folder=tmp_path)
    document.table["model"] = {"terms": [{"file": name}]}
    assert document.contents == {}


def test_pseudopotentials_are_files_as_well(tmp_path):
    (tmp_path / "c.upf").write_bytes(b"one")
    text = '[wavefunction]\npseudopotentials = { C = "c.upf" }'
    before = config.parse(text, folder=tmp_path).contents
    (tmp_path / "c.upf").write_bytes(b"other")
    assert set(before) == {"c.upf"} and before != config.parse(text, folder=tmp_path).contents
