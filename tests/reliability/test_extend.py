"""`--extend`: more blocks, a later end, more iterations, as if they had been asked for at once."""

from __future__ import annotations

import pytest

from marks import slow
from reliability.disks import Killed, Killing, Watched, put
from reliability.runs import Run, same

FARTHER = {
    "evolve": "evolve.t=[0, 4.125]",
    "eigenstates": "eigenstates.solver.max_iterations=100",
    "vmc": "vmc.blocks=30",
    "optimize": "optimize.method.iterations=4",
    "dmc": "dmc.blocks=30",
}


@pytest.mark.parametrize(
    "kind", [slow(k) if k in ("eigenstates", "optimize", "dmc") else k for k in FARTHER]
)
def test_a_run_is_extended(kind, tmp_path, capsys):
    run, farther = Run(kind, tmp_path / "run"), ("--set", FARTHER[kind])
    if kind == "eigenstates":  # one that gave up is not finished
        few = ("--set", "eigenstates.solver.max_iterations=3")
        assert run.status(*few) == 1
        assert "stopped at max_iterations = 3" in capsys.readouterr().err
    else:
        assert run.status("--keep-checkpoint") == 0
        assert run.status("--resume") == 0  # which does not remove it
        assert (run.out / "checkpoint").is_dir()
        assert run.status("--resume", *farther) == 2
        assert "belongs to a different input" in capsys.readouterr().err
    assert run.status("--extend", *farther) == 0, capsys.readouterr().err
    assert not run.leftovers()
    whole = Run(kind, tmp_path / "whole")
    assert whole.status(*farther) == 0
    assert same(run.numbers(), whole.numbers())


def test_records_stay_as_far_apart(tmp_path, capsys):
    """From 1000 steps to 2500, of which a run at once would record every second one."""
    few = ("--set", "evolve.t=[0, 100]", "--set", "evolve.dt=0.1")
    case = Run("evolve", tmp_path / "run")
    case.command()
    text = (case.folder / "case.toml").read_text().replace("save_every = 2\n", "")
    (case.folder / "case.toml").write_text(text)
    assert case.status(*few, "--keep-checkpoint") == 0
    many = ("--set", "evolve.t=[0, 250]", "--set", "evolve.dt=0.1")
    watched = Watched()
    with put(Killing(3)), pytest.raises(Killed):
        case.status("--extend", *many)
    with put(watched):
        assert case.status("--extend", *many) == 0, capsys.readouterr().err
    numbers = case.numbers()
    assert len(numbers["time"]) == 2501
    whole = Run("evolve", tmp_path / "whole")
    assert whole.status(*many, "--set", "evolve.save_every=1") == 0
    assert same(numbers, whole.numbers())


def test_another_step_is_another_run(tmp_path, capsys):
    run = Run("evolve", tmp_path)
    assert run.status("--keep-checkpoint") == 0
    assert run.status("--extend", "--set", "evolve.dt=0.0625") == 2
    assert 'begin a new run at its end, initial.type = "Stored"' in capsys.readouterr().err


def test_a_killed_extension_goes_on(tmp_path, capsys):
    whole = Run("vmc", tmp_path / "whole")
    assert whole.status("--set", "vmc.blocks=30") == 0
    run, farther = Run("vmc", tmp_path / "run"), ("--set", "vmc.blocks=30")
    assert run.status("--keep-checkpoint") == 0
    watched = Watched()
    with put(Killing(100)), pytest.raises(Killed):
        run.status("--extend", *farther)
    assert run.status("--resume") == 0  # the run before it, which has its result
    with put(watched):
        assert run.status("--resume", *farther) == 0
    assert same(run.numbers(), whole.numbers())


def test_extensions_that_are_refused(tmp_path, capsys):
    run = Run("vmc", tmp_path)
    assert run.status("--extend") == 2
    assert "--extend: must find the checkpoint of a run" in capsys.readouterr().err
    assert run.status("--keep-checkpoint") == 0
    for more in ("vmc.seed=5", "vmc.walkers=8"):
        assert run.status("--extend", "--set", more) == 2
        assert "--extend: must change nothing but how far" in capsys.readouterr().err
    assert run.status("--extend", "--set", "vmc.blocks=10") == 2
    assert "--extend: must go on to a later end than step " in capsys.readouterr().err
    assert run.status("--extend", "--overwrite") == 2
    assert run.status("--resume") == 0


def test_a_refused_extension_changes_nothing(tmp_path, capsys):
    """Of a run that was killed, and so has no result beside its checkpoint."""
    whole, run = Run("evolve", tmp_path / "whole"), Run("evolve", tmp_path / "run")
    assert whole.status() == 0
    with put(Killing(120)), pytest.raises(Killed):
        run.status()
    files = {p: p.read_bytes() for p in (run.out / "checkpoint").rglob("[!.]*") if p.is_file()}
    assert run.status("--extend", "--set", "evolve.t=[0, 0.25]") == 2
    told = capsys.readouterr().err
    assert "--extend: must go on to a later end than step 2, but" in told
    assert {p: p.read_bytes() for p in files} == files
    assert run.status("--resume") == 0, capsys.readouterr().err
    assert same(run.numbers(), whole.numbers())
