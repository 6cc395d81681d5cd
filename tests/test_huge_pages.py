"""When the command line starts once more to get huge pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import zitter
from zitter.cli import huge_pages

SOURCE = Path(zitter.__file__).resolve().parents[1]  # it may be used without being installed
ON_REQUEST, ALWAYS = "always [madvise] never", "[always] madvise never"


@pytest.mark.parametrize(
    ("arguments", "environment", "setting", "expected"),
    [
        (["run", "case.toml"], {}, ON_REQUEST, True),
        (["reproduce"], {}, ON_REQUEST, True),
        (["show", "out"], {}, ON_REQUEST, False),
        ([], {}, ON_REQUEST, False),
        (["run"], {"GLIBC_TUNABLES": ""}, ON_REQUEST, False),
        (["run"], {}, ALWAYS, False),
    ],
)
def test_only_long_commands_and_only_on_request(arguments, environment, setting, expected):
    assert huge_pages.wanted(arguments, environment, setting) is expected


def test_the_same_command_starts_again():
    """The replaced process prints its arguments once and knows the tunable."""
    program = (
        "import sys, os; from zitter.cli import huge_pages; from pathlib import Path; "
        "huge_pages.SETTING = Path(sys.argv[-1]); sys.argv = ['zitter', 'run']; "
        "huge_pages.ask_for_them(); print(os.environ['GLIBC_TUNABLES'])"
    )
    setting = __file__  # holds the words [madvise] as well
    found = subprocess.run(
        [sys.executable, "-c", program, setting], capture_output=True, text=True, timeout=60,
        env={"PATH": "", "PYTHONPATH": str(SOURCE)}, check=True,
    )  # fmt: skip
    assert found.stdout.split() == [huge_pages.TUNABLE]
