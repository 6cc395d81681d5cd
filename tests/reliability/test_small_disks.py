"""Real disks: one of a few pages, one that cannot be written to, a folder that somebody removes."""

from __future__ import annotations

import errno
import shutil
import subprocess
from pathlib import Path

import pytest

from marks import slow
from reliability.disks import Failing, Watched, put
from reliability.runs import CASES, Run, same

RARE = ("eigenstates", "optimize", "dmc", "sweep")  # in the fast tests: evolve and vmc


@pytest.fixture(scope="module", params=[slow(kind) if kind in RARE else kind for kind in CASES])
def whole(request, tmp_path_factory):
    """(a kind of run, its numbers)."""
    run = Run(request.param, tmp_path_factory.mktemp(request.param))
    assert run.status() == 0
    return request.param, run.numbers()


@pytest.fixture
def small_disk(tmp_path):
    """A function that gives the folder `out` so many KiB; only root may."""
    out = tmp_path / "out"
    out.mkdir()

    def sized(size: int, *more: str) -> None:
        options = ["-o", ",".join([*more, f"size={size}k"])]
        done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", out], capture_output=True)
        if done.returncode:
            pytest.skip("file systems cannot be mounted here")

    yield sized
    subprocess.run(["umount", out], capture_output=True)


def sentence(told: str) -> str:
    """The only one, but for warnings."""
    [line] = [x for x in told.splitlines() if not x.startswith("warning: ")]
    assert line.startswith("error: "), told
    return line


def test_a_disk_of_a_few_pages(whole, small_disk, tmp_path, capsys):
    """Full somewhere on the way; with more space the run goes on to the same bits."""
    kind, numbers = whole
    run = Run(kind, tmp_path)
    ended = []
    for size in (12, 28, 52):
        small_disk(size)
        ended.append(run.status("--resume"))
        told = capsys.readouterr().err
        if ended[-1]:
            assert ended[-1] == 1 and "No space left on device" in sentence(told)
            assert not list(run.out.glob("**/.*")), "temporary files were left"
        small_disk(8000, "remount")
        assert run.status("--resume") == 0, capsys.readouterr().err
        assert same(run.numbers(), numbers)
        assert not run.leftovers()
        subprocess.run(["umount", run.out], check=True)
    assert 1 in ended


def test_a_disk_that_cannot_be_written_to(whole, tmp_path, capsys):
    kind, numbers = whole
    run = Run(kind, tmp_path)
    with put(Failing(0, errno.EROFS)):
        assert run.status() == 1
    assert "Read-only file system" in sentence(capsys.readouterr().err)
    assert run.status("--resume") == 0 and same(run.numbers(), numbers)


@pytest.mark.parametrize("moment", [1, 3])
def test_a_folder_that_is_removed_while_a_run_is_on(moment, whole, tmp_path, capsys):
    """One sentence, or all of the result where the folder could be made again before it."""
    kind, numbers = whole

    class Gone(Watched):
        def replace(self, source: Path, target: Path) -> None:
            super().replace(source, target)
            if sum(call == "replace" for call, _ in self.calls) == moment:
                shutil.rmtree(run.out)

    run = Run(kind, tmp_path)
    with put(Gone()):
        code = run.status()
    told = capsys.readouterr().err
    if code:
        assert code == 1 and "No such file or directory" in sentence(told)
    else:
        assert same(run.numbers(), numbers)
    assert run.status("--resume") == 0 and same(run.numbers(), numbers)
    assert not run.leftovers()
