"""Every measured figure in README and docs beside the record it comes from.

    python tests/figures.py             the list: page, line, figure, record, what was computed
    python tests/figures.py --update    write what the records say now in place of what differs

Below a paragraph or table a comment, which the built page does not show, names a record of
benchmarks/results and how each figure follows from it:

    <!-- record atoms_step_cpu
    1.1 = row(what="AngularSplit")["ms"]
    0.3, 0.6 = [min(ms), max(ms)]
    column 2 = [r["ms"] for r in rows if r["precision"] == "double"]
    -->

A figure, as printed, must stand in the block above, and be the value rounded to the digits printed.
`column n` are the numbers of the n-th column of the table above, from the top; None is a cell that
is not compared, a list has several numbers. In expressions `rows` are what was measured,
`projected` is what was not, `row(key=value, …)` is the one row of both with these values,
`every(key)` the values that measured rows have of it, and `record` is all. A pair (value, error) is
printed as 1.234(5).

Times and rates without such a comment are found by `bare`, unless one says where they are from:

    <!-- no record: 1.17 s, 2.99 s (the paper's) -->
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMENT = re.compile(r"^<!-- (record \w+\n.*?|no record: .*?)-->\n?", re.S | re.M)
SIGNS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")
NUMBER = re.compile(
    r"[−-]?\d+(?:[  ]\d{3})*(?:\.\d+)?(?:e-?\d+|·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?(?:\(\d+\))?|10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"
)
TIME = re.compile(r"(?<![\w.^{])([\d.]+) (ms|µs|s|minutes|GB/s|TB/s|TFLOP/s)(?![\w/])")


@dataclasses.dataclass(frozen=True)
class Figure:
    page: str
    line: int
    text: str  # as printed
    record: str
    expression: str
    value: Any
    fault: str = ""
    cell: tuple[int, int] | None = None  # row and column of a table, from 0


def plain(text: str) -> tuple[str, int]:
    """(digits, power of ten) of a number as pages print it: 1 930, −0.5, 3e-16, 2·10⁻⁴, 10⁻⁶."""
    text = re.sub(r"[\s$\\{}^,]", "", text.replace("\\cdot", "·")).translate(SIGNS)
    if found := re.fullmatch(r"(-?[\d.]+)(?:e|·10)(-?\d+)", text):
        return found[1], int(found[2])
    if found := re.fullmatch(r"10(-\d+)", text):
        return "1", int(found[1])
    return text, 0


def last_digit(text: str) -> int:
    """The power of ten of the last digit that counts; of 860 000 it is the sixth from the right."""
    digits, power = plain(text)
    if "." in digits:
        return power - len(digits.partition(".")[2])
    zeros = len(digits) - len(digits.rstrip("0")) if len(digits.lstrip("-")) > 3 else 0
    return power + zeros


def agrees(text: str, value: Any) -> bool:
    """Whether a number as printed is the value, rounded."""
    if isinstance(value, tuple):
        found = re.fullmatch(r"(.*)\((\d+)\)", text.strip())
        if not found:
            return False
        unit = 10.0 ** last_digit(found[1])
        return agrees(found[1], value[0]) and abs(int(found[2]) * unit - value[1]) <= 0.501 * unit
    digits, power = plain(text)
    if not re.fullmatch(r"-?\d+(\.\d*)?", digits) or not isinstance(value, int | float):
        return False
    return abs(float(digits) * 10.0**power - value) <= 0.501 * 10.0 ** last_digit(text)


def shown(value: Any, like: str) -> str:
    """A value in the form of another number, with as many digits."""
    if isinstance(value, tuple):
        power = math.floor(math.log10(value[1])) - 1  # two digits of the error
        error = round(value[1] / 10.0**power)
        return shown_fixed(value[0], max(-power, 0)) + f"({error})"
    digits, power = plain(like)
    kept = digits if "." in digits else digits[: len(digits) - (last_digit(like) - power)]
    count = max(len(kept.replace(".", "").lstrip("-0")), 1)
    if re.search(r"e-?\d", like):
        mantissa, _, power = f"{value:.{count - 1}e}".partition("e")
        return f"{mantissa}e{int(power)}"
    if "10" in like and ("·" in like or "⁻" in like):
        mantissa, _, power = f"{value:.{count - 1}e}".partition("e")
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"10{raised}" if mantissa == "1" and "·" not in like else f"{mantissa}·10{raised}"
    exponent = 0 if value == 0 else math.floor(math.log10(abs(float(f"{value:.{count - 1}e}"))))
    count = max(count, exponent + 1) if exponent < 3 else count  # no zeros for digits below 1000
    text = shown_fixed(float(f"{value:.{count - 1}e}"), max(count - 1 - exponent, 0))
    if " " in like:
        whole, _, rest = text.partition(".")
        text = f"{int(whole):,}".replace(",", " ") + (f".{rest}" if rest else "")
    return text


def shown_fixed(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}".replace("-", "−")


@functools.cache
def loaded(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def evaluated(expression: str, name: str) -> Any:
    record = loaded(name)
    rows = record.get("measured", record.get("rows"))

    def row(**wanted: Any) -> dict[str, Any]:
        both = [*rows, *record.get("projected", [])]
        found = [r for r in both if all(r.get(k) == v for k, v in wanted.items())]
        if len(found) != 1:
            raise LookupError(f"{len(found)} rows of {name} have {wanted}")
        return found[0]

    def every(key: str) -> list[Any]:
        return [r[key] for r in rows if key in r]

    names = {"record": record, "rows": rows, "projected": record.get("projected", [])}
    return eval(expression, names | {"row": row, "every": every})


def cells(block: str, column: int) -> list[str]:
    """The column of the last table in a block, counted from 1, without its head."""
    lines = [line for line in block.splitlines() if line.startswith("|")]
    return [split(line)[column - 1].strip() for line in lines[2:]]


def split(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.strip().strip("|"))


def figures(page: Path) -> Iterator[Figure]:
    """All figures of a page that have a record, with what is wrong with them."""
    text = page.read_text(encoding="utf-8")
    start, block = 0, ""
    for comment in COMMENT.finditer(text):
        # Several comments, one for each record, may follow one block.
        block = text[start : comment.start()].rstrip().rsplit("\n\n", 1)[-1] or block
        start = comment.end()
        if comment[1].startswith("no record"):
            continue
        head, *lines = comment[1].strip().splitlines()
        name = head.removeprefix("record ").strip()
        for line in lines:
            at = text.count("\n", 0, comment.start()) + 1
            yield from checked(page.name, at, block, name, *map(str.strip, line.split(" = ", 1)))


def checked(
    page: str, line: int, block: str, name: str, printed: str, expression: str
) -> Iterator[Figure]:
    value = evaluated(expression, name)
    places: list[Any] = []
    if found := re.fullmatch(r"column (\d+)", printed):
        texts, values = [], []
        for row, (cell, one) in enumerate(
            itertools.zip_longest(cells(block, int(found[1])), value, fillvalue="")
        ):
            several = one if isinstance(one, list) else [one]
            numbers = [] if one is None else NUMBER.findall(cell)
            if len(numbers) < len(several) and one is not None:
                yield Figure(page, line, cell, name, expression, one, f"has not {one}")
                continue
            texts += numbers[: len(several)]
            values += several[: len(numbers)]
            places += [(row, int(found[1]) - 1)] * min(len(numbers), len(several))
    else:
        texts = [part.strip() for part in printed.split(";" if ";" in printed else ", ")]
        values = list(value) if len(texts) > 1 else [value]
    for text, one, cell in zip(texts, values, places or [None] * len(texts), strict=True):
        if one is None:
            continue
        fault = "" if agrees(text, one) else f"is {one}"
        if not re.search(rf"(?<![\d.]){re.escape(text)}(?!\.?\d)", block):
            fault = "does not stand in the block above"
        yield Figure(page, line, text, name, expression, one, fault, cell)


def bare(page: Path) -> list[str]:
    """Times and rates in blocks that say neither which record nor why there is none."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), text, flags=re.S)
    known = [(figure.line, figure.text) for figure in figures(page)]
    found, line = [], 1
    for block in re.split(r"(\n\n+(?!<!-- ))", text):
        last = line + block.count("\n")
        covered = " ".join(COMMENT.findall(block)) + " "
        covered += " ".join(text for at, text in known if line <= at <= last)
        for figure, unit in TIME.findall(COMMENT.sub("", block)):
            if not re.search(rf"(?<![\d.]){re.escape(figure)}(?!\.?\d)", covered):
                found.append(f"{page.name}: {figure} {unit}")
        line = last
    return found


