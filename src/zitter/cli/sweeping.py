"""`zitter sweep`: one calculation for each of many values, in one result."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zitter import (
    batches,
    cases,
    checks,
    config,
    files,
    locks,
    loop,
    processes,
    runtime,
    sweeps,
)
from zitter.cli import arrays, launching, meeting, streams, sweep_estimates
from zitter.cli.running import keep_compiled_programs, named, stoppable
from zitter.cli.showing import print_json, print_result
from zitter.config.document import SCAN
from zitter.results.sweep import Sweep


@dataclasses.dataclass(frozen=True)
class Request:
    """The command line of `zitter sweep`."""

    case: Path
    over: tuple[str, ...]
    settings: tuple[str, ...]
    out: Path
    items: str | None
    batch: int | None
    runtime: dict[str, Any]
    slurm: str | None
    processes: int | None
    checkpoint_every: float | None
    dry_run: bool
    json: bool
    quiet: bool


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a command asks for: all items of the sweep, and those chosen."""

    document: config.Document
    axes: list[sweeps.Axis]
    items: Sequence[sweeps.Item]
    chosen: Sequence[sweeps.Item]


def sweep(request: Request, arguments: list[str]) -> int:
    """Exit status 0: every item asked for is there. 1: some failed. 2: nothing was begun.

    `arguments` are the command line, for processes that it starts.
    """
    if request.processes is not None and request.slurm is not None:
        raise checks.InputError("--processes", "must not be given together with --slurm, but is")
    if launching.wanted(request.processes) and not request.dry_run:
        return _spread(request, arguments)
    place = processes.found()
    if place is not None:
        meeting.watch_launcher()
        with named(request.case):
            mesh = config.read(request.case, request.settings).table.get("mesh")
        processes.take_gpus(place, meeting.devices(request.runtime["mesh"] or mesh))
    keep_compiled_programs()
    with stoppable():
        plan, store = _planned(request), sweeps.Store(request.out)
        own = processes.share(place, plan.chosen)
        missing = [item for item in own if not store.done(item)]
        with named(request.case):
            parts, refused = sweeps.parts(missing, request.batch, estimating=request.dry_run)
            if refused and not parts and not any(map(store.done, plan.items)):
                tried = {item.index for item in missing}
                others = [item for item in plan.items if item.index not in tried]
                sweeps.require_one(refused, others, estimating=request.dry_run)
        if request.dry_run:
            return _estimated(request, plan, own, parts, refused)
        if request.slurm is not None:
            return _submitted(request, store, parts, refused)
        if not launching.may_begin(place):
            return launching.HELD
        return _run(request, plan, parts, refused, len(own) - len(missing))


def _estimated(
    request: Request,
    plan: Plan,
    own: Sequence[sweeps.Item],
    parts: Sequence[sweeps.Part],
    refused: sweeps.Refused,
) -> int:
    """What the items take that would run; the others are named."""
    indices = {item.index for item, _ in refused}
    good = [item for item in own if item.index not in indices]
    sweep_estimates.tell(request.case.name, plan.axes, good, parts, request.json)
    for item, error in refused:
        told = f"item {item.index} ({item.label}) would fail: {error}"
        print(f"{request.case.name}: {told}", file=sys.stderr)
    if not refused:
        return 0
    told = f"{len(refused)} of {len(own)} items would fail, as told above"
    print(f"error: {request.case.name}: {told}", file=sys.stderr)
    return 1


def _submitted(
    request: Request,
    store: sweeps.Store,
    parts: Sequence[sweeps.Part],
    refused: sweeps.Refused,
) -> int:
    """Tasks for the items that can run; the others have failed before."""
    indices = sorted(item.index for part in parts for item in part.items)
    status = arrays.submit(str(request.slurm), request.out, indices, _again(request))
    if not refused:
        return status
    with locks.shared(request.out, "--out", lambda: None):
        sweeps.put_down(*_apart(refused), store, _teller(request))
    raise checks.RunError(
        f"{len(refused)} of {len(refused) + len(indices)} items failed before they began, as "
        f"{request.out / 'log.txt'} tells; the others were submitted."
    )


