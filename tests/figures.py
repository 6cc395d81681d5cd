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
`every(key)` the values that measured rows have of it, `seconds` how long a reproduction took,
`rows_of(name)` what another record measured, `bound(what)` the bytes per second at which the
present record of the same device's bounds reads, writes or copies memory, and `record` is all. A
pair (value, error) is printed as 1.234(5). `spread` is how far apart repetitions of a time were,
the median of all that the record has, and `widest` the most, both as parts of the time. What comes
from `projected` must be called projected, predicted or a model's in its paragraph, or in the head
or row of its table.

A time, a rate or a ratio of times has no more digits than the spread of its record supports
(`supported`), and a page that takes some from a record of wide spread says how wide (`wide`).

Times, rates, sizes in memory, lengths, energies, σ, %, "times as" and small errors (2·10⁻⁴, 10⁻⁷)
without such a comment are found by `bare`, also numbers of millions, "ten times" in words and
columns of tables whose heads have the unit, unless one says where they are from:

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
TIME, SIZE = "ns|µs|ms|s|seconds|minutes|hours|days|fs", "kB|MB|MiB|GB|GiB|TB"
COUNTS = "thousand|million|billion"
UNITS = rf"{COUNTS}|{TIME}|{SIZE}|GB/s|TB/s|TFLOP/s|µHa|mHa|Ha|hartree|eV|bohr|W/cm²|σ|%|°"
WORDS = "two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|fifty|hundred"
TIMES = "times(?! \\d)(?: (?:as|the|less|more|fewer|faster|slower|longer|larger|smaller|too))?"
POWER = r"(?:e{0}\d+|·10{0}[⁰¹²³⁴⁵⁶⁷⁸⁹]+|\\cdot ?10\^\{{{0}\d+\}})"
ONE = rf"\d[\d.]*(?:{POWER.format('[-⁻]?')})?(?:\(\d+\))?"
START = r"(?<![\w.^{\[≤<×])"
JOINED = rf"{START}{ONE}(?:(?:, | and | to | or |–){ONE})*"
MEASURED = re.compile(rf"({JOINED})(?: ({UNITS}|{TIMES})|([σ°%×]))(?![\w/]| ?\d)")
SMALL = re.compile(rf"{START}\d[\d.]*{POWER.format('[-⁻]')}")  # an error, or what is lost
# A power alone is one, too, where it is no limit and has nothing in front.
ALONE = re.compile(
    r"(above |below |than |[<>≤≥×=·~] ?|\\(?:le|ge|cdot) ?)?\$?"
    r"(?<![\w.^{])(10(?:\^\{-\d+\}|⁻[⁰¹²³⁴⁵⁶⁷⁸⁹]+))"
)
IN_WORDS = re.compile(rf"\b({WORDS})(?: (?:to|or|and) ({WORDS}))? ({TIMES})\b")
HEADED = re.compile(rf"(?:^|[ (,])({UNITS}|[Mm]illiseconds)(?:$|[ ),])")
# Words in the keys of times, of ratios of times, and of ratios of something else.
TIMED = {"s", "ms", "us", "second", "seconds", "milliseconds", "microseconds", "tflops", "faster"}
RATIOS, OTHERS = {"ratio", "over", "share", "times"}, {"memory", "error", "errors"}
WIDE, WIDEST = 0.1, 1.0  # spreads, of the median time and of any, that a page has to tell
NOT_MEASURED = re.compile("project|predict|model", re.I)


@dataclasses.dataclass(frozen=True)
class Figure:
    page: str
    line: int
    text: str  # as printed
    record: str
    expression: str
    value: Any
    fault: str = ""
    cell: tuple[int, int, int] | None = None  # row, column, number in it, from 0
    most: int | None = None  # digits that the spread of times supports


def plain(text: str) -> tuple[str, int]:
    """(digits, power of ten) of a number as pages print it: 1 930, −0.5, 3e-16, 2·10⁻⁴, 10⁻⁶."""
    text = re.sub(r"[\s$\\{}^,]", "", text.replace("\\cdot", "·")).translate(SIGNS)
    if found := re.fullmatch(r"(-?[\d.]+)(?:e|·10)(-?\d+)", text):
        return found[1], int(found[2])
    if found := re.fullmatch(r"10(-\d+)", text):
        return "1", int(found[1])
    return text, 0


def last_digit(text: str) -> int:
    """The power of ten of the last digit that counts: of 860 000 that of the 6, of 2000 that of the
    first 0. Zeros at the end of a whole number may be rounded, but not the second digit."""
    digits, power = plain(text)
    if "." in digits:
        return power - len(digits.partition(".")[2])
    count = len(digits.lstrip("-"))
    zeros = len(digits) - len(digits.rstrip("0")) if count > 3 else 0
    return power + min(zeros, max(count - 2, 0))


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


