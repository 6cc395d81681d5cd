"""zitter solves the Schrödinger and Dirac equations on CPUs, GPUs and clusters.

The public names are listed in `zitter.public` and loaded at the first use of any of them, so that
`zitter --help` does not wait for JAX.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from zitter import plot as plot
    from zitter.public import *  # noqa: F403

_ON_REQUEST = ("plot",)


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'zitter' has no attribute {name!r}")
    # `from zitter import checks` asks here first, also while `zitter.public` is being loaded.
    if importlib.util.find_spec(f"zitter.{name}") is not None:
        return importlib.import_module(f"zitter.{name}")
    public = importlib.import_module("zitter.public")
    if name == "__all__":
        return public.__all__
    globals().update({item: getattr(public, item) for item in public.__all__})
    if name not in globals():
        raise AttributeError(f"module 'zitter' has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    public = importlib.import_module("zitter.public")
    return sorted([*public.__all__, *_ON_REQUEST, "__version__"])
