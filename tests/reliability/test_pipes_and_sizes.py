"""Pipes where files are meant, terminals of other alphabets, and walkers that do not fit."""

from __future__ import annotations

import io
import math
import os
import sys

import pytest

import zitter as zt
from reliability.runs import CASES, LINE
from zitter import cli, files, runtime
from zitter.cases import physics
from zitter.qmc import sizes
from zitter.qmc.runs import Run

GAS = zt.qmc.SlaterJastrow(zt.qmc.ElectronGas(14, 2.0), [zt.qmc.U(order=4)])


def test_nobody_waits_for_a_pipe(tmp_path):
    """Opened for reading or writing it would hold a run, deaf to signals."""
    pipe = tmp_path / "log.txt"
    os.mkfifo(pipe)
    files.append(pipe, "a line\n")
    assert files.kept_text(pipe) == ""


def test_a_log_grows_by_lines(tmp_path):
    for line in ("one\n", "two\n"):
        files.append(tmp_path / "log.txt", line)
    assert (tmp_path / "log.txt").read_text() == "one\ntwo\n"


def test_a_terminal_that_does_not_know_a_character_gets_another(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    print("1…2 ψ", file=stream, flush=True)
    assert stream.buffer.getvalue().endswith("1?2 ?\n".encode("latin-1"))


def run_of(walkers: int) -> Run:
    return Run.checked(GAS, walkers, 10, (), 0, None, None, (), None, 30.0, False, False)


def test_walkers_are_judged_by_all_that_they_carry(monkeypatch):
    """Positions are a fifth of it: what did not fit was found out by the system, which killed."""
    monkeypatch.setattr(runtime, "memory_limit", lambda device=None: 2_000_000)
    with pytest.raises(zt.InputError, match=r"walkers: must fit the device's 1.91 MiB"):
        run_of(2000)  # 0.7 MB of positions
    run = run_of(500)
    with pytest.raises(zt.InputError, match="walkers: must fit"):  # with what moves need
        sizes.needs(run, "vmc", {})


def test_groups_of_walkers_tell_what_a_short_series_cannot():
    """Shorter than twice its correlations; half of such runs had no error bar, the rest a poor
    one."""
    trap = zt.qmc.SlaterJastrow(zt.qmc.Trap(frequency=1.0, width=0.8))
    found = zt.qmc.dmc(trap, 0.01, 256, 20, steps=2, seed=3).estimate()
    assert found.groups == 16
    # The spread of 60 seeds is 0.0127.
    assert 0.007 < found.error < 0.025 and math.isfinite(found.error_of_error)


@pytest.mark.parametrize("verb", ["run", "sweep"])
@pytest.mark.parametrize("out", ["", "n" * 300, "n/" * 2000])
def test_a_folder_that_cannot_be_one_is_refused(verb, out, tmp_path, monkeypatch, capsys):
    """An empty name was the folder we are in, one too long a failed run."""
    (tmp_path / "case.toml").write_text(CASES["evolve"])
    monkeypatch.chdir(tmp_path)
    assert cli.status([verb, "case.toml", "--out", out, "-q"]) == 2
    assert capsys.readouterr().err.startswith("error: --out: must ")
    assert [path.name for path in tmp_path.iterdir()] == ["case.toml"]


def test_a_dry_run_names_the_key_of_the_file(tmp_path, monkeypatch, capsys):
    def needs(run, verb, options):
        raise zt.InputError("walkers", "must fit")

    monkeypatch.setattr(sizes, "needs", needs)
    (tmp_path / "case.toml").write_text(CASES["vmc"])
    assert cli.status(["run", str(tmp_path / "case.toml"), "--dry-run"]) == 2
    assert "case.toml: vmc.walkers: must fit" in capsys.readouterr().err


def test_states_that_do_not_fit_are_refused_before_the_hamiltonian_is_made(
    tmp_path, monkeypatch, capsys
):
    """On 10⁸ points that alone takes longer than anybody waits for a dry run."""
    monkeypatch.setattr(runtime, "host_memory", lambda: 8 * 1024**3)
    monkeypatch.setattr(physics, "discretize", lambda *_: pytest.fail("H was made"))
    case = tmp_path / "case.toml"
    case.write_text(LINE.replace("31", "100_000_000") + "[eigenstates]\nn = 6\n")
    assert cli.status(["run", str(case), "--dry-run"]) == 2
    assert "eigenstates.n: must fit the device's" in capsys.readouterr().err
