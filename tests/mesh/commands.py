"""Command lines with a mesh, on two devices: what they said, and what they wrote."""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path

import zitter as zt
from zitter import cases, cli, config

CASE = """
[basis]
type = "Grid"
shape = 31
spacing = 0.4
[model]
terms = [{ type = "Kinetic", order = 4 }, { type = "Harmonic" }]
[eigenstates]
n = 2
basis_check = false
"""
PACKET = (
    CASE[: CASE.index("[eigenstates]")]
    + """
[initial]
type = "WavePacket"
[evolve]
t = [0, 0.1]
dt = 0.05
step_check = false
"""
)
GAS = """
[system]
type = "ElectronGas"
n = 2
rs = 5.0
[vmc]
walkers = 4096
blocks = 4
stride = 1
"""
SOLVER = "eigenstates.solver"


def main(folder: str, names: list[str]) -> dict:
    here = Path(folder)
    (here / "levels.toml").write_text(CASE, encoding="utf-8")
    (here / "packet.toml").write_text(PACKET, encoding="utf-8")
    levels, packet = str(here / "levels.toml"), str(here / "packet.toml")
    block = ["--mesh", "space=2", "--set"]
    waves = [*block, f"{SOLVER}={{type='LOBPCG'}}", "--set", "model.terms.0.order='spectral'"]
    commands = {
        "walkers": ("run", levels, "--mesh", "walkers=2"),
        "packet": ("run", packet, "--mesh", "batch=2"),
        "batch": ("run", levels, "--mesh", "batch=2", "--dry-run"),
        "waves": ("run", levels, *waves),
        "direct": ("run", levels, "--mesh", "space=2"),
        "one": ("run", levels),
        "LOBPCG": ("run", levels, *block, f"{SOLVER}={{type='LOBPCG'}}"),
        "ChebyshevFilter": ("run", levels, *block, f"{SOLVER}={{type='ChebyshevFilter'}}"),
        "alone": ("sweep", levels, "--over", "model.terms.1.frequency=1,2", "--mesh", "batch=2"),
        "together": ("sweep", packet, "--over", "initial.center=0,1", "--mesh", "batch=2"),
        "sweep": ("sweep", packet, "--over", "model.terms.1.frequency=1,2", "--mesh", "space=2"),
    }
    known: dict = {name: told(here, *commands[name]) for name in names if name in commands}
    if "gas" in names:
        known["gas"] = estimates_of_walkers(here)
    return known | ({"python": from_python()} if "python" in names else {})


def estimates_of_walkers(here: Path) -> list[dict]:
    """On one device and on two."""
    (here / "gas.toml").write_text(GAS, encoding="utf-8")
    found = []
    for mesh in ({}, {"walkers": 2}):
        zt.configure(mesh=mesh)
        facts = cases.read(config.read(here / "gas.toml")).estimate().facts
        found.append({"device_bytes": facts["device_bytes"], **facts["vmc"]})
    return found


def from_python() -> dict:
    """Levels, and a run that begins with one: warnings, and what the levels say of the mesh."""
    zt.configure(mesh={"space": 2})
    model = zt.Model([zt.Kinetic(order=4), zt.Harmonic()])
    H = zt.discretize(model, zt.Grid(31, 0.4))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        levels = zt.eigenstates(H, 2, zt.Direct())
        first = [str(warning.message) for warning in said]
        zt.Eigenstate(0, solver=zt.Direct()).on(H)
        return {"said": first, "later": len(said) - len(first), "info": levels.info["mesh_unused"]}


def told(here: Path, *arguments: str) -> dict:
    out, said = here / "out", io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = cli.status([*arguments, "--quiet", "--out", str(out)])
    found = {"status": code, "said": said.getvalue(), "written": out.exists()}
    if out.exists():
        result = zt.load(out)
        if isinstance(result, zt.Eigenstates):
            found["energies"] = result.energies.tolist()
        found["info"] = {key: str(value) for key, value in result.info.items()}
        out.rename(here / f"out-{len(list(here.iterdir()))}")
    return found
