"""The command `zitter`. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from zitter import __version__, checks, files, processes
from zitter.cli import huge_pages, program_cache, streams

ROOM = 400  # bytes of the names of files in an output directory, and of folders in it

app = typer.Typer(
    name="zitter",
    help="Schrödinger and Dirac equations on grids, in atomic bases and by Monte Carlo.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # it would take [scan] and [default: 30] for styles, and leave them out
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Options that several commands have.
Json = Annotated[bool, typer.Option("--json", help="End with one line of JSON.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY.PATH=VALUE", help="Change one value of the file."),
]
Precision = Annotated[str | None, typer.Option(help="double, single or tf32.")]
Device = Annotated[str | None, typer.Option(help="cpu, gpu, gpu:1, …")]
CheckpointEvery = Annotated[
    float | None, typer.Option(help="Seconds between checkpoints [default: 30].")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would run, and what it takes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]


def _version(asked: bool) -> None:
    if asked:
        print(f"zitter {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    context: typer.Context,
    case: Annotated[Path, typer.Argument(help="The calculation, a TOML file.")],
    settings: Settings = None,
    out: Annotated[
        str | None, typer.Option(metavar="PATH", help="Output directory [default: CASE-output].")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    extend: Annotated[
        bool, typer.Option("--extend", help="Go on with more blocks, a later end, more iterations.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep-checkpoint", help="Keep what --extend needs when it is done.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier result.")
    ] = False,
    precision: Precision = None,
    device: Device = None,
    mesh: Annotated[str | None, typer.Option(help="Devices to share the work: space=4.")] = None,
    number: Annotated[
        int | None,
        typer.Option("--processes", help="Processes on this node, each with devices of the mesh."),
    ] = None,
    checkpoint_every: CheckpointEvery = None,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run a calculation described by a TOML file; with a section [scan], all that it goes over."""
    from zitter.cli import launching

    folder = _folder(out, f"{case.stem}-output")
    if _goes_over(case, settings):
        given = {"--overwrite": overwrite, "--extend": extend, "--keep-checkpoint": keep}
        for name in (name for name, asked in given.items() if asked):
            raise checks.InputError(
                name, "must not be given for a file with [scan], but is: what is there is kept, "
                "and gaps are filled"
            )  # fmt: skip
        return _sweep(
            context, case, [], settings, folder, None, None, precision, device, mesh, None, number,
            checkpoint_every, dry_run, json, quiet,
        )  # fmt: skip
    if number is not None and launching.wanted(number):
        return launching.launch(number, context.obj, folder)
    from zitter.cli import running as command

    request = command.Request(
        case=case,
        settings=tuple(settings or ()),
        out=folder,
        resume=resume,
        overwrite=overwrite,
        extend=extend,
        keep=keep,
        runtime={"precision": precision, "device": device, "mesh": command.parse_mesh(mesh)},
        checkpoint_every=checkpoint_every,
        dry_run=dry_run,
        json=json,
        quiet=quiet,
    )
    return command.run(request)


