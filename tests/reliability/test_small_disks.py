"""Real disks of a few pages."""

from __future__ import annotations

import subprocess

import pytest

from marks import slow
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