def updated(page: Path) -> str:
    """The page with its figures as the records have them, in the same form."""
    text = page.read_text(encoding="utf-8")
    for figure in figures(page):
        if not figure.fault or "does not stand" in figure.fault:
            continue
        new = shown(figure.value, figure.text)
        # The block and the comment that names it, which end at this line.
        lines = text.split("\n")
        start = figure.line - 1
        while start > 0 and (lines[start - 1].strip() or lines[start].startswith("<!-- ")):
            start -= 1
        end = next(i for i in range(figure.line - 1, len(lines)) if "-->" in lines[i])
        part = "\n".join(lines[start : end + 1])
        if figure.cell is not None:
            row, column = figure.cell
            at = [i for i in range(start, end) if lines[i].startswith("|")][row + 2]
            words = split(lines[at])
            words[column] = words[column].replace(figure.text, new)
            lines[at] = "|" + "|".join(words) + "|"
        else:
            pattern = rf"(?<![\d.]){re.escape(figure.text)}(?!\.?\d)"
            lines[start : end + 1] = re.sub(pattern, lambda _, new=new: new, part).split("\n")
        text = "\n".join(lines)
    return text


def main() -> None:
    if "--update" in sys.argv[1:]:
        for page in PAGES:
            page.write_text(updated(page), encoding="utf-8")
    for page in PAGES:
        for figure in figures(page):
            words = [f"{figure.page}:{figure.line}", figure.text, figure.record, figure.expression]
            print("  ".join(words), f"  WRONG: {figure.fault}" if figure.fault else "", sep="")
        for text in bare(page):
            print(f"{text}  NO RECORD")


if __name__ == "__main__":
    main()
