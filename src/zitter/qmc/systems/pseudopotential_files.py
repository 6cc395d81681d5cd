"""Pseudopotentials in text, as their authors publish them.

NWChem                               GAMESS
    C nelec 2                            C-ccECP GEN 2 1
    C ul                                 3
    1  14.43502   4.00000                4.00000    1  14.43502
    3   8.39889  57.74008                57.74008   3   8.39889
    2   7.38188 -25.81955                -25.81955  2   7.38188
    C S                                  1
    2   7.76079  52.13345                52.13345   2   7.76079

Both list c r^{n−2} e^{−αr²}, as n, α, c or as c, n, α: the local channel first, then differences of
s, p, … to it. A plain table has columns r, v_loc, v_0, v_1, … in bohr and hartree.
"""

from __future__ import annotations

import os
import re
from typing import NoReturn

import numpy as np

from zitter import checks, data_files

# Symbols begin with capitals: no need for spaces.
_SYMBOLS = (
    "HHeLiBeBCNOFNeNaMgAlSiPSClArKCaScTiVCrMnFeCoNiCuZnGaGeAsSeBrKrRbSrYZrNbMoTcRuRhPdAgCdIn"
    "SnSbTeIXeCsBaLaCePrNdPmSmEuGdTbDyHoErTmYbLuHfTaWReOsIrPtAuHgTlPbBiPoAtRn"
)
ELEMENTS = re.findall("[A-Z][a-z]?", _SYMBOLS)
WAVES = "spdfgh"

Term = tuple[float, float, int]  # c, α and the power of r


def content(text_or_file: str | os.PathLike[str]) -> str:
    """The text itself, or that of a file of this name."""
    if isinstance(text_or_file, str) and "\n" in text_or_file:
        return text_or_file
    return data_files.text(text_or_file)


def _lines(text: str) -> list[list[str]]:
    """Words of all lines that say something."""
    kept = (re.split(r"[#!]", line)[0].split() for line in text.splitlines())
    return [words for words in kept if words]


def _refuse(what: str, line: list[str] | None) -> NoReturn:
    raise checks.InputError(
        "text", f"must have {what}, but " + ("ends" if line is None else f'has "{" ".join(line)}"')
    )


def _number(word: str, line: list[str]) -> float:
    try:
        value = float(word.lower().replace("d", "e"))
    except ValueError:
        _refuse("numbers there", line)
    if not np.isfinite(value):
        _refuse("finite numbers there", line)
    return value


def _term(line: list[str], order: tuple[int, int, int]) -> Term:
    """c, α and power of a line whose words are c, n, α in some order."""
    if len(line) != 3:
        _refuse("three numbers in a line", line)
    c, n, a = (_number(line[i], line) for i in order)
    if n != int(n) or not 0 <= n <= 6:
        _refuse("a power from 0 to 6", line)
    if a <= 0:
        _refuse("positive exponents", line)
    return c, a, int(n) - 2


def nuclear_charge(symbol: str) -> int:
    """Z of an element by its symbol, in any case."""
    names = [name.lower() for name in ELEMENTS]
    if symbol.lower() not in names:
        raise checks.InputError("symbol", f'must be that of an element, but is "{symbol}"')
    return names.index(symbol.lower()) + 1


def read_nwchem(text: str, symbol: str | None) -> tuple[str, int, list[list[Term]]]:
    """(symbol, core electrons, terms of the local channel and of s, p, …) of one element."""
    core: dict[str, int] = {}
    found: dict[str, dict[str, list[Term]]] = {}
    terms: list[Term] | None = None
    for line in _lines(text):
        if line[0].lower() in ("ecp", "end"):
            continue
        if not line[0][0].isalpha():
            if terms is None:
                _refuse('a line like "C ul" before numbers', line)
            terms.append(_term(line, (2, 0, 1)))
            continue
        element = line[0].capitalize()
        nuclear_charge(element)
        if len(line) == 3 and line[1].lower() == "nelec":
            core[element] = int(_number(line[2], line))
        elif len(line) == 2 and (line[1].lower() == "ul" or line[1].lower() in WAVES):
            terms = found.setdefault(element, {}).setdefault(line[1].lower(), [])
        else:
            _refuse('lines like "C nelec 2", "C ul" or "C S"', line)
    element = _one_element(sorted(core), symbol)
    channels = found.get(element, {})
    if "ul" not in channels:
        _refuse(f'a local channel "{element} ul"', None)
    waves = [w for w in WAVES if w in channels]
    if waves != list(WAVES[: len(waves)]):
        _refuse(f"channels from s on of {element}", [*waves])
    return element, core[element], [channels[name] for name in ("ul", *waves)]


def _one_element(found: list[str], symbol: str | None) -> str:
    if symbol is None and len(found) == 1:
        return found[0]
    if not found:
        _refuse('a line like "C nelec 2"', None)
    if symbol is None or symbol.capitalize() not in found:
        raise checks.InputError(
            "symbol", f"must be one of {', '.join(found)}, but is {symbol or 'not given'}"
        )
    return symbol.capitalize()


def is_nwchem(text: str) -> bool:
    """Whether some line reads "C nelec 2"."""
    return any(len(line) == 3 and line[1].lower() == "nelec" for line in _lines(text))


def is_gamess(text: str) -> bool:
    """Whether the first line reads "C-ccECP GEN 2 1"."""
    lines = [line for line in _lines(text) if not line[0].startswith("$")]
    return bool(lines) and len(lines[0]) > 1 and lines[0][1].upper() == "GEN"


def read_gamess(text: str) -> tuple[str, int, list[list[Term]]]:
    """(symbol, core electrons, terms of the local channel and of s, p, …)."""
    lines = [x for x in _lines(text) if not x[0].startswith("$")]
    if not lines or len(lines[0]) != 4 or lines[0][1].upper() != "GEN":
        _refuse('a first line like "C-ccECP GEN 2 1"', lines[0] if lines else None)
    head, rest = lines[0], iter(lines[1:])
    symbol = re.split(r"[-_\d]", head[0])[0]
    nuclear_charge(symbol)
    core, highest = (int(_number(word, head)) for word in head[2:])
    channels = []
    for _ in range(highest + 1):
        line = next(rest, None)
        if line is None or not checks.is_count(line[0]):
            _refuse("the number of terms of a channel", line)
        terms = []
        for _ in range(int(line[0])):
            entry = next(rest, None)
            if entry is None:
                _refuse(f"{line[0]} terms in a channel", None)
            terms.append(_term(entry, (0, 1, 2)))
        channels.append(terms)
    left = next(rest, None)
    if left is not None:
        _refuse(f"{highest + 1} channels and nothing after them", left)
    return symbol.capitalize(), core, channels


def read_table(text: str) -> np.ndarray:
    """Columns r, v_loc, v_0, …: shape (columns, rows)."""
    lines = _lines(text)
    if not lines:
        _refuse("columns r, v_loc, v_0, …", None)
    for line in lines:
        if len(line) < 2 or len(line) != len(lines[0]):
            _refuse("as many columns in each line, two or more", line)
    return np.array([[_number(word, line) for word in line] for line in lines]).T
