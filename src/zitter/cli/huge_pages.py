"""Large arrays in huge pages: Linux mostly gives them on request only, and glibc asks only if told.

A sweep over a 256³ grid otherwise spends a third of its time on page tables. glibc reads
GLIBC_TUNABLES when a program starts, so the command line starts once more with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
LONG_COMMANDS = ("run", "sweep", "reproduce", "bench")
TUNABLE = "glibc.malloc.hugetlb=1"


def wanted(arguments: list[str], environment: Mapping[str, str], setting: str) -> bool:
    """For commands that take long, where pages come on request, unless the user has tuned glibc."""
    long = bool(arguments) and arguments[0] in LONG_COMMANDS
    return long and "[madvise]" in setting and "GLIBC_TUNABLES" not in environment


def ask_for_them() -> None:
    """Replace this process by the same command with the tunable set, where that helps."""
    try:
        setting = SETTING.read_text(encoding="ascii")
    except OSError:  # not Linux, or without huge pages
        return
    if wanted(sys.argv[1:], os.environ, setting):
        os.environ["GLIBC_TUNABLES"] = TUNABLE
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
