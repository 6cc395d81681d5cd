"""Figures in README and docs are those of the records."""

from __future__ import annotations

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


def test_there_are_figures():
    found = [figure for page in figures.PAGES for figure in figures.figures(page)]
    assert len(found) > 300
    assert len({figure.record for figure in found}) > 20


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ("1.14", 1.1363, True),
        ("1.13", 1.1363, False),
        ("860 000", 860450.0, True),
        ("860 000", 866000.0, False),
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
        ((-1.23456, 0.0012), "−2.34(5)", "−1.2346(12)"),
    ],
)
def test_a_new_value_is_written_in_the_same_form(value, like, text):
    written = figures.shown(value, like)
    assert written == text
    assert figures.agrees(written, value)


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
    assert figures.bare(page) == ["page.md: 7 s"]
    page.write_text(figures.updated(page), encoding="utf-8")
    assert not any(f.fault for f in figures.figures(page))
    text = page.read_text(encoding="utf-8")
    assert "ten times less than 15 ms" in text
    assert "| 1 | 3.0 (5 %) |" in text


def test_a_figure_must_stand_above_its_comment(page):
    page.write_text(PAGE.replace("takes 1.5 ms", "takes 1.52 ms"), encoding="utf-8")
    (wrong,) = [f for f in figures.figures(page) if f.text == "1.5"]
    assert "does not stand" in wrong.fault
    assert "page.md: 1.52 ms" in figures.bare(page)