def too_fine(text: str, most: int) -> bool:
    """Whether a number has more digits than that; whole numbers below 1000 are not rounded."""
    digits, power = plain(text)
    if "(" in text or not float(digits) or (power == 0 and "." not in digits and len(digits) <= 3):
        return False
    first = math.floor(math.log10(abs(float(digits)))) + power  # the power of the first digit
    return first - last_digit(text) + 1 > most


def shown(value: Any, like: str, most: int | None = None) -> str:
    """A value in the form of another number, with as many digits, or `most`."""
    if isinstance(value, tuple):
        power = math.floor(math.log10(value[1])) - 1  # two digits of the error
        error = round(value[1] / 10.0**power)
        return shown_fixed(value[0], max(-power, 0)) + f"({error})"
    digits, power = plain(like)
    kept = digits if "." in digits else digits[: len(digits) - (last_digit(like) - power)]
    count = min(max(len(kept.replace(".", "").lstrip("-0")), 1), most or 99)
    if re.search(r"e-?\d", like):
        mantissa, _, power = f"{value:.{count - 1}e}".partition("e")
        return f"{mantissa}e{int(power)}"
    if "10" in like and ("·" in like or "⁻" in like or "\\cdot" in like):
        mantissa, _, power = f"{value:.{count - 1}e}".partition("e")
        if "\\cdot" in like:
            dollar = "$" * like.startswith("$")
            return f"{dollar}{mantissa}\\cdot10^{{{int(power)}}}{dollar}"
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


def rows_of(name: str) -> list[dict[str, Any]]:
    """What was measured; records made before there was a form call it rows."""
    record = loaded(name)
    return record.get("measured", record.get("rows", []))


def bound_of(kind: str, what: str) -> float:
    """Bytes per second at best of a kind of device, which has one record of its bounds."""
    names = sorted(file.stem for file in RESULTS.glob("device_bounds_*.json"))
    (name,) = (name for name in names if loaded(name)["device"]["kind"] == kind)
    (row,) = (row for row in rows_of(name) if row.get("bound") == what)
    return row["bytes_per_second"]


def times_in(expression: str, name: str) -> set[str]:
    """Records whose times, rates or ratios of times go into a figure."""
    keys = [set(key.split("_")) for key in re.findall(r'"(\w+)"', expression)]
    timed = any(k & TIMED or (k & RATIOS and not k & OTHERS) for k in keys if "once" not in k)
    if not timed:
        return set()
    names = {name, *re.findall(r'rows_of\("(\w+)"\)', expression)}
    return {n for n in names if loaded(n).get("timings", {}).get("actions")}


def supported(expression: str, name: str) -> int | None:
    """Digits of a figure that the spread of its times leaves: three of 1 to 10 %, two of more.

    A median is nearer to the truth than times are to each other, so that the last digit, the first
    to be in doubt, is kept.
    """
    spreads = [loaded(n)["timings"]["spread_median"] for n in times_in(expression, name)]
    return 1 + max(math.ceil(-math.log10(max(spreads))), 1) if any(spreads) else None


def wide(page: Path) -> list[str]:
    """Records of wide spread whose times a page has, but not how wide."""
    found = list(figures(page))
    told = {f.record for f in found if {"spread", "widest"} & set(re.findall(r"\w+", f.expression))}
    names = set().union(*(times_in(f.expression, f.record) for f in found))
    spreads = {n: loaded(n)["timings"] for n in names - told}
    return sorted(
        name
        for name, timings in spreads.items()
        if timings["spread_median"] > WIDE or timings["spread_largest"] > WIDEST
    )


def evaluated(expression: str, name: str) -> tuple[Any, bool]:
    """The value, and whether something projected went into it."""
    record, rows = loaded(name), rows_of(name)
    used = "projected" in compile(expression, name, "eval").co_names

    def row(**wanted: Any) -> dict[str, Any]:
        both = [*rows, *record.get("projected", [])]
        found = [r for r in both if all(r.get(k) == v for k, v in wanted.items())]
        if len(found) != 1:
            raise LookupError(f"{len(found)} rows of {name} have {wanted}")
        nonlocal used
        used |= any(found[0] is r for r in record.get("projected", []))
        return found[0]

    def every(key: str) -> list[Any]:
        return [r[key] for r in rows if key in r]

    names = {"record": record, "rows": rows, "projected": record.get("projected", [])}
    names["seconds"] = record.get("outcome", record).get("seconds")
    timings = record.get("timings", {})
    names |= {"spread": timings.get("spread_median"), "widest": timings.get("spread_largest")}
    names["bound"] = lambda what: bound_of(record["device"]["kind"], what)
    value = eval(expression, names | {"row": row, "every": every, "rows_of": rows_of})
    return value, used


