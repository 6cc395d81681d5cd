"""`zitter run`: check everything, then compute, then write the result whole."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jax.errors import JaxRuntimeError

import zitter
from zitter import checks, config, io, loop, runtime, solve
from zitter.cli import memory
from zitter.cli.showing import numbers, print_json, print_result
from zitter.config.case import Case, configure
from zitter.eigensolvers import Eigensolver, recommended
from zitter.hamiltonian import Hamiltonian
from zitter.initial import without_light
from zitter.linalg.base import Unsupported
from zitter.solution import Eigenstates, Solution, load


@dataclasses.dataclass(frozen=True)
class Request:
    """The command line of `zitter run`."""

    case: Path
    settings: tuple[str, ...]
    out: Path
    resume: bool
    overwrite: bool
    runtime: dict[str, Any]
    checkpoint_every: float | None
    dry_run: bool
    json: bool
    quiet: bool


def parse_mesh(text: str | None) -> dict[str, int] | None:
    """`space=4` or `space=2,states=2`."""
    if text is None:
        return None
    sizes = {}
    for part in text.split(","):
        axis, equals, size = part.partition("=")
        if not equals or not size.strip().isdigit():
            raise checks.InputError("--mesh", f'must be like space=4, but is "{text}"')
        sizes[axis.strip()] = int(size)
    return sizes


def run(request: Request) -> int:
    """Nothing is written before every check has passed."""
    keep_compiled_programs()
    with _stoppable():
        with named(request.case):
            document = config.read(request.case, request.settings)
            configure(document, **request.runtime)
        if config.is_monte_carlo(document):
            from zitter.cli import monte_carlo

            return monte_carlo.run(request, document)
        with named(request.case):
            case = config.assemble(document)
            memory.check_basis(case.basis)
        finished = None if request.dry_run else earlier(request, document)
        if finished is not None:
            _report(request, finished, "finished already")
            return 0
        with named(request.case):
            H = case.hamiltonian()
            plan = _plan(request, case, H)
        if request.dry_run:
            from zitter.cli import dry_run

            return dry_run.describe(case, H, plan, request.json)
        if request.overwrite:
            remove(request.out)
        try:
            result = _compute(request, case, H, plan)
        except OSError as error:
            reason = error.strerror or str(error)
            raise checks.RunError(f"cannot write to {request.out}: {reason}.") from error
        _report(request, result, "done")
    return 0


def _plan(request: Request, case: Case, H: Hamiltonian) -> solve.Plan | None:
    """Everything `evolve` would refuse, before the output directory exists."""
    if case.verb == "eigenstates":
        stationary(case, H)
        return None
    # From the command line every run says what its step size costs, unless asked not to.
    options: dict[str, Any] = {"step_check": True, **case.options}
    checks.non_negative("evolve.checkpoint_every", options.pop("checkpoint_every", 30.0))
    if request.checkpoint_every is not None:
        checks.non_negative("--checkpoint-every", request.checkpoint_every)
    finder = memory.no_eigenstates if request.dry_run else solve.eigenstates
    try:
        plan = solve.prepare(
            H, runtime.settings().complex_dtype, **options, find_eigenstates=finder
        )
    except checks.InputError as error:
        raise error.under("evolve") from None
    except Unsupported as error:
        raise checks.InputError("evolve.propagator", f"must suit this model, but {error}") from None
    memory.check_plan(case.basis, plan, always=request.dry_run)
    return plan


def _compute(request: Request, case: Case, H: Hamiltonian, plan: solve.Plan | None) -> Any:
    started = time.perf_counter()
    with named(request.case):
        if plan is None:
            result = _eigenstates(request, case, H)
        else:
            result = _evolve(request, case, H, plan)
    result.input = case.document.text
    result.info["wall_seconds"] = time.perf_counter() - started
    result.save(request.out / "result.h5")
    if plan is not None:
        _clear_checkpoint(request.out / "checkpoint")
    log(request, f"wrote {request.out / 'result.h5'} after {result.info['wall_seconds']:.3g} s")
    return result


def stationary(case: Case, H: Hamiltonian) -> tuple[Hamiltonian, Eigensolver]:
    """(H without light, the solver that will find its states), checked to fit."""
    with located("eigenstates"):
        H = without_light(H, 0.0)
        n = checks.integer("n", case.options.get("n", 1), 1, H.basis.size)
    with located("eigenstates.solver"):
        solver = case.options.get("solver") or recommended(H, n)
        solver.check(H, n)
    return H, solver


def _eigenstates(request: Request, case: Case, H: Hamiltonian) -> Eigenstates:
    H, solver = stationary(case, H)
    with located("eigenstates"):
        result = solve.eigenstates(H, case.options.get("n", 1), solver)
    log(request, heading(request))
    return result


def _evolve(request: Request, case: Case, H: Hamiltonian, plan: solve.Plan) -> Solution:
    folder = request.out / "checkpoint"
    every = request.checkpoint_every
    if every is None:
        every = float(case.options.get("checkpoint_every", 30.0))
    checkpoint = loop.Checkpoint(folder, every, _signature(case))
    kept = folder / "initial.h5"
    resume = request.resume and kept.exists()
    if resume:
        stored = io.read(kept)
        psi, known = stored.variables["psi"].data, json.loads(stored.attributes["known"])
    else:
        with located("initial"):
            psi, known = case.initial.make(H, float(plan.context.start))
        # A resumed run starts from these very bits, whatever a solver would give the second time.
        state = io.Variable(np.asarray(psi), tuple(f"axis_{a}" for a in range(psi.ndim)))
        io.write(kept, io.Dataset({"psi": state}, {"known": known}))
    say(request, f"{case.title or request.case.name}: {plan.steps} steps")
    log(request, heading(request) + (" (resumed)" if resume else ""))
    for key, value in known.items():
        log(request, f"{key.replace('_', ' ')}: {value}")
    progress = not request.quiet and sys.stderr.isatty()
    try:
        solution = plan.run(
            runtime.as_state(psi), progress, checkpoint, every, resume=request.resume
        )
    except checks.RunError as error:
        log(request, str(error))
        raise
    except KeyboardInterrupt:
        raise checks.RunError(f"stopped on request. {loop.saved_in(checkpoint)}") from None
    except (JaxRuntimeError, MemoryError, OSError) as error:
        first_line = str(error).strip().split("\n")[0] or type(error).__name__
        failure = checks.RunError(f"the run broke off: {first_line}. {loop.saved_in(checkpoint)}")
        log(request, str(failure))
        raise failure from error
    solution.info |= known
    return solution


def heading(request: Request) -> str:
    about = ", ".join(f"{key} {value}" for key, value in runtime.describe().items() if value)
    return f"zitter run {request.case.name} {' '.join(request.settings)}".strip() + f"; {about}"


def _signature(case: Case) -> str:
    """What must be the same for a checkpoint to be continued."""
    table = {key: value for key, value in case.document.table.items() if key != "title"}
    if "evolve" in table:
        table["evolve"] = {k: v for k, v in table["evolve"].items() if k != "checkpoint_every"}
    text = json.dumps([table, runtime.describe()], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def earlier(request: Request, document: config.Document) -> Any | None:
    """The finished run that `--resume` asks for, if there is one; else the way must be free."""
    out, result = request.out, request.out / "result.h5"
    if out.exists() and not out.is_dir():
        raise checks.InputError("--out", f'must be a directory, but "{out}" is a file')
    there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise checks.InputError("--out", f'must be writable, but "{there}" is not')
    if request.overwrite and request.resume:
        raise checks.InputError("--resume", "must not be given together with --overwrite")
    if request.resume and result.exists():
        finished = load(result)
        if config.parse(finished.input).table != document.table:
            raise checks.InputError(
                "--resume", f"must continue the same input, but {result} has another one"
            )
        return finished
    unfinished = any((out / "checkpoint").glob("**/state.h5"))
    occupied = result.exists() or unfinished
    if occupied and not (request.resume or request.overwrite):
        what = "a result" if result.exists() else "an unfinished run"
        raise checks.InputError(
            "--out", f"must be new, or go with --resume or --overwrite, but {out} holds {what}"
        )
    return None


def _clear_checkpoint(folder: Path) -> None:
    (folder / "initial.h5").unlink(missing_ok=True)
    loop.Checkpoint(folder).clear()


def remove(out: Path) -> None:
    """What an earlier run left, and nothing else that may lie in the directory."""
    for name in ("result.h5", "vmc.h5", "jastrow.h5", "log.txt"):
        (out / name).unlink(missing_ok=True)
    shutil.rmtree(out / "checkpoint", ignore_errors=True)


def _report(request: Request, result: Any, how: str) -> None:
    path = request.out / "result.h5"
    if not request.quiet:
        print_result(result, path)
        print(f"{how}: {path}")
    if request.json:
        print_json(numbers(result, path))


def say(request: Request, text: str) -> None:
    if not request.quiet:
        print(text, file=sys.stderr)


def log(request: Request, text: str) -> None:
    request.out.mkdir(parents=True, exist_ok=True)
    with open(request.out / "log.txt", "a", encoding="utf-8") as file:
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {text}\n")


@contextlib.contextmanager
def named(file: Path) -> Iterator[None]:
    """Errors begin with the file they are about."""
    try:
        yield
    except checks.InputError as error:
        if error.key.startswith("--"):
            raise
        raise checks.InputError(f"{file}", str(error)) from None
    except Unsupported as error:
        raise Unsupported(f"{file}: {error}") from None


@contextlib.contextmanager
def located(section: str) -> Iterator[None]:
    try:
        yield
    except checks.InputError as error:
        raise error.under(section) from None
    except Unsupported as error:
        raise checks.InputError(section, f"must suit this model, but {error}") from None


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Outside the loop, SIGTERM and Ctrl-C end the command with a sentence."""

    def stop(number, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        raise checks.RunError("stopped on request. Nothing was saved.") from None
    finally:
        signal.signal(signal.SIGTERM, previous)


def keep_compiled_programs() -> Path:
    """JAX's compilation cache, in the user's cache directory unless the environment names one."""
    import jax

    named = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "zitter" / f"jax-{zitter.__version__}"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    return folder
