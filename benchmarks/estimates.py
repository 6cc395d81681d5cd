"""How close does `--dry-run` come to the memory and the time that a run really takes?

For every propagator, eigensolver and kind of Monte Carlo a case that needs a few hundred MB: what
its dry run says, and what a run of its own process then took. Memory is the largest resident set
above that of a run of the same kind that has next to nothing to do (the interpreter, its libraries
and compiled programs), the least of two; time is that of the process, less the time of that small
run: the median of two such pairs. On a GPU cases are larger; memory is the most that the device had
in use in the first run of a process, and time that of two more, with other numbers; direct solvers,
which work on the host, are left out there.

    python benchmarks/estimates.py --json FILE [--only WORD …] [--part 0 --of 3] [--jobs 1]

A program compiled by the dry run is not compiled again. Times want a machine without other work;
with `--part` others may do the rest of the cases, and on a GPU with `--jobs` this program.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
MB = 1e6


def grid(shape: Any, spacing: float, kinetic: str, more: str = "") -> str:
    """A well whose depth follows a pulse of light, on a grid."""
    return f"""
[basis]
type = "Grid"
shape = {shape}
spacing = {spacing}
[model]
terms = [{kinetic}, {{ type = "SoftCoulomb", softening = 2.0 }}{more}]
"""


SPECTRAL, DIFFERENCES = '"Kinetic"', '{ type = "Kinetic", order = 8 }'
LIGHT = ', { type = "LengthGauge", pulse = "laser" }'
LASER = """
[laser]
type = "SineSquared"
amplitude = 0.05
frequency = 0.5
cycles = 2
"""
PACKET = '[initial]\ntype = "WavePacket"\nwidth = 2.0\n'


def evolve(method: str, steps: int, dt: float, more: str = "") -> str:
    return f"[evolve]\nt = [0, {steps * dt!r}]\ndt = {dt}\npropagator = {method}\n{more}\n"


def levels(solver: str, n: int = 1) -> str:
    return f"[eigenstates]\nn = {n}\nsolver = {solver}\n"


CUBE = grid([128, 128, 128], 0.4, SPECTRAL, LIGHT) + LASER + PACKET
# For methods that hold few states.
LARGE = CUBE.replace("128", "192")
STEPS = grid([192, 192, 192], 0.4, DIFFERENCES, LIGHT) + LASER + PACKET
# Of wider bands the program grows with the number of points, and would count as memory of the run.
LINE = grid(3_000_000, 0.1, '{ type = "Kinetic", order = 2 }', LIGHT) + LASER + PACKET
ATOM = (
    """
[basis]
type = "SphericalBasis"
radial = { type = "RadialBSplines", n = 2000, degree = 7, rmax = 400 }
lmax = 80
[model]
terms = ["Kinetic", { type = "Coulomb", Z = 1 }, { type = "LengthGauge", pulse = "laser" }]
"""
    + LASER
)
MOLECULE = (
    """
[basis]
type = "ProlateSpheroidal"
R = 2.0
rmax = 600
eta = 1200
[model]
terms = ["Kinetic", { type = "Coulomb", Z = [1, 1], centers = [[0, 0, -1], [0, 0, 1]] },
  { type = "LengthGauge", pulse = "laser" }]