def _planned(request: Request) -> Plan:
    with named(request.case):
        document = config.read(request.case, request.settings)
        cases.configure(document, **request.runtime)
        batches.mesh()  # refuses one with other axes
        axes = _axes(request, document)
        items = sweeps.laid_out(request.case, request.settings, axes)
        chosen = _chosen(request.items, items)
        if request.batch is not None:
            checks.integer("--batch", request.batch, 1)
        if request.checkpoint_every is not None:
            checks.non_negative("--checkpoint-every", request.checkpoint_every)
    _require_folder(request.out)
    return Plan(document, axes, items, chosen)


def _spread(request: Request, arguments: list[str]) -> int:
    """Each of several processes carries a share of the items; then all is put together here.

    JAX begins here when they have ended: it would take memory of a GPU from them.
    """
    started, count = time.perf_counter(), request.processes or 1
    codes = launching.launch_apart(count, arguments)
    if launching.INPUT_AT_FAULT in codes:
        return launching.INPUT_AT_FAULT  # which has been said
    with stoppable():
        plan, store = _planned(request), sweeps.Store(request.out)
        with locks.shared(request.out, "--out", store.clear_killed):
            result = _added_up(plan, store, started)
            _report(request, store, result)
    lost = [index for index, code in enumerate(codes) if code not in (0, 1)]
    if lost:
        how = launching.how_ended(codes[lost[0]])
        raise checks.RunError(
            f"process {lost[0]} of {count} {how}. What is done is kept; the same command fills "
            "the gaps."
        )
    if result.failed and max(codes):
        raise _some_failed(len(result.failed), len(plan.items), request.out)
    return max(codes)


def _added_up(plan: Plan, store: sweeps.Store, started: float) -> Sweep:
    locks.take_again(store.folder)
    info = _info(plan.document, time.perf_counter() - started)
    return store.assemble(plan.axes, plan.items, info, plan.document.text)


def _run(request: Request, plan: Plan, parts: Any, refused: sweeps.Refused, before: int) -> int:
    """Compute what is missing and put all together; others may be at work on other items."""
    store, started = sweeps.Store(request.out), time.perf_counter()
    with locks.shared(request.out, "--out", store.clear_killed):
        add_up = lambda: _added_up(plan, store, started)  # noqa: E731
        try:
            failed = _carried(request, store, parts, refused, before)
            result = add_up()
        except (loop.Interrupted, KeyboardInterrupt):
            add_up()
            raise checks.RunError(
                "stopped on request. What is done is kept; the same command goes on from there."
            ) from None
        except OSError as error:
            raise checks.RunError(
                f"the sweep broke off: {files.reason(error)}. What is done is kept; the same "
                "command goes on from there."
            ) from error
        # Of several processes those report that find nothing left to do for others.
        if processes.found() is None or result.done.size == result.done.sum() + len(result.failed):
            _report(request, store, result)
        if failed and processes.found() is None:  # each of several knows its own share only
            raise _some_failed(len(failed), len(plan.chosen), request.out)
        return 1 if failed else 0


def _some_failed(count: int, of: int, out: Path) -> checks.RunError:
    return checks.RunError(
        f"{count} of {of} items failed, as {out / 'log.txt'} tells; the others are kept, and the "
        "same command tries these again."
    )


