"""Eigensolvers and optimizations that are stopped and go on to the same bits."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import zitter as zt
from zitter import loop
from zitter.rounds import Rounds

H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb(1.0)]), zt.Grid((20, 20), 0.6))
SOLVERS = {
    "LOBPCG": zt.LOBPCG(tol=1e-10),
    "ChebyshevFilter": zt.ChebyshevFilter(tol=1e-9, degree=10),
    "ImaginaryTime": zt.ImaginaryTime(tol=1e-5, check_every=10),
    "energy": zt.ImaginaryTime(tol=1e-9, check_every=10, stop="energy"),
}


def stop_after(monkeypatch, rounds: int, signals: int = signal.SIGTERM) -> None:
    """A signal comes in round number `rounds`."""
    keep = Rounds.keep

    def asked(self, done, state, **record):
        if done == rounds:
            os.kill(os.getpid(), signals)
        keep(self, done, state, **record)

    monkeypatch.setattr(Rounds, "keep", asked)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", SOLVERS)
def test_eigenstates_are_stopped_and_go_on(name, number, tmp_path, monkeypatch):
    solver, folder = SOLVERS[name], tmp_path / "rounds"
    before = signal.signal(number, signal.SIG_DFL)  # tests may run under nohup
    whole = zt.eigenstates(H, 2, solver)
    with monkeypatch.context() as patch:
        stop_after(patch, 3, number)
        with pytest.raises(
            loop.Interrupted, match=r"stopped after 3 rounds on request\. The state"
        ):
            zt.eigenstates(H, 2, solver, checkpoint=folder)
    signal.signal(number, before)
    with monkeypatch.context() as patch:  # it does not begin anew
        stop_after(patch, 1)
        again = zt.eigenstates(H, 2, solver, checkpoint=folder, resume=True)
    assert np.asarray(again.states).tobytes() == np.asarray(whole.states).tobytes()
    assert again.energies.tobytes() == whole.energies.tobytes()
    for key in ("residual_history", "iterations", "applications", "updates", "energy_history"):
        assert again.info.get(key) == whole.info.get(key)


def test_a_checkpoint_belongs_to_one_problem(tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(loop.Interrupted):
        stop_after(patch, 2)
        zt.eigenstates(H, 2, SOLVERS["LOBPCG"], checkpoint=tmp_path)
    with pytest.raises(zt.InputError, match="resume: must continue the same run"):
        zt.eigenstates(H, 2, zt.LOBPCG(tol=1e-7), checkpoint=tmp_path, resume=True)


def test_direct_solvers_begin_anew(tmp_path):
    zt.eigenstates(H, 2, zt.Direct(), checkpoint=tmp_path / "none", resume=True)
    assert not (tmp_path / "none").exists()


def test_a_solver_that_gives_up_leaves_where_it_was(tmp_path):
    """With more iterations it is another run, but its state may serve to look at."""
    with pytest.raises(zt.RunError, match="max_iterations = 3"):
        zt.eigenstates(H, 2, zt.LOBPCG(tol=1e-10, max_iterations=3), checkpoint=tmp_path)
    assert (tmp_path / "state.h5").exists()


@pytest.mark.parametrize("stopped", [1, 2])
def test_an_optimization_is_stopped_and_goes_on(stopped, tmp_path, monkeypatch):
    gas = zt.qmc.ElectronGas(2, 2.0)
    psi = zt.qmc.SlaterJastrow(gas, [zt.qmc.U(order=2)])
    options = {"method": zt.qmc.LinearMethod(iterations=3), "walkers": 8, "draws": 4}
    whole = zt.qmc.optimize(psi, **options)
    with monkeypatch.context() as patch:
        stop_after(patch, stopped)
        with pytest.raises(loop.Interrupted, match=f"stopped after {stopped} rounds on request"):
            zt.qmc.optimize(psi, **options, checkpoint=tmp_path)
    again = zt.qmc.optimize(psi, **options, checkpoint=tmp_path, resume=True)
    assert len(again.history) == len(whole.history) and again.verdict == whole.verdict
    for one, other in zip(again.history, whole.history, strict=True):
        np.testing.assert_array_equal(one.parameters, other.parameters)
        assert (one.energy, one.error, one.variance) == (other.energy, other.error, other.variance)
    np.testing.assert_array_equal(again.wavefunction.parameters, whole.wavefunction.parameters)
