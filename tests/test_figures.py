"""Figures in README and docs are those of the records."""

from __future__ import annotations

import re
from fnmatch import fnmatch

import pytest

import figures


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.stem)
def test_figures_are_those_of_their_records(page):
    wrong = [f for f in figures.figures(page) if f.fault]
    told = "\n".join(f"{f.page}:{f.line}: {f.text}: {f.fault} ({f.record})" for f in wrong)
    assert not wrong, f"{told}\n`python tests/figures.py --update` writes what the records say"


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.stem)
def test_times_and_rates_have_a_record_or_a_reason(page):
    assert figures.bare(page) == []


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.stem)
def test_wide_spreads_are_told(page):
    assert figures.wide(page) == []


def test_there_are_figures():
    found = [figure for page in figures.PAGES for figure in figures.figures(page)]
    assert len(found) > 300
    assert len({figure.record for figure in found}) > 20


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.stem)
def test_the_time_of_a_reproduction_is_that_of_one_run(page):
    for _, _, block, comment in figures.parts(page.read_text(encoding="utf-8")):
        if re.search(r"= seconds$", comment[1], re.M):
            assert "one run" in " ".join(block.split())


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.stem)
def test_times_in_a_reproduction_are_those_of_one_run(page):
    """Said in the block of the figure or in the paragraph above it."""
    text = page.read_text(encoding="utf-8")
    for start, _, block, comment in figures.parts(text):
        asked = re.findall(r'quantity=f?"([^"]*)"', comment[1])
        if any(map(figures.is_time_of, asked)):
            above = figures.COMMENT.sub("", text[:start]).rstrip().rpartition("\n\n")[2]
            assert "one run" in " ".join(f"{above} {block}".split()), block


def test_every_record_has_its_place_on_a_page():
    text = "\n".join(page.read_text(encoding="utf-8") for page in figures.PAGES)
    asked = re.findall(r'rows_of\(f"([\w{}]+)"\)', text)
    patterns = [re.sub(r"\{\w+\}", "*", name) for name in asked]
    names = [file.stem for file in figures.RESULTS.glob("*.json")]
    missing = [n for n in names if n not in text and not any(fnmatch(n, p) for p in patterns)]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ("1.14", 1.1363, True),
        ("1.13", 1.1363, False),
        ("860 000", 860450.0, True),
        ("860 000", 866000.0, False),
        ("2000", 1960.0, True),
        ("2000", 1501.0, False),
        ("2·10³", 1501.0, True),
        ("−0.06", -0.0572, True),
        ("3e-16", 2.9e-16, True),
        ("2·10⁻⁴", 1.6e-4, True),
        ("2·10⁻⁴", 1.4e-4, False),
        ("10⁻⁷", 1.2e-7, True),
        ("$5\\cdot10^{-8}$", 5.125e-8, True),
        ("−14.65(20)", (-14.652, 0.2), True),
        ("−14.65(20)", (-14.652, 0.1), False),
        ("stopped", 1.0, False),
        ("1.0", "stopped", False),
    ],
)
def test_a_printed_number_is_a_value_rounded(text, value, same):
    assert figures.agrees(text, value) == same


@pytest.mark.parametrize(
    ("value", "like", "text"),
    [
        (1.2345, "9.99", "1.23"),
        (123.4, "99", "123"),
        (1234.5, "151", "1230"),
        (0.012345, "0.05", "0.01"),
        (860450.0, "12 000", "860 000"),
        (1.234e-7, "5e-3", "1e-7"),
        (1.26e-7, "5.1·10⁻³", "1.3·10⁻⁷"),
        (-0.5123, "−0.6", "−0.5"),
        (2345.0, "1000", "2300"),
        (5.1e-5, r"4\cdot10^{-4}", r"5\cdot10^{-5}"),
        ((-1.23456, 0.0012), "−2.34(5)", "−1.2346(12)"),
    ],
)
def test_a_new_value_is_written_in_the_same_form(value, like, text):
    written = figures.shown(value, like)
    assert written == text
    assert figures.agrees(written, value)