def _teller(request: Request) -> sweeps.Teller:
    def log(text: str) -> None:
        files.append(request.out / "log.txt", f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {text}\n")

    def say(text: str) -> None:
        if not request.quiet:
            print(f"{request.case.name}: {text}", file=sys.stderr)

    progress = not request.quiet and sys.stderr.isatty()
    return sweeps.Teller(progress, say, log, request.checkpoint_every)


def _apart(refused: sweeps.Refused) -> tuple[list[sweeps.Item], list[Exception]]:
    return [item for item, _ in refused], [error for _, error in refused]


def _carried(
    request: Request, store: sweeps.Store, parts: Any, refused: sweeps.Refused, before: int
) -> Sequence[Any]:
    """Compute what is missing; what failed."""
    teller = _teller(request)
    if before:
        teller.say(f"{before} items are there already")
    for item in (item for part in parts for item in part.items if store.damaged(item)):
        sentence = f"item {item.index} ({item.label}) is damaged ({store.file(item)})"
        teller.say(f"{sentence}; computed anew")
        teller.log(f"{sentence}; computed anew")
    count = sum(map(len, parts))
    teller.log(f"zitter sweep {request.case.name} {' '.join(request.over)}: {count} items")
    failed = sweeps.put_down(*_apart(refused), store, teller)
    return failed + sweeps.carry(parts, store, teller)


def _axes(request: Request, document: config.Document) -> list[sweeps.Axis]:
    """Those of the file, less those that the command names anew."""
    given = [sweeps.parse(text, document.table) for text in request.over]
    keys = {axis.key for axis in given}
    axes = [axis for axis in sweeps.in_file(document.table) if axis.key not in keys] + given
    if not axes:
        there = "an empty [scan]" if SCAN in document.table else "no [scan]"
        raise checks.InputError(
            "--over",
            f"must be given, like laser.intensity=1e13:1e15:log:32, as the file has {there}",
        )
    return axes


def _chosen(text: str | None, items: Sequence[sweeps.Item]) -> Sequence[sweeps.Item]:
    if text is None:
        return items
    first, colon, end = text.partition(":")
    counts = colon and checks.is_count(first) and checks.is_count(end)
    if not (counts and int(first) < int(end) <= len(items)):
        raise checks.InputError(
            "--items", f'must be FIRST:END within 0:{len(items)}, but is "{text}"'
        )
    return items[int(first) : int(end)]


def _again(request: Request) -> list[str]:
    """The command without what chooses items, for tasks of an array."""
    command = [sys.executable, "-m", "zitter", "sweep", str(request.case.absolute())]
    command += [f"--over={text}" for text in request.over]
    command += [f"--set={text}" for text in request.settings]
    command += [f"--out={request.out.absolute()}", "--quiet"]
    for name in ("precision", "device"):
        if request.runtime[name] is not None:
            command.append(f"--{name}={request.runtime[name]}")
    if request.runtime["mesh"]:
        sizes = request.runtime["mesh"].items()
        command.append(f"--mesh={','.join(f'{axis}={n}' for axis, n in sizes)}")
    if request.batch is not None:
        command.append(f"--batch={request.batch}")
    if request.checkpoint_every is not None:
        command.append(f"--checkpoint-every={request.checkpoint_every}")
    return command


def _info(document: config.Document, seconds: float) -> dict[str, Any]:
    """Of the mesh the items say themselves what they have used."""
    title = document.table.get("title", "")
    about: dict[str, Any] = {"title": title} if title else {}
    return about | {"seconds": seconds, **runtime.describe(), **runtime.describe_shares({})}


def _report(request: Request, store: sweeps.Store, result: Sweep) -> None:
    with streams.of_result(store.result):
        if not request.quiet:
            print_result(result, store.result)
            print(f"done: {store.result}")
        if request.json:
            print_json({**result.numbers(), "file": str(store.result)})


def _require_folder(out: Path) -> None:
    there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise checks.InputError("--out", f'must be writable, but "{there}" is not')
    result = out / "result.h5"
    if result.exists():
        from zitter.kinds import load

        try:
            found = load(result)
        except checks.InputError:
            if not (out / "items").is_dir():
                raise
            return  # damaged, and made anew from the items
        if not isinstance(found, Sweep):
            raise checks.InputError(
                "--out", f"must be new or of a sweep, but {out} holds the result of a run"
            )
