"""How a sweep is carried: items of one form together, the others one by one."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jax.errors import JaxRuntimeError, JAXTypeError

from zitter import batches, cases, checks, files, locks, loop, runtime, same_run
from zitter.cases import memory
from zitter.cases.physics import bases_kept
from zitter.linalg.base import Unsupported
from zitter.results.base import Result
from zitter.sweeps.heard import Heard
from zitter.sweeps.items import Item, Store

MOST = 1024  # items at once on one device
# What ends one item and not the others; input that an item alone can find out about, too.
FAILURES = (checks.RunError, checks.InputError, Unsupported, JaxRuntimeError, MemoryError)
# The same before anything is computed.
REFUSALS = (*FAILURES, ArithmeticError, np.linalg.LinAlgError)
Refused = list[tuple[Item, Exception]]


@dataclasses.dataclass(frozen=True)
class Part:
    """Items that run together, or one item."""

    items: list[Item]
    cases: list[cases.Case]

    def __len__(self) -> int:
        return len(self.items)

    @property
    def name(self) -> str:
        """The same for the same items, whoever carries them."""
        return same_run.fingerprint([item.name for item in self.items])[:24]

    def without_done(self, store: Store) -> Part:
        """What is left once somebody else has been at work on the same items."""
        left = [i for i, item in enumerate(self.items) if not store.done(item)]
        return Part([self.items[i] for i in left], [self.cases[i] for i in left])


def parts(
    items: Sequence[Item], batch: int | None, estimating: bool = False
) -> tuple[list[Part], Refused]:
    """Items read and checked, those of one form together, `batch` of them on each device; and those
    whose input is refused, with the reason.
    """
    found: list[Part] = []
    refused: Refused = []
    on = batches.mesh()
    devices = 1 if on is None else on.size
    heard = Heard(len(items))
    with bases_kept(), batches.alone(), _told(heard):
        for item in items:
            try:
                with heard.of(item):
                    case = _checked(item, estimating)
            except REFUSALS as error:
                refused.append((item, error))
                continue
            most = (batch or _fitting(case)) * devices
            for part in found:
                if len(part) < most and case.joins(part.cases[0]):
                    part.items.append(item)
                    part.cases.append(case)
                    break
            else:
                found.append(Part([item], [case]))
    return found, refused


def require_one(refused: Refused, others: Sequence[Item], estimating: bool = False) -> None:
    """Refuse a whole sweep, as its first item is, where no other item has right input either."""
    with bases_kept(), batches.alone(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever takes those items hears of it
        for item in others:
            with contextlib.suppress(*REFUSALS):
                _checked(item, estimating)
                return
    item, error = refused[0]
    if isinstance(error, checks.InputError):
        raise checks.InputError(error.key, f"{error.message} (with {item.label})") from None
    if isinstance(error, Unsupported):
        raise Unsupported(f"{error} (with {item.label})") from None
    raise error


def _checked(item: Item, estimating: bool) -> cases.Case:
    case = cases.read(item.document)
    case.check(estimating)
    return case


def _fitting(case: cases.Case) -> int:
    """How many items a device should hold: a hundred states each, within its memory."""
    limit = memory.available()
    size = case.state_bytes
    return MOST if limit is None or not size else max(1, min(MOST, limit // (100 * size)))


@dataclasses.dataclass
class Teller:
    """What is said along the way."""

    progress: bool
    say: Callable[[str], None]
    log: Callable[[str], None]
    every: float | None = None  # seconds between checkpoints


def carry(found: Sequence[Part], store: Store, teller: Teller) -> list[tuple[Item, str]]:
    """Compute and keep all parts; what failed, and why."""
    failed: list[tuple[Item, str]] = []
    total, done, started = sum(map(len, found)), 0, time.perf_counter()
    alone = sum(len(part) == 1 for part in found)
    if alone and batches.mesh() is not None:
        teller.say(f"{alone} of {total} items run alone, on one device of the mesh")

    def wait(who: str) -> None:
        teller.say(f"the next items are being computed by {who}; waiting for them")

    heard = Heard(total)
    with _told(heard):
        for part in found:
            with store.held(part.name, wait):
                failed += _kept(part.without_done(store), store, teller, heard)
            done += len(part)
            left = (time.perf_counter() - started) / done * (total - done)
            teller.say(f"{done} of {total} items" + (f", about {left:.2g} s left" if left else ""))
    return failed


@contextlib.contextmanager
def _told(heard: Heard) -> Iterator[None]:
    """Whatever ends the work, what was heard until then is told."""
    try:
        yield
    finally:
        heard.tell()


def _kept(part: Part, store: Store, teller: Teller, heard: Heard) -> list[tuple[Item, str]]:
    """Compute and keep a part; what failed."""
    if len(part) > 1:
        about = lambda i: heard.of(part.items[i])  # noqa: E731
        job = dataclasses.replace(_job(store, teller, part.name), about=about)
        outcomes = _together(part, job, teller)
        if outcomes is not None:
            spread = batches.shares(len(part))
            for outcome in outcomes:
                if spread and isinstance(outcome, Result):
                    outcome.info |= runtime.describe_shares(spread)
            failed = put_down(part.items, outcomes, store, teller)
            _clear(job)
            return failed
        _clear(job)
    failed = []
    for item, case in zip(part.items, part.cases, strict=True):
        job = _job(store, teller, item.name)
        with heard.of(item):
            outcome = _alone(case, job)
        failed += put_down([item], [outcome], store, teller)
        _clear(job)
    return failed


def put_down(
    items: Sequence[Item], outcomes: Sequence[Result | Exception], store: Store, teller: Teller
) -> list[tuple[Item, str]]:
    """Results and reasons in files; only then may checkpoints go."""
    failed = []
    for item, outcome in zip(items, outcomes, strict=True):
        if isinstance(outcome, Result):
            store.keep(item, outcome)
            continue
        sentence = " ".join(str(outcome).split()) or type(outcome).__name__
        store.fail(item, sentence)
        failed.append((item, sentence))
        teller.say(f"item {item.index} ({item.label}) failed: {sentence}")
        teller.log(f"item {item.index} ({item.label}) failed: {sentence}")
    return failed


def _together(
    part: Part, job: cases.Job, teller: Teller
) -> Sequence[Result | checks.RunError] | None:
    """What all items of a part gave, or None where they do not run together."""
    lead, *others = part.cases
    try:
        return lead.run_together(others, job)
    except loop.Interrupted:
        raise
    except (*FAILURES, JAXTypeError) as error:
        # Together they need more memory, and no value may decide what is computed.
        teller.log(f"{len(part)} items do not run together: {str(error).splitlines()[0]}")
        teller.say("the items do not run together; one by one")
        return None


def _alone(case: cases.Case, job: cases.Job) -> Result | Exception:
    begun = job.checkpoint / "input"
    try:
        with batches.alone():
            goes_on = begun.exists() and files.kept_text(begun) == case.fingerprint()
            if not goes_on:
                _clear(job)
            locks.take_again(job.checkpoint)
            files.write_text(begun, case.fingerprint())
            return case.resume(job) if goes_on else case.run(job)
    except loop.Interrupted:
        raise
    except FAILURES as error:
        return error


def _clear(job: cases.Job) -> None:
    shutil.rmtree(job.checkpoint, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are at work
        job.checkpoint.parent.rmdir()


def _job(store: Store, teller: Teller, name: str) -> cases.Job:
    return cases.Job(
        store.folder / "parts" / name,
        store.folder / "checkpoint" / name,
        teller.every,
        teller.progress,
        lambda: None,
        lambda text: None,
        teller.log,
        lambda result, file: result.save(store.folder / "parts" / name / file),
    )
