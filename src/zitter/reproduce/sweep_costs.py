"""How long a sweep takes, part by part, and what its memory traffic alone would take."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.qmc.determinants.slater import Slater
from zitter.qmc.energies import local_energies
from zitter.qmc.jastrow import P, U
from zitter.qmc.slater_jastrow import SlaterJastrow, SlaterWalker
from zitter.qmc.systems import ElectronGas
from zitter.qmc.walk.dynamics import GaussianSteps
from zitter.qmc.walk.sweep import sweep

KINDS = {"bare": (), "u": ("u",), "u_p": ("u", "p")}


@dataclasses.dataclass(frozen=True)
class Case:
    """A gas to measure: its walkers, the type of its pair terms, its p and its delay."""

    gas: ElectronGas
    walkers: int
    dtype: Any = jnp.float64
    stars: int = 5
    delay: int | None = None
    kinds: tuple[str, ...] = tuple(KINDS)
    energy: bool = True  # whether local energies are measured, beside sweeps and Ewald

    def wavefunction(self, kind: str) -> SlaterJastrow:
        terms = {"u": U(), "p": P(self.stars)}
        return SlaterJastrow(self.gas, [terms[name] for name in KINDS[kind]], delay=self.delay)


def split(cases: Sequence[Case], sweeps: int = 2) -> list[dict[str, float]]:
    """Seconds for all walkers of each case: sweeps without J, with u, with u and p; energies.

    The cost of u and p is what a sweep takes longer with them, and its error (`u_error`) how far
    apart these differences were. Programs are compiled side by side, which takes most of the time,
    and sweeps of a case are measured in turns.
    """
    tick = time.perf_counter()
    with ThreadPoolExecutor() as pool:
        compiled = list(pool.map(lambda case: _compiled(case, sweeps), cases))
    compiling = (time.perf_counter() - tick) / len(cases)
    return [
        _measured(case, programs, sweeps) | {"compile": compiling}
        for case, programs in zip(cases, compiled, strict=True)
    ]


def _measured(case: Case, programs: dict[str, Any], sweeps: int) -> dict[str, float]:
    r = case.gas.start(jax.random.PRNGKey(1), case.walkers)
    width = jnp.asarray(0.4 * case.gas.length)
    whole = programs["start"](r)
    found = {
        "ewald": best_seconds(lambda: programs["ewald"](r)),
        "bytes_per_walker": bytes_of(whole) / case.walkers,
    }
    if case.energy:
        found["energy"] = best_seconds(lambda: programs["energy"](whole))
    runs = {}
    for kind in case.kinds:
        state, run = _without(whole, kind), programs[f"sweep_{kind}"]
        runs[kind] = lambda f=run, s=state: f(s, width)
    times = {kind: [t / sweeps for t in some] for kind, some in times_in_turn(runs).items()}
    found |= {f"sweep_{kind}": min(some) for kind, some in times.items()}
    if set(case.kinds) == set(KINDS):
        found["u"], found["u_error"] = taken_longer(times["u"], times["bare"])
        found["p"], found["p_error"] = taken_longer(times["u_p"], times["u"])
        found["p_share"] = found["p"] / found["sweep_u_p"]
        found["p_share_error"] = found["p_error"] / found["sweep_u_p"]
    return found


def _without(walkers: SlaterWalker, kind: str) -> SlaterWalker:
    """Walkers of u and p as walkers of fewer terms; ln|Ψ| is off by a constant, which costs no
    time."""
    memory = walkers.memory[: len(KINDS[kind])]
    return SlaterWalker(walkers.r, walkers.phase, walkers.log, walkers.slater, memory)


def _compiled(case: Case, sweeps: int) -> dict[str, Any]:
    gas, dtype = case.gas, case.dtype
    shape = (case.walkers, gas.dimension, gas.electrons)
    r = jax.ShapeDtypeStruct(shape, jnp.float64)
    width = jax.ShapeDtypeStruct((), jnp.float64)
    psi = case.wavefunction("u_p")
    start = lambda psi, r: jax.vmap(lambda x: psi.start(x, dtype))(r)  # noqa: E731
    state = eqx.filter_eval_shape(start, psi, r)
    ewald = lambda psi, r: jax.vmap(lambda x: psi.system.ewald.energy(x, dtype=dtype))(r)  # noqa: E731
    programs = {
        "start": program_of(start, psi, r),
        "ewald": program_of(ewald, psi, r),
    }
    if case.energy:
        key = jax.random.PRNGKey(0)
        local = lambda psi, s: local_energies(psi, s, key, dtype)["energy"]  # noqa: E731
        programs["energy"] = program_of(local, psi, state)
    for kind in case.kinds:
        programs[f"sweep_{kind}"] = program_of(
            lambda psi, state, width: several_sweeps(psi, state, width, sweeps, dtype),
            case.wavefunction(kind), _without(state, kind), width,
        )  # fmt: skip
    return programs


def program_of(
    function: Callable[..., Any], psi: SlaterJastrow, *shapes: Any
) -> Callable[..., Any]:
    """function(psi, …) compiled for arguments of these shapes; tables of Ψ are arguments."""
    arrays, static = eqx.partition(psi, eqx.is_array)
    whole = jax.jit(lambda arrays, *rest: function(eqx.combine(arrays, static), *rest))
    program = whole.lower(arrays, *shapes).compile()
    return lambda *rest: program(arrays, *rest)


def several_sweeps(psi: SlaterJastrow, walkers: Any, width: Any, count: int, dtype: Any) -> Any:
    def body(i, walkers):
        key = jax.random.fold_in(jax.random.PRNGKey(0), i)
        return sweep(psi, GaussianSteps(width), walkers, key, dtype)[0]

    return jax.lax.fori_loop(0, count, body, walkers)


def best_seconds(run: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of a few runs, after one that is not counted."""
    jax.block_until_ready(run())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - start)
    return min(times)


def times_in_turn(runs: dict[str, Callable[[], Any]], rounds: int = 3) -> dict[str, list[float]]:
    """Seconds of each run in each round, after calls that are not counted.

    They take turns, so that times of one round, whose differences count, see the same machine.
    """
    for run in runs.values():
        jax.block_until_ready(run())
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            jax.block_until_ready(run())
            times[name].append(time.perf_counter() - start)
    return times


def taken_longer(longer: Sequence[float], shorter: Sequence[float]) -> tuple[float, float]:
    """The median of the differences of two times in the same rounds, and how far apart they are.

    Of three rounds that is some 2.5 standard errors of the median.
    """
    apart = sorted(a - b for a, b in zip(longer, shorter, strict=True))
    return statistics.median(apart), apart[-1] - apart[0]


def bytes_of(tree: Any) -> int:
    return sum(x.nbytes for x in jax.tree.leaves(tree) if hasattr(x, "nbytes"))


def determinant_traffic(psi: SlaterJastrow, walkers: int) -> float:
    """Bytes a sweep must move for the inverses: each block reads M twice and writes it once."""
    assert isinstance(psi.slater, Slater)
    n, blocks = max(psi.system.spins), psi.slater.schedule().first.size
    return 3.0 * blocks * n * n * 8 * walkers
