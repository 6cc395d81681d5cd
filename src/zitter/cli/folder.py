"""The output directory of a run: `result.h5`, `log.txt`, and `checkpoint/` while it is not done."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from zitter import cases, checks, config, files, locks, processes, same_run
from zitter.kinds import load
from zitter.results.base import Result


@dataclasses.dataclass
class Folder:
    """One case's directory, and what was asked to be done with an earlier run there."""

    path: Path
    case: cases.Case
    resume: bool
    overwrite: bool
    extend: bool = False  # --resume, but farther than was asked for
    keep: bool = False  # what it takes to extend it
    # What `begin` found there of a run: its fingerprints, and whether its checkpoint was to stay.
    _earlier: tuple[str, bool] | None = dataclasses.field(default=None, init=False)

    @property
    def result(self) -> Path:
        return self.path / "result.h5"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def _fingerprint(self) -> Path:
        return self.checkpoint / "input"

    @property
    def _kept(self) -> Path:
        """There where the checkpoint of a finished run is to stay."""
        return self.checkpoint / "kept"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The directory for this run alone, without what a killed one was writing."""
        self._require_directory()
        with locks.held(self.path, "--out"):
            files.clear_temporary(self.path, *files.tree(self.checkpoint))
            yield

    def finished(self) -> Result | None:
        """The finished run that `--resume` asks for, if there is one; else the way must be free."""
        if self.overwrite and (self.resume or self.extend):
            option = "--resume" if self.resume else "--extend"
            raise checks.InputError(option, "must not be given together with --overwrite")
        if self.overwrite:
            return None
        if self.extend:
            if not self._fingerprint.exists():
                raise checks.InputError(
                    "--extend",
                    f"must find the checkpoint of a run, but there is none in {self.path}: a run "
                    "that finishes leaves it with --keep-checkpoint",
                )
            return None
        if self.resume and self.result.exists():
            found = load(self.result)
            self._require_own(found)
            wanted = self.case.document.without_mesh()
            have = config.parse(found.input).without_mesh()
            marks = same_run.fingerprint(have), same_run.fingerprint(wanted)
            if marks[0] != marks[1] and self._begun()[0] == self.case.fingerprint():
                return None  # a finished run is being extended to this one
            self._require_same(*marks, self.result)
            own = self._begun()[0] in ("", self.case.fingerprint())  # and of no extension
            if own and not self._kept.exists():
                self.end()  # a kill may have come before that
            return found
        if self.resume and self._fingerprint.exists():
            return None
        self._require_free()
        return None

    def continues(self) -> bool:
        """Whether a run that was begun here goes on; it must be the same."""
        if self.extend:
            if self._begun()[1] != self.case.course_fingerprint():
                raise checks.InputError(
                    "--extend",
                    f"must change nothing but how far the run in {self.path} goes (blocks, "
                    "iterations, the end of the time by whole steps with save_every as it was), "
                    f"but more is different{self.case.instead}",
                )
            return True
        if self.resume and self._fingerprint.exists():
            self._require_same(self._begun()[0], self.case.fingerprint(), self.checkpoint)
            return True
        return self.resume and self._unfinished()

    def begin(self) -> None:
        """Take the directory for this run."""
        locks.require_ours(self.path)
        if self.overwrite:
            self._remove()
        if self._fingerprint.exists():
            self._earlier = files.kept_text(self._fingerprint), self._kept.exists()
        marks = self.case.fingerprint(), self.case.course_fingerprint()
        files.write_text(self._fingerprint, "\n".join(marks) + "\n")
        files.disk.remove(self._kept)

    def withdraw(self) -> None:
        """Leave the directory to the run that was there, since this one is refused."""
        if self._earlier is not None and locks.ours(self.path):
            marks, kept = self._earlier
            files.write_text(self._fingerprint, marks)
            if kept:
                files.write_text(self._kept, "")

    def _begun(self) -> list[str]:
        """The fingerprints of the run that was begun here: whole, and without how far it goes."""
        if not self._fingerprint.exists():
            return ["", ""]
        return [*files.kept_text(self._fingerprint).split(), "", ""]

    def end(self) -> None:
        locks.require_ours(self.path)
        if self.keep:
            files.write_text(self._kept, "")
            return
        # The result is there: what cannot be removed does no harm.
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    def log(self, text: str) -> None:
        if processes.first():
            self._append(text)

    def logged(self, text: str) -> checks.RunError:
        """The error that ends a run, after a line in the log."""
        self.log(text)
        return checks.RunError(text)

    def alone(self, text: str) -> processes.Alone:
        """The same of an error that only this process knows of."""
        self._append(f"{processes.label()}{text}")
        return processes.Alone(text)

    def _append(self, text: str) -> None:
        if locks.ours(self.path):
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            files.append(self.path / "log.txt", f"{now}  {text}\n")

    def saved(self) -> str:
        """What is saved where, as a sentence."""
        if not self._unfinished():
            return "Nothing was saved."
        return f"The state is saved in {self.checkpoint}.{self.how_to_resume()}"

    def how_to_resume(self) -> str:
        return " --resume continues from there." if self._unfinished() else ""

    def _unfinished(self) -> bool:
        return any(self.checkpoint.glob("**/state*.h5"))

    def _require_directory(self) -> None:
        out = self.path
        there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
        if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
            raise checks.InputError("--out", f'must be writable, but "{there}" is not')

    def _require_free(self) -> None:
        """Nothing lies there that a run would replace, unless it is continued."""
        if not self.resume and (self.result.exists() or self._unfinished()):
            what = "a result" if self.result.exists() else "an unfinished run"
            raise checks.InputError(
                "--out",
                f"must be new, or go with --resume or --overwrite, but {self.path} holds {what}",
            )
        for name in self.case.parts:
            if (self.path / name).exists():
                raise checks.InputError(
                    "--out",
                    f"must be new or go with --overwrite, but {self.path} holds {name} and no "
                    "unfinished run",
                )

    def _require_own(self, found: Result) -> None:
        """A finished result is one that this case would give, in the precision asked for."""
        if self.case.results and found.kind not in self.case.results:
            wanted = " or ".join(self.case.results)
            raise checks.InputError(
                "--resume",
                f"must find a result of this kind ({wanted}), but {self.result} holds: "
                f"{found.kind}",
            )
        precision = found.info.get("precision", self.case.precision)
        if precision != self.case.precision:
            raise checks.InputError(
                "--resume",
                f"must continue the same run, but {self.result} was computed in {precision} "
                f"precision, and {self.case.precision} is asked for",
            )

    def _require_same(self, found: str, wanted: str, where: Path) -> None:
        try:
            same_run.require(found, wanted, where)
        except checks.InputError as error:
            raise checks.InputError("--resume", error.message) from None

    def _remove(self) -> None:
        """What an earlier run left, and nothing else that may lie in the directory."""
        every = {name for kind in cases.KINDS for name in kind.parts}
        for name in ("result.h5", "log.txt", *every):
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.checkpoint, ignore_errors=True)
