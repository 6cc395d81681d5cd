"""`zitter run`: check everything, then compute, then write the result whole.

It knows the protocol of cases and of results, and no kind in particular.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jax.errors import JaxRuntimeError

import zitter
from zitter import cases, checks, config, files, locks, loop, processes, runtime, tables
from zitter.cli import meeting, streams
from zitter.cli.folder import Folder
from zitter.cli.showing import print_json, print_result
from zitter.linalg.base import Unsupported
from zitter.results.base import Result


@dataclasses.dataclass(frozen=True)
class Request:
    """The command line of `zitter run`."""

    case: Path
    settings: tuple[str, ...]
    out: Path
    resume: bool
    overwrite: bool
    extend: bool
    keep: bool  # the checkpoint of a run that has finished
    runtime: dict[str, Any]
    checkpoint_every: float | None
    dry_run: bool
    json: bool
    quiet: bool


def parse_mesh(text: str | None) -> dict[str, int] | None:
    """`space=4`, or a product of axes, `rows=2,columns=2`."""
    if text is None:
        return None
    sizes = {}
    for part in text.split(","):
        axis, equals, size = part.partition("=")
        if not equals or not checks.is_count(size.strip()):
            raise checks.InputError("--mesh", f'must be like space=4, but is "{text}"')
        if axis.strip() in sizes:
            raise checks.InputError(
                "--mesh",
                f'must name each axis once, but is "{text}": {axis.strip()} is there twice',
            )
        sizes[axis.strip()] = int(size)
    return sizes


def run(request: Request) -> int:
    """Nothing is written before every check has passed."""
    keep_compiled_programs()
    with stoppable():
        with named(request.case):
            document = config.read(request.case, request.settings)
            meeting.meet(request.runtime["mesh"] or document.table.get("mesh"))
            cases.configure(document, **request.runtime)
            case = cases.read(document)
            if request.checkpoint_every is not None:
                checks.non_negative("--checkpoint-every", request.checkpoint_every)
        if request.dry_run:
            with named(request.case):
                case.check(estimating=True)
                return _estimate(request, case)
        folder = Folder(
            request.out, case, request.resume, request.overwrite, request.extend, request.keep
        )
        with contextlib.ExitStack() as stack:
            processes.from_first(lambda: stack.enter_context(folder.held()) is not None)
            if processes.from_first(lambda: _finished(request, folder)):
                return 0
            with named(request.case):
                case.check(estimating=False)
                if request.extend:
                    case.follow(folder.checkpoint)
            result = _compute(request, case, folder)
        _report(request, result, "done")
    return 0


def _finished(request: Request, folder: Folder) -> bool:
    """Whether the result is there already; then it is reported."""
    result = folder.finished()
    if result is not None:
        _report(request, result, "finished already")
    return result is not None


def _estimate(request: Request, case: cases.Case) -> int:
    found = case.estimate(request.checkpoint_every)
    if not processes.first():
        return 0
    title = f"{case.title or case.document.name}: dry run, nothing is written"
    seconds = files.seconds_to_write(request.out, found.written)
    size = f"{runtime.readable(found.written)}, about {seconds:.2g} s"
    print(tables.table(title, found.rows | ({"to write": size} if seconds else {})))
    if request.json:
        told = {"written_bytes": found.written, "seconds_to_write": seconds}
        print_json(found.facts | (told if found.written else {}))
    return 0


def _compute(request: Request, case: cases.Case, folder: Folder) -> Result:
    started = time.perf_counter()
    resumed = bool(processes.from_first(folder.continues))

    def begin() -> None:
        if processes.first():
            folder.begin()
        folder.log(_heading(request) + (" (resumed)" if resumed else ""))
        processes.wait("the run begins")

    def keep(result: Result, name: str) -> None:
        result.input = case.document.text
        if case.title:
            result.info["title"] = case.title
        result.info["wall_seconds"] = time.perf_counter() - started
        if processes.first():
            locks.take_again(folder.path)
            result.save(folder.path / name)
        folder.log(f"wrote {folder.path / name} after {result.info['wall_seconds']:.3g} s")

    def tell(text: str) -> None:
        if not request.quiet and processes.first():
            print(f"{case.title or request.case.name}: {text}", file=sys.stderr)

    job = cases.Job(
        folder.path,
        folder.checkpoint,
        request.checkpoint_every,
        not request.quiet and sys.stderr.isatty(),
        begin,
        tell,
        folder.log,
        keep,
    )
    option = "--extend" if request.extend else "--resume"
    with named(request.case, option), _explained(folder):
        result = case.resume(job) if resumed else case.run(job)
        keep(result, "result.h5")
        if processes.first():
            folder.end()
        # Those that have ended give the others no longer than one that hangs, and would end the
        # first while it writes.
        processes.wait("the result is written")
    return result


@contextlib.contextmanager
def _explained(folder: Folder) -> Iterator[None]:
    """What ends a run becomes one sentence, which also goes to the log; and what to do then."""
    try:
        yield
    except loop.Interrupted as error:
        raise folder.logged(f"{error}{folder.how_to_resume()}") from None
    except loop.Halted as error:
        raise folder.logged(f"{error} (--overwrite replaces this one.)") from None
    except checks.RunError as error:
        raise folder.logged(str(error)) from None
    except checks.InputError:
        if processes.first():
            folder.withdraw()
        raise
    except Exception as error:
        if processes.is_loss(error):
            sentence = "the run broke off: another process has ended or cannot be reached."
            raise processes.Lost(str(folder.logged(f"{sentence} {folder.saved()}"))) from None
        if not isinstance(error, JaxRuntimeError | MemoryError | OSError):
            raise
        told = files.reason(error) if isinstance(error, OSError) else str(error)
        first_line = told.strip().split("\n")[0] or type(error).__name__
        raise folder.alone(f"the run broke off: {first_line}. {folder.saved()}") from error
    except KeyboardInterrupt:
        raise folder.logged(f"stopped on request. {folder.saved()}") from None


def _heading(request: Request) -> str:
    about = ", ".join(f"{key} {value}" for key, value in runtime.describe().items() if value)
    return f"zitter run {request.case.name} {' '.join(request.settings)}".strip() + f"; {about}"


def _report(request: Request, result: Result, how: str) -> None:
    if not processes.first():
        return
    path = request.out / "result.h5"
    with streams.of_result(path):
        if not request.quiet:
            print_result(result, path)
            print(f"{how}: {path}")
        if request.json:
            print_json({**result.numbers(), "file": str(path)})


@contextlib.contextmanager
def named(file: Path, option: str = "") -> Iterator[None]:
    """Errors begin with the file they are about, or with the option by which a run goes on."""
    try:
        yield
    except checks.InputError as error:
        if error.key.startswith("--"):
            raise
        if option and error.key.rpartition(".")[2] == "resume":
            raise checks.InputError(option, error.message) from None
        raise checks.InputError(f"{file}", str(error)) from None
    except Unsupported as error:
        raise Unsupported(f"{file}: {error}") from None
    except (MemoryError, JaxRuntimeError) as error:
        if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        amount = re.search(r"[\d.]+ (?:[KMGTPE]iB|bytes)", str(error))
        needed = f": {amount[0]} more were asked for" if amount else ""
        raise checks.InputError(f"{file}", f"must fit the memory, but does not{needed}") from None
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise checks.InputError(
            f"{file}", f"must hold numbers to compute with, but does not: {error}"
        ) from None


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Outside the loop, signals that ask to stop end the command with a sentence."""

    def stop(number, frame):
        raise KeyboardInterrupt

    previous = {number: signal.signal(number, stop) for number in processes.stopping()}
    try:
        yield
    except KeyboardInterrupt:
        raise checks.RunError("stopped on request. Nothing was saved.") from None
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


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