"""
    + LASER
)
SPINOR = """
[basis]
type = "SpinorBasis"
radial = { type = "RadialBSplines", n = 400, degree = 7, rmax = 60 }
kappa_max = 20
[model]
terms = ["Dirac", { type = "Coulomb", Z = 1 }, { type = "DiracLight", pulse = "laser", lmax = 4 }]
[laser]
type = "SineSquared"
amplitude = 60
frequency = 20
cycles = 2
polarization = "x"
"""
GAS = """
[system]
type = "ElectronGas"
n = 54
rs = 2.0
[wavefunction]
jastrow = [{ type = "U", order = 6 }, { type = "P", stars = 4 }]
"""
CARBON = f"""
[wavefunction]
type = "from_pyscf"
file = "{EXAMPLES / "carbon-atom.chk"}"
pseudopotentials = "ccecp"
jastrow = [{{ type = "U", order = 6 }}, {{ type = "Chi", order = 6 }}]
"""

CASES = {
    "Lanczos": CUBE + evolve('"Lanczos"', 4, 0.05),
    "Lanczos, from its ground state": CUBE.replace(PACKET, "") + evolve('"Lanczos"', 4, 0.05),
    "Lanczos, single": 'precision = "single"\n' + LARGE + evolve('"Lanczos"', 4, 0.05),
    "SplitOperator, with states": CUBE.replace("128", "48")
    + evolve('"SplitOperator"', 200, 0.05, "save_states = true\nsave_every = 1"),
    "Taylor": LARGE + evolve('"Taylor"', 4, 0.01),
    "Chebyshev": LARGE + evolve('"Chebyshev"', 4, 0.05),
    "SplitOperator": LARGE + evolve('"SplitOperator"', 8, 0.05),
    "MatrixExponential": grid(2600, 0.1, SPECTRAL, LIGHT)
    + LASER + PACKET + evolve('"MatrixExponential"', 4, 0.01),
    "CrankNicolson": LINE + evolve('"CrankNicolson"', 20, 0.02),
    "GaussCollocation": LINE.replace("3000000", "1000000") + evolve('"GaussCollocation"', 6, 0.02),
    "RungeKutta4": STEPS + evolve('"RungeKutta4"', 6, 0.005),
    "RungeKuttaFehlberg45": STEPS + evolve('"RungeKuttaFehlberg45"', 4, 0.005),
    "AngularSplit, splines": ATOM + evolve('"AngularSplit"', 100, 0.05),
    "CrankNicolson, splines": ATOM + evolve('"CrankNicolson"', 20, 0.05),
    "GaussCollocation, splines": ATOM.replace("lmax = 80", "lmax = 40")
    + evolve('"GaussCollocation"', 10, 0.05),
    "AngularSplit, spheroidal": MOLECULE + evolve('"AngularSplit"', 100, 0.05),
    "CrankNicolson, spheroidal": MOLECULE + evolve('"CrankNicolson"', 40, 0.05),
    "GaussCollocation, spinors": SPINOR + evolve('"GaussCollocation"', 6, 0.006),
    "SplineCrankNicolson, spinors": SPINOR + evolve('"SplineCrankNicolson"', 10, 0.003),
    "observables": CUBE
    + evolve('"SplitOperator"', 8, 0.05,
        'save_every = 1\nobservables = ["Energy", "Dipole", "Norm", "Acceleration",'
        '{ type = "Populations", n = 3 }, { type = "Density", every = 2 }]'),
    "InstantaneousPopulations": grid(5000, 0.1, SPECTRAL, LIGHT) + LASER + PACKET
    + evolve('"SplitOperator"', 8, 0.01,
        'save_every = 4\nobservables = [{ type = "InstantaneousPopulations", n = 4 }]'),
    "LOBPCG": grid([112, 112, 112], 0.6, SPECTRAL) + levels('"LOBPCG"', 8),
    "ChebyshevFilter": grid([96, 96, 96], 0.6, DIFFERENCES)
    + levels('{ type = "ChebyshevFilter", tol = 1e-4 }', 12),
    "ImaginaryTime": grid([128, 128, 128], 0.4, DIFFERENCES)
    + levels('{ type = "ImaginaryTime", tol = 1e-3 }'),
    "Direct, dense": grid([90, 90], 0.4, SPECTRAL) + levels('"Direct"', 4),
    "Direct, near": grid([32, 32, 32], 0.5, DIFFERENCES)
    + levels('{ type = "Direct", near = -0.1 }', 2),
    "vmc": GAS + "[vmc]\nwalkers = 12288\nblocks = 6\nstride = 2\nequilibration = 10\n",
    "dmc": GAS
    + "[dmc]\nwalkers = 8192\nblocks = 4\nsteps = 2\nequilibration = 2\ntimestep = 0.05\n",
    "optimize": GAS + '[optimize]\nmethod = { type = "LinearMethod", iterations = 2 }\n'
    "walkers = 1024\ndraws = 4\n",
    "optimize, variance": GAS + '[optimize]\n'
    'method = { type = "VarianceMinimization", iterations = 2 }\nwalkers = 4096\ndraws = 4\n',
    "vmc, pseudopotential": CARBON
    + "[vmc]\nwalkers = 262144\nblocks = 4\nstride = 2\nequilibration = 10\n",
}  # fmt: skip
# The same with next to nothing to do: what the interpreter, its libraries and programs take.
SMALLER = {
    r"shape = \[[0-9, ]+\]": lambda m: re.sub(r"\d+", "12", m[0]),
    r"shape = \d+": "shape = 40",
    # Enough for several chunks of unknowns: factors of one alone are another, smaller program.
    r"n = \d+, degree = 7, rmax = \d+": "n = 60, degree = 7, rmax = 20",
    r"lmax = \d+\n": "lmax = 3\n",
    # With as many classes of |μ| as there can be, so that the program is the same one.
    r"kappa_max = \d+": "kappa_max = 8",
    r"rmax = 600\neta = \d+": "rmax = 15\neta = 10",
    r"walkers = \d+": "walkers = 4",
    r"blocks = \d+": "blocks = 4",
    r"t = \[0, .*\]\ndt = (.*)": lambda m: f"t = [0, {4 * float(m[1])}]\ndt = {m[1]}",
}

# What a GPU does in seconds.
LARGER = {
    r"shape = \[(128|192), .*\]": "shape = [256, 256, 256]",
    r"shape = \[(96|112), .*\]": "shape = [160, 160, 160]",
    r"n = 2000, degree": "n = 4000, degree",
    r"walkers = (\d+)": lambda m: f"walkers = {8 * int(m[1])}",
    r"t = \[0, (.*)\]": lambda m: f"t = [0, {4 * float(m[1])!r}]",
}
# Another run by the same programs, of which nothing is known already.
OTHER = {
    r"softening = 2.0": lambda m: f"softening = {2 + random.random() / 10}",
    r"Z = 1 ": lambda m: f"Z = {1 + random.random() / 100} ",
    r"Z = \[1, 1\]": lambda m: f"Z = [1, {1 + random.random() / 100}]",
    r"\[vmc\]": lambda m: f"[vmc]\nseed = {random.randrange(10**6)}",
    r"rs = 2.0": lambda m: f"rs = {2 + random.random() / 10}",
}


def changed(case: str, patterns: dict[str, Any]) -> str:
    for pattern, other in patterns.items():
        case = re.sub(pattern, other, case)
    return case


def small(case: str) -> str:
    return changed(case, SMALLER)


class Spent:
    """What a process took, and the JSON object it ended with."""

    def __init__(self, folder: Path, case: str, *options: str):
        file = folder / "case.toml"
        file.write_text(case, encoding="utf-8")
        command = [sys.executable, "-m", "zitter", "run", str(file), "--json", *options]
        with (folder / "said").open("w+b") as out, (folder / "complaints").open("w+b") as wrong:
            started = time.perf_counter()
            child = subprocess.Popen(command, stdout=out, stderr=wrong)
            _, status, used = os.wait4(child.pid, 0)
            self.seconds = time.perf_counter() - started
            child.returncode = os.waitstatus_to_exitcode(status)
            wrong.seek(0)
            if child.returncode:
                raise RuntimeError(f"{command}: {wrong.read().decode()}")
            out.seek(0)
            self.said: dict[str, Any] = json.loads(out.read().decode().splitlines()[-1])
        self.processor_seconds = used.ru_utime + used.ru_stime
        self.memory = used.ru_maxrss * 1024


def estimated(facts: dict[str, Any]) -> tuple[float | None, float | None]:
    """(bytes, seconds without compilation): of Monte Carlo the largest, and the sum."""
    parts = [facts[k] for k in ("optimization", "vmc", "dmc") if isinstance(facts.get(k), dict)]
    parts = parts or [facts]
    memory = [part.get("memory_bytes") for part in parts]
    seconds = [facts.get("seconds_to_write", 0.0)] + [
        None if part.get("seconds_to_run") is None
        else part["seconds_to_run"] + part.get("seconds_to_start", 0.0)
        for part in parts
    ]  # fmt: skip
    return (
        None if None in memory else max(memory),  # type: ignore
        None if None in seconds else sum(seconds),  # type: ignore
    )


def compare(name: str, case: str, folder: Path, repeats: int = 2) -> dict[str, Any]:
    """On a CPU: above what a small run takes."""
    from common import noted

    dry = Spent(folder, case, "--dry-run")
    out = ("-q", "--overwrite", "--out", str(folder / "out"))
    Spent(folder, small(case), "--dry-run")  # has the programs of the small run compiled, too
    pairs = [(Spent(folder, case, *out), Spent(folder, small(case), *out)) for _ in range(repeats)]
    row: dict[str, Any] = {"case": name}
    # The least of both: what a dry run has not compiled the first run does, in more memory.
    runs, none = (min(one.memory for one in kind) for kind in zip(*pairs, strict=True))
    row["memory_measured"] = (runs - none) / MB
    row["seconds_measured"] = noted([a.seconds - b.seconds for a, b in pairs])
    row["processor_seconds"] = noted([a.processor_seconds - b.processor_seconds for a, b in pairs])
    return told(row, dry)


class Here:
    """The same in this process."""

    def __init__(self, folder: Path, case: str, *options: str):
        from zitter import cli

        file = folder / "case.toml"
        file.write_text(case, encoding="utf-8")
        said = io.StringIO()
        started = time.perf_counter()
        with contextlib.redirect_stdout(said):
            ended = cli.status(["run", str(file), "--json", *options])
        self.seconds = time.perf_counter() - started
        if ended:
            raise RuntimeError(f"the run of\n{case}\nended with {ended}")
        self.said: dict[str, Any] = json.loads(said.getvalue().splitlines()[-1])


def compare_on_device(name: str, case: str, folder: Path, repeats: int = 2) -> dict[str, Any]:
    """On a GPU, in a process that has done nothing before: what the device had in use, and runs
    whose programs are there."""
    from common import noted

    out = ("-q", "--overwrite", "--out", str(folder / "out"))
    Here(folder, case, *out)
    found = jax.devices()[0].memory_stats() or {}
    dry = Here(folder, case, "--dry-run")
    seconds = [Here(folder, changed(case, OTHER), *out).seconds for _ in range(repeats)]
    row: dict[str, Any] = {"case": name, "memory_measured": found["peak_bytes_in_use"] / MB}
    row["seconds_measured"] = noted(seconds)
    return told(row, dry)


def told(row: dict[str, Any], dry: Spent | Here) -> dict[str, Any]:
    """What was measured beside what the dry run said."""
    memory, seconds = estimated(dry.said)
    if memory is not None:
        row["memory_estimated"] = memory / MB
        row["memory_ratio"] = row["memory_estimated"] / row["memory_measured"]
    if seconds is not None:
        row["seconds_estimated"] = seconds
        row["time_ratio"] = seconds / row["seconds_measured"]
    row["once_dry_run_seconds"] = dry.seconds
    return row


def settle(folder: Path) -> None:
    """The environment of all runs: programs are kept, and memory that is freed is given back."""
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "programs")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.2"
    # glibc keeps freed arrays of less than 32 MB, as it does not with larger ones.
    os.environ["GLIBC_TUNABLES"] = "glibc.malloc.mmap_threshold=1048576"


def main() -> None:
    from common import arguments, chosen_names, rows_of_children
    from records import finish, record

    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="*", help="cases whose names hold one of these words")
    parser.add_argument("--part", type=int, default=0, help="which part of the cases")
    parser.add_argument("--of", type=int, default=1, help="so many parts")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time, on a GPU")
    options = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the children need the device
    on_host = jax.default_backend() == "cpu"
    chosen = {
        name: CASES[name] if on_host else changed(CASES[name], LARGER)
        for name in chosen_names(CASES, options.only)
        if on_host or not name.startswith("Direct")
    }
    names = list(chosen)[options.part :: options.of]

    def kept(rows: list[dict[str, Any]]) -> None:
        """What was found stays where the rest is cut off."""
        finish(record("estimates", (__doc__ or "").splitlines()[0], rows), options.json)

    if not on_host and len(names) > 1:
        rows_of_children([[__file__, "--only", name] for name in names], options.jobs, kept)
        return
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        settle(Path(scratch))
        measure = compare if on_host else compare_on_device
        for name in names:
            rows.append(measure(name, chosen[name], Path(scratch)))
            kept(rows)


if __name__ == "__main__":
    main()