def is_time_of(quantity: str) -> bool:
    """Whether a row of a reproduction is a time, by the words of its quantity: ms per walker, (s).

    "N = 14, r_s = 5" is none, nor what has a unit in brackets that is not a time's.
    """
    words = r"s|ms|us|µs|seconds|milliseconds|microseconds"
    return re.search(rf"\((?:{words})\)$|\b(?:{words}) (?:per|for|of)\b", quantity) is not None


def cells(block: str, column: int) -> list[str]:
    """The column of the last table in a block, counted from 1, without its head."""
    lines = [line for line in block.splitlines() if line.startswith("|")]
    return [split(line)[column - 1].strip() for line in lines[2:]]


def split(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.strip().strip("|"))


def parts(text: str) -> Iterator[tuple[int, int, str, re.Match[str]]]:
    """(start, end, block, comment): several comments, one for each record, may follow one block."""
    place, at, end = 0, 0, 0
    for comment in COMMENT.finditer(text):
        above = text[place : comment.start()].rstrip()
        if above.strip():
            start = above.rfind("\n\n") + 2
            at, end = place + (start if start > 1 else 0), place + len(above)
        place = comment.end()
        yield at, end, text[at:end], comment


def figures(page: Path) -> Iterator[Figure]:
    """All figures of a page that have a record, with what is wrong with them."""
    text = page.read_text(encoding="utf-8")
    for _, _, block, comment in parts(text):
        at = text.count("\n", 0, comment.start()) + 1
        yield from told(page.name, at, block, comment)


def told(page: str, at: int, block: str, comment: re.Match[str]) -> Iterator[Figure]:
    """The figures of one comment."""
    if comment[1].startswith("no record"):
        return
    head, *lines = comment[1].strip().splitlines()
    name = head.removeprefix("record ").strip()
    for line in lines:
        yield from checked(page, at, block, name, *map(str.strip, line.split(" = ", 1)))


