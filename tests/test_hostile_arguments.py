"""Public functions with each argument wrong in turn: a sentence, no error from inside."""

# What is wrong here is meant to be.
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import zitter as zt

WRONG: tuple[Any, ...] = (None, 3, "x", [], float("nan"))
H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(31, 0.5))
PULSE = zt.SineSquared(cycles=1, frequency=0.5, amplitude=0.01)
GAS = zt.qmc.ElectronGas(2, rs=2.0)
PSI = zt.qmc.SlaterJastrow(GAS, jastrow=[zt.qmc.U(order=2)])
# Beside one wrong argument the others are right, where that is needed to come to the wrong one.
RIGHT: dict[str, dict[str, Any]] = {
    "evolve": {"H": H, "psi0": np.ones(31), "t": (0, 0.1), "dt": 0.1},
    "eigenstates": {"H": H},
    "vmc": {"psi": PSI, "walkers": 4, "blocks": 2, "stride": 1, "equilibration": 1},
    "scan": {"run": lambda x: x, "x": [1.0]},
    "coulomb_phase": {"l": 1, "energy": 0.5},
    "focal_average": {"intensities": [1.0, 2.0, 3.0], "values": [1.0, 2.0, 3.0]},
    "harmonic_spectrum": {
        "times": np.arange(20.0), "signal": np.sin(np.arange(20.0)), "fundamental": 0.5,
    },
    "along_axis": {"pz": np.arange(3.0), "curves": {"a": np.ones(3)}},
    "convergence": {"curves": {"a": ([1.0, 2.0], [0.1, 0.2])}},
    "bound_states": {"l": np.arange(2), "energies": -np.ones(2), "populations": np.ones(2)},
    "pulse": {"field": PULSE},
    "reblock": {"series": np.arange(8.0)},
    "autocorrelation_time": {"series": np.arange(8.0)},
    "equilibration": {"series": np.arange(8.0)},
    "madelung": {"cell": GAS.cell},
    "extrapolate": {"timesteps": [0.1, 0.2], "energies": [1.0, 2.0], "errors": [0.1, 0.1]},
    "write_cube": {"path": "/dev/null/x", "values": np.ones((2, 2, 2)), "axes": [[0, 1]] * 3},
    "photoelectron_spectrum": {"basis": H.basis, "psi": np.ones(31)},
    "control": {"objective": lambda pulse: 1.0, "pulse": PULSE},
    "energy_errors": {"model": H.model, "grid": H.basis, "eig": None},
}  # fmt: skip


def offered() -> Iterator[tuple[str, Any]]:
    for module in (zt, zt.qmc, zt.spectra, zt.plot, zt.units):
        for name in module.__all__:
            item = getattr(module, name)
            error = inspect.isclass(item) and issubclass(item, Exception)
            if callable(item) and not inspect.isabstract(item) and not error:
                yield f"{module.__name__}.{name}", item


OFFERED = dict(offered())


def calls(name: str, item: Any) -> Iterator[dict[str, Any]]:
    """All required arguments wrong, each of the others wrong beside them; each of all wrong beside
    right ones."""
    parameters = inspect.signature(item).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    needed = [p.name for p in named if p.default is p.empty]
    right = RIGHT.get(name.rpartition(".")[2])
    for wrong in WRONG:
        yield dict.fromkeys(needed, wrong)
        for p in named:
            if p.name not in needed:
                yield dict.fromkeys([*needed, p.name], wrong)
            if right is not None:
                yield right | {p.name: wrong}


@pytest.mark.parametrize("name", OFFERED)
def test_nothing_raw_comes_from_inside(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some take "x" for the name of a file
    item = OFFERED[name]
    for call in calls(name, item):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                item(**call)
            except zt.ZitterError as error:
                assert "must" in str(error), (call, error)
            except ValueError as error:  # of `units`, which knows nothing of ours
                assert "must" in str(error) and "units" in name, (call, error)
            except Exception as error:
                pytest.fail(f"{name}({call}) raised {error!r}")
