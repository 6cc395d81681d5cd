"""How close does `--dry-run` come to the memory and the time that a run really takes?

For every propagator, eigensolver and kind of Monte Carlo a case that needs a few hundred MB: what
its dry run says, and what a run of its own process then took. Memory is the largest resident set
above that of a run of the same kind that has next to nothing to do (the interpreter, its libraries
and compiled programs); time is that of the process, less the time of that small run: the median of
two such pairs. On a GPU cases are larger, and memory is the most that the device had in use; direct
solvers, which work on the host, are left out there.

    python benchmarks/estimates.py --json FILE [--only WORD …] [--part 0 --of 3]

A program compiled by the dry run is not compiled again. Times want a machine without other work;
with `--part` others may do the rest of the cases.
"""

from __future__ import annotations

import json
import os
import re
import statistics
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
    "LOBPCG": grid([96, 96, 96], 0.6, SPECTRAL) + levels('"LOBPCG"', 8),
    "ChebyshevFilter": grid([96, 96, 96], 0.6, DIFFERENCES)
    + levels('{ type = "ChebyshevFilter", tol = 1e-4 }', 12),
    "ImaginaryTime": grid([128, 128, 128], 0.4, DIFFERENCES)
    + levels('{ type = "ImaginaryTime", tol = 1e-3 }'),
    "Direct, dense": grid([90, 90], 0.4, SPECTRAL) + levels('"Direct"', 4),
    "Direct, near": grid([20, 20, 20], 0.5, '{ type = "Kinetic", order = 4 }')
    + levels('{ type = "Direct", near = -0.1 }', 2),
    "vmc": GAS + "[vmc]\nwalkers = 12288\nblocks = 6\nstride = 2\nequilibration = 10\n",
    "dmc": GAS
    + "[dmc]\nwalkers = 8192\nblocks = 4\nsteps = 2\nequilibration = 2\ntimestep = 0.05\n",
    "optimize": GAS + '[optimize]\nmethod = { type = "LinearMethod", iterations = 2 }\n'
    "walkers = 1024\ndraws = 4\n",
    "optimize, variance": GAS + '[optimize]\n'
    'method = { type = "VarianceMinimization", iterations = 2 }\nwalkers = 4096\ndraws = 4\n',
    "vmc, pseudopotential": CARBON
    + "[vmc]\nwalkers = 65536\nblocks = 4\nstride = 2\nequilibration = 10\n",
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
    r"shape = \[(128|192|96), .*\]": lambda m: re.sub(r"\d+", lambda n: str(2 * int(n[0])), m[0]),
    r"n = 2000, degree": "n = 8000, degree",
    r"walkers = (\d+)": lambda m: f"walkers = {8 * int(m[1])}",
    r"t = \[0, (.*)\]": lambda m: f"t = [0, {20 * float(m[1])!r}]",
}


def changed(case: str, patterns: dict[str, Any]) -> str:
    for pattern, other in patterns.items():
        case = re.sub(pattern, other, case)
    return case


def small(case: str) -> str:
    return changed(case, SMALLER)


# A run as `python -m zitter` does it, and what the device had in use at most.
CHILD = """
import sys
from zitter.cli import status
code = status(sys.argv[1:])
import jax
found = jax.devices()[0].memory_stats() or {}
print("peak", found.get("peak_bytes_in_use", 0), file=sys.stderr)
sys.exit(code)
"""


class Spent:
    """What a process took, and the JSON object it ended with."""

    def __init__(self, folder: Path, case: str, *options: str):
        file = folder / "case.toml"
        file.write_text(case, encoding="utf-8")
        command = [sys.executable, "-c", CHILD, "run", str(file), "--json", *options]
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
            on_device = int(wrong.read().decode().splitlines()[-1].split()[-1])
        self.processor_seconds = used.ru_utime + used.ru_stime
        self.memory = on_device or used.ru_maxrss * 1024


def estimated(facts: dict[str, Any]) -> tuple[float | None, float | None]:
    """(bytes, seconds without compilation): of Monte Carlo the largest, and the sum."""
    parts = [facts[k] for k in ("optimization", "vmc", "dmc") if isinstance(facts.get(k), dict)]
    parts = parts or [facts]
    memory = [part.get("memory_bytes") for part in parts]
    seconds = [
        None if part.get("seconds_to_run") is None
        else part["seconds_to_run"] + part.get("seconds_to_start", 0.0)
        for part in parts
    ]  # fmt: skip
    return (
        None if None in memory else max(memory),  # type: ignore
        None if None in seconds else sum(seconds),  # type: ignore
    )


def compare(name: str, case: str, folder: Path, repeats: int = 2) -> dict[str, Any]:
    from common import noted

    dry = Spent(folder, case, "--dry-run")
    memory, seconds = estimated(dry.said)
    out = ("-q", "--overwrite", "--out", str(folder / "out"))
    Spent(folder, small(case), "--dry-run")  # has the programs of the small run compiled, too
    pairs = [(Spent(folder, case, *out), Spent(folder, small(case), *out)) for _ in range(repeats)]
    row: dict[str, Any] = {"case": name}
    row["memory_measured"] = statistics.median(a.memory - b.memory for a, b in pairs) / MB
    if memory is not None:
        row["memory_estimated"] = memory / MB
        row["memory_ratio"] = row["memory_estimated"] / row["memory_measured"]
    row["seconds_measured"] = noted([a.seconds - b.seconds for a, b in pairs])
    row["processor_seconds"] = noted([a.processor_seconds - b.processor_seconds for a, b in pairs])
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
    from common import arguments
    from records import finish, record

    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="*", help="cases whose names hold one of these words")
    parser.add_argument("--part", type=int, default=0, help="which part of the cases")
    parser.add_argument("--of", type=int, default=1, help="so many parts")
    options = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the children need the device
    on_host = jax.default_backend() == "cpu"
    chosen = {
        name: case if on_host else changed(case, LARGER)
        for name, case in CASES.items()
        if (not options.only or any(word in name for word in options.only))
        and (on_host or not name.startswith("Direct"))
    }
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        settle(Path(scratch))
        for name in list(chosen)[options.part :: options.of]:
            rows.append(compare(name, chosen[name], Path(scratch)))
            print(rows[-1], file=sys.stderr, flush=True)
            # What was found stays where the rest is cut off.
            finish(record("estimates", (__doc__ or "").splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
