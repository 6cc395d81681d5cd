"""Marks of single parameters."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """Left to the slow tests: others of its kind are among the fast ones."""
    return pytest.param(*values, marks=pytest.mark.slow)