@app.command()
def sweep(
    context: typer.Context,
    case: Annotated[Path, typer.Argument(help="The calculation, a TOML file.")],
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY.PATH=VALUES",
            help="What varies: first:last:lin:count, first:last:log:count, or value,value,…",
        ),
    ] = None,
    settings: Settings = None,
    out: Annotated[
        str | None, typer.Option(metavar="PATH", help="Output directory [default: CASE-sweep].")
    ] = None,
    items: Annotated[
        str | None, typer.Option(help="Only these items, FIRST:END as in Python.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Most items at once on a device [default: what fits].")
    ] = None,
    precision: Precision = None,
    device: Device = None,
    mesh: Annotated[str | None, typer.Option(help="Devices to share the work: batch=4.")] = None,
    slurm: Annotated[
        str | None,
        typer.Option(help="Submit an array of jobs instead: partition=gpu,tasks=8,time=60,…"),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option("--processes", help="Processes on this node, each with some of the items."),
    ] = None,
    checkpoint_every: CheckpointEvery = None,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run a calculation for many values; run again, it fills the gaps."""
    folder = _folder(out, f"{case.stem}-sweep")
    return _sweep(
        context, case, over, settings, folder, items, batch, precision, device, mesh, slurm, number,
        checkpoint_every, dry_run, json, quiet,
    )  # fmt: skip


def _folder(out: str | None, usual: str) -> Path:
    """The directory for what a command writes; an empty name would be the one we are in."""
    if out == "":
        raise checks.InputError("--out", "must name a directory, but is empty")
    folder = checks.path("--out", usual if out is None else out)
    most, length = checks.LONGEST_PATH - ROOM, len(os.fsencode(folder))
    if length > most:
        raise checks.InputError(
            "--out",
            f"must be a path of at most {most} bytes, with room for files, but has {length}",
        )
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise checks.InputError(
            "--out", f'must be a directory, but "{folder}" is {checks.instead_of_folder(folder)}'
        )
    return folder


def _goes_over(case: Path, settings: list[str] | None) -> bool:
    """Whether a file has a section [scan]; what is wrong with it is said by who runs it."""
    from zitter.config import document

    try:
        return document.SCAN in document.read(case, settings or ()).table
    except checks.InputError:
        return False


def _sweep(
    context: typer.Context,
    case: Path,
    over: list[str] | None,
    settings: list[str] | None,
    out: Path,
    items: str | None,
    batch: int | None,
    precision: str | None,
    device: str | None,
    mesh: str | None,
    slurm: str | None,
    number: int | None,
    checkpoint_every: float | None,
    dry_run: bool,
    json: bool,
    quiet: bool,
) -> int:
    from zitter.cli import sweeping as command
    from zitter.cli.running import parse_mesh

    request = command.Request(
        case=case,
        over=tuple(over or ()),
        settings=tuple(settings or ()),
        out=out,
        items=items,
        batch=batch,
        runtime={"precision": precision, "device": device, "mesh": parse_mesh(mesh)},
        slurm=slurm,
        processes=number,
        checkpoint_every=checkpoint_every,
        dry_run=dry_run,
        json=json,
        quiet=quiet,
    )
    return command.sweep(request, context.obj)


@app.command()
def show(
    result: Annotated[Path, typer.Argument(help="An output directory or a result file.")],
    json: Json = False,
) -> int:
    """Print what a result holds, with its errors."""
    from zitter.cli import showing as command

    return command.show(result, json)


@app.command()
def plot(
    result: Annotated[Path, typer.Argument(help="An output directory or a result file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture file [default: beside it].")
    ] = None,
    animate: Annotated[
        bool, typer.Option("--animate", help="Draw the density as an animated GIF.")
    ] = False,
) -> int:
    """Draw a result."""
    from zitter.cli import drawing as command

    return command.draw(result, output, animate)


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which one; without, list them.")] = None,
    full: Annotated[bool, typer.Option("--full", help="With the paper's own parameters.")] = False,
    json: Json = False,
    out: Annotated[
        str | None, typer.Option(metavar="PATH", help="Directory for figures and the report.")
    ] = None,
    quiet: Quiet = False,
) -> int:
    """Repeat a published calculation and compare with the paper."""
    from zitter.cli import tools

    folder = None if out is None else _folder(out, "")
    return tools.reproduce(name, full, json, folder, quiet)


@app.command()
def bench(
    name: Annotated[str | None, typer.Argument(help="Which one; without, list them.")] = None,
    json: Json = False,
) -> int:
    """Measure speed on this machine (in a source checkout)."""
    from zitter.cli import tools

    return tools.bench(name, json)


@app.command()
def schema() -> int:
    """Print the JSON schema of the TOML input."""
    from zitter.cli import tools

    return tools.schema()


@app.command()
def doctor(json: Json = False) -> int:
    """Say what zitter finds on this machine, and check that it computes."""
    from zitter.cli import checkup as command

    return command.doctor(json)


def main(arguments: list[str] | None = None) -> None:
    """Exit status 0: done. 1: a run failed. 2: the input is at fault; nothing was written."""
    streams.prepare()
    if arguments is None:
        huge_pages.ask_for_them()
    code = status(arguments)
    streams.release()
    if code and processes.joined() is not None:
        # An ordinary end would wait for the others, which may be waiting for this one.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def status(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit status; every failure is one sentence on stderr."""
    with _plain_warnings():
        return _status(arguments)


def _status(arguments: list[str] | None) -> int:
    command = typer.main.get_command(app)
    stopped = "stopped on request. Nothing was saved."
    try:
        given = sys.argv[1:] if arguments is None else arguments
        code = command.main(given, prog_name="zitter", standalone_mode=False, obj=given)
        sys.stdout.flush()
        code = int(code or 0)
        return _fail(stopped, 1) if code == 130 else code  # the parser's number for Ctrl-C
    except processes.Lost as error:
        # The launcher knows which process it was.
        told = "" if os.environ.get("ZITTER_LAUNCHER") else str(error)
        return _fail(told, processes.LOST)
    except checks.RunError as error:
        return _fail(str(error), 1, alone=isinstance(error, processes.Alone))
    except checks.ZitterError as error:  # InputError, Unsupported
        return _fail(str(error), 2)
    except OSError as error:
        return _fail(f"{files.reason(error)}.", 1, alone=True)
    except Exception as error:
        # The parser's own errors; by version typer carries its parser inside or beside it.
        if type(error).__name__ == "Abort":
            return _fail(stopped, 1)
        message = getattr(error, "format_message", None)
        if message is None:
            if processes.joined() is None:
                raise
            traceback.print_exc()
            return 4
        return _fail(str(message()), int(getattr(error, "exit_code", 2)))


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Each warning once, as one sentence without the place in the source.

    Numbers make no other warning: a second run for the error estimate repeats those of the first.
    """
    told: set[str] = set()

    def tell(message, category, filename, lineno, file=None, line=None):
        sentence = program_cache.told(" ".join(str(message).split()))
        if not sentence:
            return
        words = re.sub(r"[-+.\d]+(e[-+]?\d+)?", "", sentence)
        if words not in told and _speaks():
            told.add(words)
            print(f"warning: {sentence}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = tell
        yield


def _fail(message: str, code: int, alone: bool = False) -> int:
    """Of several processes the first says what went wrong, or the one that has failed alone.

    A launcher is told by all, and shows what the first one did not say.
    """
    if message and (alone or _speaks() or os.environ.get("ZITTER_LAUNCHER")):
        with contextlib.suppress(OSError):  # a terminal that is closed: the log has it
            said = " ".join(message.split())
            print(f"error: {processes.label()}{said}", file=sys.stderr)
    return code


def _speaks() -> bool:
    """Of several processes the first."""
    place = processes.joined()
    return place is None or place.index == 0
