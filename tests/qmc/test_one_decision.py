"""What one process decides is what all do, though their LAPACK gives each other last bits."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter import processes, qmc, runtime
from zitter.qmc.optimizers.judging import chosen_step, gain_over
from zitter.qmc.optimizers.source import Source
from zitter.qmc.optimizers.tables import tabulate
from zitter.qmc.optimizers.verdicts import iteration


@pytest.fixture(scope="module")
def now():
    zt.configure()
    gas = qmc.ElectronGas(n=2, rs=5.0)
    psi = qmc.SlaterJastrow(gas, jastrow=[qmc.U(order=3)])
    return Source(psi, 16, 8, 1, 0, False).sampled(psi, 1, "sampling")


def other_lapack(monkeypatch):
    """Eigenvectors with other signs, and last bits that differ."""
    eigh, eig, solve = np.linalg.eigh, np.linalg.eig, np.linalg.solve
    monkeypatch.setattr(np.linalg, "eigh", lambda m: (eigh(m)[0] * (1 + 1e-7), -eigh(m)[1]))
    monkeypatch.setattr(np.linalg, "eig", lambda m: (eig(m)[0], eig(m)[1] * (1 + 1e-7j)))
    monkeypatch.setattr(np.linalg, "solve", lambda m, v: solve(m, v) * (1 + 1e-7))


def decided(now, method):
    step = chosen_step(now, method, tabulate(now.psi, now.draws))
    gain, told = gain_over(step + 0.01, now, method), iteration(now, 1)
    return [*step, *gain, told.energy, told.error, told.variance]


@pytest.mark.parametrize(
    "method", [qmc.LinearMethod(), qmc.StochasticReconfiguration(), qmc.VarianceMinimization()]
)
def test_steps_are_those_of_the_first_process(now, method, monkeypatch):
    said: list[np.ndarray] = []

    def speak(array):
        said.append(np.array(array))
        return said[-1]

    def hear(array):
        assert np.shape(array) == said[0].shape
        return said.pop(0)

    monkeypatch.setattr(runtime, "of_first", speak)
    first = decided(now, method)
    other_lapack(monkeypatch)
    monkeypatch.setattr(runtime, "of_first", hear)
    assert decided(now, method) == first
    assert not said


def test_values_of_the_first_process_come_in_portions(monkeypatch):
    from jax.experimental import multihost_utils

    sent = []

    def broadcast(array):
        sent.append(array.nbytes)
        return array + 1

    monkeypatch.setattr(processes, "count", lambda: 2)
    monkeypatch.setattr(runtime, "PORTION", 64)
    monkeypatch.setattr(multihost_utils, "broadcast_one_to_all", broadcast)
    own = np.arange(30.0).reshape(5, 6)
    np.testing.assert_array_equal(runtime.of_first(own), own + 1)
    assert max(sent) == 64 and len(sent) == 4