def checked(
    page: str, line: int, block: str, name: str, printed: str, expression: str
) -> Iterator[Figure]:
    try:
        value, projected = evaluated(expression, name)
        most = supported(expression, name)
    except (OSError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        fault = f"cannot be computed: {type(error).__name__}: {error}"
        for text in [printed] if printed.startswith("column ") else listed(printed):
            yield Figure(page, line, text, name, expression, None, fault)
        return
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
            places += [(row, int(found[1]) - 1, i) for i in range(len(several[: len(numbers)]))]
    else:
        texts = listed(printed)
        values = list(value) if len(texts) > 1 else [value]
    for text, one, cell in zip(texts, values, places or [None] * len(texts), strict=True):
        if one is None:
            continue
        fault = "" if agrees(text, one) else f"is {one}"
        if not fault and most is not None and too_fine(text, most):
            fault = f"is not known to more than {most} digits"
        if projected and not NOT_MEASURED.search(surroundings(block, text, cell)):
            fault = "is not called projected, predicted or a model's"
        if not re.search(standing(text), block):
            fault = "does not stand in the block above"
        yield Figure(page, line, text, name, expression, one, fault, cell, most)


def listed(printed: str) -> list[str]:
    return [part.strip() for part in printed.split(";" if ";" in printed else ", ")]


def standing(text: str) -> str:
    """The pattern of a number that is not a part of another one."""
    return rf"(?<![\d.]){re.escape(text)}(?!\.?\d)"


def surroundings(block: str, text: str, cell: tuple[int, int, int] | None) -> str:
    """The paragraph of a figure; in a table its head, its row and what is above the table."""
    lines = block.splitlines()
    table = [line for line in lines if line.startswith("|")]
    if not table:
        return block
    if cell is None:
        rows = [line for line in lines[2:] if re.search(standing(text), line)]
    else:
        rows = [table[cell[0] + 2]]
    return "\n".join([*(line for line in lines if not line.startswith("|")), table[0], *rows])


def measured(block: str) -> Iterator[tuple[str, str]]:
    """(figure, unit) of what looks measured: before a unit, or below one in the head of a table.

    Negative powers of ten (3e-16, 2·10⁻⁴, 10⁻⁷) are errors, and need no unit.
    """
    prose = re.sub(r"`[^`]*`", "`", block)  # arguments are choices
    for numbers, unit, sign in MEASURED.findall(prose):
        for figure in re.findall(ONE, numbers):
            yield figure, unit or sign
    for figure in SMALL.findall(prose):
        yield figure, ""
    for limit, figure in ALONE.findall(prose):
        if not limit:
            yield figure, ""
    for *words, times in IN_WORDS.findall(" ".join(prose.split())):
        for word in filter(None, words):
            yield word, times
    table = [split(line) for line in block.splitlines() if line.startswith("|")]
    if len(table) < 3:
        return
    for column, head in enumerate(table[0]):
        if unit := HEADED.search(head.strip()):
            for row in table[2:]:
                for cell in row[1:] if column == 0 else row[column : column + 1]:
                    # The number in front: what follows may be another quantity.
                    if figure := re.match(r"[\d.]+", cell.strip()):
                        yield figure[0], unit[1]


def bare(page: Path) -> list[str]:
    """Figures that look measured in blocks that say neither which record nor why there is none."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), text, flags=re.S)
    known = [(figure.line, figure.text) for figure in figures(page)]
    found, line = [], 1
    for block in re.split(r"(\n\n+(?!<!-- ))", text):
        last = line + block.count("\n")
        reasons = [c for c in COMMENT.findall(block) if c.startswith("no record")]
        # What stands in brackets after a space is the reason, without one the error of a number.
        covered = " ".join(re.sub(r" \([^()]*\)", " ", reason) for reason in reasons) + " "
        covered += " ".join(text for at, text in known if line <= at <= last)
        without_errors = re.sub(r"\(\d+\)", "", covered)
        for figure, unit in measured(COMMENT.sub("", block)):
            if not re.search(standing(figure), covered if "(" in figure else without_errors):
                found.append(f"{page.name}: {figure} {unit}".rstrip())
        line = last
    return found


def updated(page: Path) -> str:
    """The page with its figures as the records have them, in the same form."""
    text = page.read_text(encoding="utf-8")
    pieces, done = [], 0
    for (start, end), group in itertools.groupby(parts(text), lambda part: part[:2]):
        comments = [comment for *_, comment in group]
        block = text[start:end]
        found = [f for c in comments for f in told(page.name, 0, block, c)]
        block, new = rewritten(block, found)
        pieces += [text[done:start], block]
        done = end
        for comment in comments:
            pieces += [text[done : comment.start()], relabelled(comment[0], new)]
            done = comment.end()
    return "".join([*pieces, text[done:]])


def rewritten(block: str, found: list[Figure]) -> tuple[str, dict[str, list[str]]]:
    """The block with new figures, and what became of each text, in the order of the comments.

    A text that stands for several figures (14.6, 14.6) is replaced one by one if it stands as often
    in the block as in the comments.
    """
    new: dict[str, list[str]] = {}
    for figure in found:
        if figure.cell is None:
            right = not figure.fault.startswith("is ") or "called" in figure.fault
            text = figure.text if right else shown(figure.value, figure.text, figure.most)
            new.setdefault(figure.text, []).append(text)
    for text, texts in new.items():
        if len(set(texts)) > 1 and len(re.findall(standing(text), block)) != len(texts):
            new[text] = [text] * len(texts)  # nobody knows which is which: left to a person
    block = replaced(block, new)
    lines = block.split("\n")
    rows = [i for i, line in enumerate(lines) if line.startswith("|")]
    for figure in found:
        if figure.cell is not None and figure.fault.startswith("is ") and figure.text:
            row, column, number = figure.cell
            at = rows[row + 2]
            words = split(lines[at])
            place = list(NUMBER.finditer(words[column]))[number]
            text = shown(figure.value, figure.text, figure.most)
            words[column] = words[column][: place.start()] + text + words[column][place.end() :]
            lines[at] = "|" + "|".join(words) + "|"
    return "\n".join(lines), new


def replaced(text: str, new: dict[str, list[str]]) -> str:
    """All at once, so that no new figure is taken for an old one."""
    if not new:
        return text
    longest = sorted(new, key=len, reverse=True)
    counts = dict.fromkeys(new, 0)

    def other(match: re.Match[str]) -> str:
        texts = new[match[0]]
        counts[match[0]] += 1
        return texts[(counts[match[0]] - 1) % len(texts)]

    return re.sub("|".join(map(standing, longest)), other, text)


def relabelled(comment: str, new: dict[str, list[str]]) -> str:
    """The comment with new figures on its left-hand sides; takes them off the lists."""
    lines = comment.split("\n")
    for i, line in enumerate(lines):
        if " = " not in line or line.startswith("column "):
            continue
        printed, expression = line.split(" = ", 1)
        mark = "; " if ";" in printed else ", "
        texts = [new[text].pop(0) for text in listed(printed)]
        lines[i] = f"{mark.join(texts)} = {expression}"
    return "\n".join(lines)


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
        for name in wide(page):
            print(f"{page.name}: {name}  SPREAD NOT TOLD")


if __name__ == "__main__":
    main()
