"""Compiled programs that a disk has cut off or does not take.

JAX writes an entry of its cache in place, and one that a full disk cuts off keeps its name: every
later run would warn of it, and compile again. Its warnings name the program, and entries are called
PROGRAM-digest-cache.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

_WARNING = re.compile(
    r"^Error (reading|writing) persistent compilation cache entry for '([^']+)'"
    r"(?:: \w+: (?:\[Errno \d+\] )?([^:]*))?"
)


def told(warning: str) -> str:
    """Remove the entries that such a warning is about; what is left to say of it, if anything."""
    found = _WARNING.match(warning)
    if found is None:
        return warning
    import jax

    doing, program, reason = found.groups()
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    removed = 0
    with contextlib.suppress(OSError):
        for entry in Path(folder or "").glob("*-cache"):
            if entry.name.rsplit("-", 2)[0] == program:
                entry.unlink(missing_ok=True)
                removed += 1
    if doing == "reading" and removed > 0:
        return ""
    return (
        f"compiled programs cannot be kept in {folder} ({(reason or 'unknown').strip()}): they are "
        "compiled again where they are needed"
    )
