"""The command line in this process: status, what it printed, and what it said of errors."""

from __future__ import annotations

from zitter import cli


def zitter(capsys, *arguments: object) -> tuple[int, str, str]:
    code = cli.status([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err
