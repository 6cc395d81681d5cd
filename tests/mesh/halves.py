"""A run that is ended after its first checkpoint, and continued on another mesh."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from typing import Any
from unittest import mock

import zitter as zt
from zitter import checkpoints, loop


def in_halves(evolve: Callable[..., Any], before: dict[str, int], after: dict[str, int]) -> Any:
    """What `evolve(checkpoint=…, …)` gives in the end."""
    save, saved = checkpoints.Checkpoint.save, []

    def save_and_stop(*arguments):
        save(*arguments)
        saved.append(arguments[1])
        raise loop.Interrupted("stopped")

    with tempfile.TemporaryDirectory() as folder:
        zt.configure(mesh=before)
        with (
            mock.patch.object(checkpoints.Checkpoint, "save", save_and_stop),
            contextlib.suppress(loop.Interrupted),
        ):
            evolve(checkpoint=folder, checkpoint_every=1e-9)
        assert saved == [1], saved
        zt.configure(mesh=after)
        return evolve(checkpoint=folder, resume=True)
