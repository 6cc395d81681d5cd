"""The wheel alone, without the source tree; the default run of each name stands in its own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from zitter import reproduce

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "softcore-hydrogen.toml"


@pytest.mark.slow
def test_an_example_runs_and_every_name_is_listed(installed, tmp_path):
    where = installed("python", "-c", "import zitter; print(zitter.__file__)").stdout.strip()
    paths = installed("python", "-c", "import sys; print(*sys.path, sep='\\n')").stdout
    assert "/venv/lib/" in where  # the wheel's
    assert str(HERE.parents[1] / "src") not in paths.splitlines()
    out = tmp_path / "out"
    installed("zitter", "run", str(EXAMPLE), "--out", str(out), "--quiet")
    assert (out / "result.h5").is_file()
    listed = installed("zitter", "reproduce").stdout
    assert all(f"{name} " in listed for name in reproduce.NAMES)


@pytest.mark.parametrize("name", reproduce.NAMES)
def test_every_name_is_run_as_installed(name):
    text = (HERE / f"test_{name.replace('-', '_')}.py").read_text(encoding="utf-8")
    assert f'default_run("{name}")' in text
