"""Which command lines the programs of benchmarks/ take, as far as their options go.

    python tests/programs.py < lines        of each a line: {"line": …, "json": …} or {"refused": …}

Each program is begun and stopped as soon as it has read its options. That is done in a process of
its own, since programs set the environment when they are imported.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import shlex
import sys
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class Read(BaseException):
    """The options have been read."""


def loaded(program: Path) -> types.ModuleType:
    """Under a name that no other module has."""
    spec = importlib.util.spec_from_file_location(f"program_{program.stem}", program)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def read(line: str) -> dict[str, Any]:
    """What a program makes of `python program …`."""
    name, *words = shlex.split(line)[1:]
    parse = argparse.ArgumentParser.parse_args

    def stop(parser: argparse.ArgumentParser, *given: Any) -> Any:
        raise Read(parse(parser, *given))

    said = io.StringIO()
    try:
        argparse.ArgumentParser.parse_args = stop  # type: ignore[assignment, method-assign]
        with contextlib.redirect_stderr(said):
            sys.argv = [str(ROOT / name), *words]
            loaded(ROOT / name).main()
    except Read as options:
        return {"line": line, "json": getattr(options.args[0], "json", None)}
    except SystemExit:
        return {"line": line, "refused": said.getvalue().splitlines()[-1:]}
    finally:
        argparse.ArgumentParser.parse_args = parse  # type: ignore[method-assign]
    return {"line": line, "refused": ["it asked for no options"]}


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests")]
    for given in sys.stdin.read().splitlines():
        print(json.dumps(read(given)), flush=True)
