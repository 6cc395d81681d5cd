"""What can be run from a file: one protocol, whatever the physics.

    read      the objects a document describes, or what is wrong with it
    check     everything a run would refuse, before anything is written
    estimate  what would run, and what it takes
    run       compute; `resume` goes on from a checkpoint

A kind of case is one class in this folder and one entry in `zitter.cases.KINDS`.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from zitter import checks, runtime, same_run
from zitter.config.document import Document
from zitter.linalg.base import Unsupported
from zitter.results.base import Result

SETTINGS = ("precision", "device", "mesh")  # keys of every file
CHECKPOINT_EVERY = 30.0  # seconds, where nobody says otherwise
LONGEST_TITLE = 200  # characters: it stands before what a run says


@dataclasses.dataclass(frozen=True)
class Job:
    """What a case is given to run with, by whoever starts it."""

    folder: Path  # for parts of the result; the result itself is kept by who started it
    checkpoint: Path  # a folder for whatever is needed to resume
    every: float | None  # seconds between checkpoints, None for what the file says
    progress: bool
    begin: Callable[[], None]  # to be called when nothing is left to refuse, before any file
    tell: Callable[[str], None]
    log: Callable[[str], None]
    keep: Callable[[Result, str], None]  # saves a part under a name, with its input
    # Of cases that run together: inside, what is said is about the one of this number.
    about: Callable[[int], contextlib.AbstractContextManager[None]] | None = None


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What would run: `facts` for programs, `rows` for people; how many bytes it writes."""

    facts: dict[str, Any]
    rows: dict[str, str]
    written: int = 0


def checkpoints_of(seconds: float | None, every: float | None) -> int:
    """How many checkpoints a run of so many seconds writes, with that at its end."""
    every = CHECKPOINT_EVERY if every is None else every
    return 1 + int((seconds or 0.0) / max(every, 1.0))


class Cost(NamedTuple):
    """What one run takes: bytes on each device, and seconds."""

    memory_bytes: int
    to_compile: float
    to_start: float
    to_run: float


class Case(abc.ABC):
    """A calculation that a document describes, as objects that are checked."""

    document: Document
    title: str
    # Keywords of its verbs that are not the file's business.
    not_in_files: ClassVar[frozenset[str]]
    # What to do instead of extending a run with something else that differs.
    instead: ClassVar[str] = ""
    # Kinds of what it may give; any where it does not say.
    results: ClassVar[tuple[str, ...]] = ()
    # Names of what a run may leave beside its result.
    parts: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abc.abstractmethod
    def recognizes(cls, document: Document) -> bool:
        """Whether a document describes a case of this kind, be it right or wrong."""

    @classmethod
    @abc.abstractmethod
    def read(cls, document: Document) -> Case:
        """Build and check every object of the file."""

    @classmethod
    @abc.abstractmethod
    def schema(cls, definitions: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        """(JSON schema of each section, the sets of sections of which a file must have one).

        Where more is to be said of such a set, it may be a schema itself.
        """

    @abc.abstractmethod
    def check(self, estimating: bool) -> None:
        """Refuse what the run would refuse; `estimating` does not compute for it."""

    @abc.abstractmethod
    def estimate(self, every: float | None = None) -> Estimate:
        """Sizes, memory and time, after `check`; `every` as in a job."""

    @abc.abstractmethod
    def run(self, job: Job) -> Result:
        """The result, after `check`."""

    @abc.abstractmethod
    def resume(self, job: Job) -> Result:
        """The result of a run that was begun in `job.checkpoint`: the same numbers."""

    @property
    def state_bytes(self) -> int:
        """What the state that it carries takes; 0 where that is not known."""
        return 0

    @property
    def precision(self) -> str:
        """As its result tells it."""
        return runtime.settings().precision

    def joins(self, lead: Case) -> bool:
        """Whether this case can be carried together with another one, both after `check`.

        If so, it keeps what is equal in both no longer twice.
        """
        return False

    def run_together(self, others: Sequence[Case], job: Job) -> list[Result | checks.RunError]:
        """What this case and others that `joins` has let in gave, or what went wrong."""
        raise Unsupported(f"{type(self).__name__} cannot be carried together with others")

    def estimate_together(self, others: Sequence[Case]) -> Cost:
        """What all of them take as one run."""
        raise Unsupported(f"{type(self).__name__} cannot be carried together with others")

    def fingerprint(self) -> str:
        """What must be the same for a run to be continued: all but labels and the mesh.

        What is in the files that the input names counts as well.
        """
        about = runtime.describe() | {"mesh": ""}
        return same_run.fingerprint(self.document.without_mesh(), self.document.contents, about)

    def follow(self, checkpoint: Path) -> None:  # noqa: B027
        """Take on what the run in this checkpoint chose itself, where the file does not say.

        All processes do so together.
        """

    def course_fingerprint(self) -> str:
        """What must be the same for a run to be extended: all but how far it goes."""
        return self.fingerprint()


@contextlib.contextmanager
def located(section: str) -> Iterator[None]:
    """Errors begin with the section of the file they are about."""
    try:
        yield
    except checks.InputError as error:
        raise error.under(section) from None
    except Unsupported as error:
        raise checks.InputError(section, f"must suit this model, but {error}") from None


def configure(document: Document, **chosen: Any) -> runtime.Settings:
    """Precision, device and mesh: as chosen by whoever starts the run, else as in the file."""
    table = {key: document.table[key] for key in SETTINGS if key in document.table}
    table |= {key: value for key, value in chosen.items() if value is not None}
    if "mesh" in table and not isinstance(table["mesh"], dict):
        raise checks.InputError("mesh", f"must be like {{ space = 4 }}, but is {table['mesh']!r}")
    return runtime.configure(**table)


def title_of(table: dict[str, Any]) -> str:
    """What a document says it is about."""
    title = checks.instance("title", table.get("title", ""), str)
    if not title.isprintable():  # it stands in tables, logs and terminals
        raise checks.InputError(
            "title", f"must be one line of printable characters, but is {checks.shown(title)}"
        )
    if len(title) > LONGEST_TITLE:
        raise checks.InputError(
            "title", f"must have at most {LONGEST_TITLE} characters, but has {len(title)}"
        )
    return title
