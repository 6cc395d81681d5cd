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

    @property
    def result(self) -> Path:
        return self.path / "result.h5"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def _fingerprint(self) -> Path:
        return self.checkpoint / "input"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The directory for this run alone, without what a killed one was writing."""
        self._require_directory()
        with locks.held(self.path, "--out"):
            files.clear_temporary(self.path)
            yield

    def finished(self) -> Result | None:
        """The finished run that `--resume` asks for, if there is one; else the way must be free."""
        if self.overwrite and self.resume:
            raise checks.InputError("--resume", "must not be given together with --overwrite")
        if self.overwrite:
            return None
        if self.resume and self.result.exists():
            found = load(self.result)
            wanted = self.case.document.without_labels()
            have = config.parse(found.input).without_labels()
            self._require_same(
                same_run.fingerprint(have), same_run.fingerprint(wanted), self.result
            )
            return found
        if self.resume and self._fingerprint.exists():
            return None
        self._require_free()
        return None

    def continues(self) -> bool:
        """Whether a run that was begun here goes on; it must be the same."""
        if self.resume and self._fingerprint.exists():
            kept = files.kept_text(self._fingerprint)
            self._require_same(kept, self.case.fingerprint(), self.checkpoint)
            return True
        return self.resume and self._unfinished()

    def begin(self) -> None:
        """Take the directory for this run."""
        if self.overwrite:
            self._remove()
        files.write_text(self._fingerprint, self.case.fingerprint())

    def end(self) -> None:
        # The result is there: what cannot be removed does no harm.
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    def log(self, text: str) -> None:
        if not processes.first():
            return
        files.append(self.path / "log.txt", f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {text}\n")

    def logged(self, text: str) -> checks.RunError:
        """The error that ends a run, after a line in the log."""
        self.log(text)
        return checks.RunError(text)

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
        if out.exists() and not out.is_dir():
            raise checks.InputError("--out", f'must be a directory, but "{out}" is a file')
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
