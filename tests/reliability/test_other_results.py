"""`--resume` in a folder that holds a finished result: of this run, or of another."""

from __future__ import annotations

from reliability.runs import Run


def test_a_result_in_another_precision(tmp_path, capsys):
    run = Run("evolve", tmp_path)
    assert run.status() == 0
    assert run.status("--resume", "--precision", "single") == 2
    told = capsys.readouterr().err
    assert "was computed in double precision, and single is asked for" in told
    assert run.status("--resume") == 0


def test_walks_in_single_precision(tmp_path, capsys):
    """TF32 is single precision to them: such a result is its own."""
    run = Run("vmc", tmp_path)
    assert run.status("--precision", "single") == 0
    assert run.status("--resume", "--precision", "single") == 0
    assert run.status("--resume", "--precision", "double") == 2
    assert "computed in single precision, and double" in capsys.readouterr().err


def test_the_result_of_a_sweep(tmp_path, capsys):
    sweep, run = Run("sweep", tmp_path), Run("evolve", tmp_path)
    assert sweep.status() == 0
    assert run.status("--resume") == 2
    told = capsys.readouterr().err
    assert "--resume: must find a result of this kind (evolution), but" in told
    assert "holds: sweep" in told