@pytest.mark.parametrize(
    ("text", "most", "fine"),
    [("0.115", 2, True), ("0.11", 2, False), ("1580", 2, True), ("1600", 2, False),
     ("421", 2, False), ("54.8", 2, True), ("2.0·10⁻³", 1, True), ("0.0", 1, False)],
)  # fmt: skip
def test_digits_beyond_those_that_are_known(text, most, fine):
    assert figures.too_fine(text, most) == fine
    assert not figures.too_fine(figures.shown(float(figures.plain(text)[0]), text, most), most)


PAGE = """A step takes 1.5 ms, ten times less than 20 ms.

<!-- record made_up
1.5 = row(what="step")["ms"]
20 = 10 * row(what="step")["ms"]
-->

| n | ms |
|---|---|
| 1 | 2.0 (9 %) |
| 2 | stopped |

<!-- record made_up
column 2 = [[r["ms"], 100 * r["share"]] if "ms" in r else None for r in rows[1:]]
-->

It ran for 7 s.
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    rows = [{"what": "step", "ms": 1.52}, {"ms": 3.04, "share": 0.05}, {}]
    monkeypatch.setattr(figures, "loaded", lambda name: {"measured": rows, "projected": []})
    file = tmp_path / "page.md"
    file.write_text(PAGE, encoding="utf-8")
    return file


def test_what_differs_is_told_and_written_anew(page):
    faults = {f.text: f.fault for f in figures.figures(page)}
    assert faults == {"1.5": "", "20": "is 15.2", "2.0": "is 3.04", "9": "is 5.0"}
    assert figures.bare(page) == ["page.md: ten times less", "page.md: 7 s"]
    page.write_text(figures.updated(page), encoding="utf-8")
    assert not any(f.fault for f in figures.figures(page))
    text = page.read_text(encoding="utf-8")
    assert "ten times less than 15 ms" in text
    assert "| 1 | 3.0 (5 %) |" in text


def test_a_row_that_is_not_there_hides_no_other_figure(page):
    text = PAGE.replace('row(what="step")', 'row(what="stride")')
    page.write_text(text, encoding="utf-8")
    faults = {f.text: f.fault for f in figures.figures(page)}
    assert faults["1.5"].startswith("cannot be computed: LookupError: 0 rows")
    assert faults["9"] == "is 5.0"
    page.write_text(figures.updated(page), encoding="utf-8")
    assert "takes 1.5 ms" in page.read_text(encoding="utf-8")


def test_a_figure_must_stand_above_its_comment(page):
    page.write_text(PAGE.replace("takes 1.5 ms", "takes 1.52 ms"), encoding="utf-8")
    (wrong,) = [f for f in figures.figures(page) if f.text == "1.5"]
    assert "does not stand" in wrong.fault
    assert "page.md: 1.52 ms" in figures.bare(page)


def written(page, text):
    page.write_text(text, encoding="utf-8")
    return page


def test_only_left_hand_sides_cover(page):
    text = (
        'It takes 1.5 ms, 21 s before.\n\n<!-- record made_up\n1.5 = 0 * 21 + rows[0]["ms"]\n-->\n'
    )
    assert figures.bare(written(page, text)) == ["page.md: 21 s"]
    reason = text + "<!-- no record: 2 s (of 21) -->\n"
    assert figures.bare(written(page, reason)) == ["page.md: 21 s"]
    assert figures.bare(written(page, reason.replace("2 s", "21 s"))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("takes 435, 218 and 110 MB", ["435 MB", "218 MB", "110 MB"]),
        ("8 to 26 µHa, 0.11(23) mHa", ["8 µHa", "26 µHa", "0.11(23) mHa"]),
        ("is 2.3σ away and 1.9 times as fast", ["2.3 σ", "1.9 times as"]),
        ("36 times, 1.4× of it, 3 % of 1e14 W/cm²", ["36 times", "1.4 ×", "3 %", "1e14 W/cm²"]),
        ("−2.9037 hartree or 10 bohr, 27.2 eV", ["2.9037 hartree", "10 bohr", "27.2 eV"]),
        ("off by 7·10⁻³ hartree at 5°", ["7·10⁻³ hartree", "5 °", "7·10⁻³"]),
        ("by 2e-5, at $4\\cdot10^{-4}$", ["2e-5", "4\\cdot10^{-4}"]),
        ("800 nm, 64 × 64 points, 3 times 4, `dt=1e-3`, `5 fs`, l ≤ 20", []),
        ("to $10^{-6}$ and 10⁻⁷, above 10⁻⁵, x < $10^{-4}$", ["10^{-6}", "10⁻⁷"]),
        ("| | MB | n |\n|---|---|---|\n| a | 12 | 4 |\n| b | 7.5 (2) | 5 |", ["12 MB", "7.5 MB"]),
        ("| GB on each | 1 |\n|---|---|\n| step | 52 |", ["52 GB"]),
    ],
)
def test_what_looks_measured(page, text, found):
    assert figures.bare(written(page, text)) == [f"page.md: {one}" for one in found]


@pytest.mark.parametrize(
    ("spread", "widest", "digits", "told"),
    [(0.004, 0.02, "1.523", True), (0.03, 0.2, "1.52", True), (0.3, 0.4, "1.5", False),
     (0.03, 1.5, "1.52", False)],
)  # fmt: skip
def test_times_have_the_digits_that_their_spread_supports(
    page, monkeypatch, spread, widest, digits, told
):
    timings = {"actions": 3, "spread_median": spread, "spread_largest": widest}
    rows = [{"ms": 1.5234, "error": 1.5234, "memory_ratio": 1.5234}]
    record = {"measured": rows, "timings": timings}
    monkeypatch.setattr(figures, "loaded", lambda name: record)
    text = 'It takes 1.5234 ms.\n\n<!-- record made_up\n1.5234 = rows[0]["ms"]\n-->\n'
    (figure,) = figures.figures(written(page, text))
    assert "digits" in figure.fault
    page.write_text(figures.updated(page), encoding="utf-8")
    assert f"takes {digits} ms" in page.read_text(encoding="utf-8")
    assert figures.wide(page) == ([] if told else ["made_up"])
    (figure, *_) = figures.figures(written(page, text.replace('"ms"', '"error"')))
    assert not figure.fault
    assert figures.times_in('rows[0]["memory_ratio"]', "made_up") == set()
    apart = f"{100 * spread:g}"
    more = f"\nApart by {apart} %.\n\n<!-- record made_up\n{apart} = 100 * spread\n-->\n"
    assert figures.wide(written(page, text + more)) == []


def test_what_was_projected_is_called_so(page, monkeypatch):
    rows = {"measured": [{"what": "a", "s": 1.0}], "projected": [{"what": "b", "s": 2.0}]}
    monkeypatch.setattr(figures, "loaded", lambda name: rows)
    comment = '\n\n<!-- record made_up\n1.0, 2.0 = [row(what=w)["s"] for w in "ab"]\n-->\n'
    for text, right in [
        ("It takes 1.0 and 2.0 s.", False),
        ("It takes 1.0 and, as projected, 2.0 s.", True),
        ("| s | by |\n|---|---|\n| 1.0 | a |\n| 2.0 | b |", False),
        ("| s, by the model | by |\n|---|---|\n| 1.0 | a |\n| 2.0 | b |", True),
    ]:
        faults = [f.fault for f in figures.figures(written(page, text + comment))]
        assert faults == [""] * 2 if right else all("not called" in fault for fault in faults)
    measured = (
        comment.replace("1.0, 2.0", "1.0")
        .replace("[row(what=w)", "[r")
        .replace('for w in "ab"]', "for r in rows][0]")
    )
    assert [f.fault for f in figures.figures(written(page, "It takes 1.0 s." + measured))] == [""]


@pytest.mark.parametrize("record", [{"rows": [], "seconds": 3.0}, {"outcome": {"seconds": 3.0}}])
def test_seconds_of_old_and_new_reproductions(record, monkeypatch):
    monkeypatch.setattr(figures, "loaded", lambda name: record)
    assert figures.evaluated("seconds", "made_up") == (3.0, False)


def test_equal_figures_are_written_one_by_one_and_no_new_one_for_an_old(page):
    """1.5, 1.5 and 3.0 become 3.0, 1.5 and 1.6; numbers of the expressions stay."""
    text = (
        "From 1.5 over 1.5 to 3.0 s.\n\n<!-- record made_up\n"
        "1.5, 1.5, 3.0 = [2.0 * 1.5, 1.5, 1.6]\n-->\n"
    )
    text = figures.updated(written(page, text))
    assert text.startswith("From 3.0 over 1.5 to 1.6 s.")
    assert "3.0, 1.5, 1.6 = [2.0 * 1.5, 1.5, 1.6]" in text
