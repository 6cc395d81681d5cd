"""The package as people have it: a wheel in an environment of its own, without the source tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WHEEL = ("pyproject.toml", "README.md", "LICENSE", "src")


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`installed(word, …)` runs a program of that environment, in a folder that holds nothing.

    The wheel is built of a copy, so that nothing left from another build comes into it. What zitter
    needs is that of the environment of the tests: of its folder of packages none of the links is
    followed that lead to the source.
    """
    home = tmp_path_factory.mktemp("installed")
    copy, own, elsewhere = home / "copy", home / "venv", home / "elsewhere"
    copy.mkdir()
    elsewhere.mkdir()
    for name in WHEEL:
        source = ROOT / name
        if source.is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, copy / name, ignore=unwanted)
        else:
            shutil.copy(source, copy / name)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    run([*pip, "wheel", "--no-deps", "-w", str(home), str(copy)], elsewhere)
    shutil.rmtree(copy)
    venv.create(own, symlinks=True)
    (wheel,) = home.glob("zitter-*.whl")
    program = str(own / "bin" / "python")
    run([*pip, "--python", program, "install", "--no-deps", str(wheel)], elsewhere)
    packages = next((own / "lib").glob("python*/site-packages"))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return lambda *words: run([str(own / "bin" / words[0]), *words[1:]], elsewhere)


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done


@pytest.fixture
def default_run(installed, tmp_path) -> Callable[[str], None]:
    """A reproduction of the installed package: status 0 is a report without a row that fails."""

    def reproduce(name: str) -> None:
        installed("zitter", "reproduce", name, "--quiet", "--out", str(tmp_path))
        assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["ok"]

    return reproduce
