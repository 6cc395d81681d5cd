"""Records of benchmarks have one form, and name the source that made them.

What a record must hold stands in benchmarks/records.py.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import figures
from figures import is_time_of

REPOSITORY = Path(__file__).resolve().parent.parent
BENCHMARKS = REPOSITORY / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import adopt  # noqa: E402
import common  # noqa: E402
import pictures  # noqa: E402
import records  # noqa: E402

RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))
FIELDS = {
    "schema": int,
    "name": str,
    "question": str,
    "date": str,
    "commit": str,
    "clean": bool,
    "source": str,
    "command": str,
    "device": dict,
    "host": dict,
    "versions": dict,
    "precision": str,
    "timings": dict,
    "measured": list,
    "projected": list,
}
# What the rules now refuse, but those did not under which these were made: these sentences, and
# no others, are true of them.
NEGATIVE = "{} is a negative part of a time"
TO_BE_MADE_ANEW: dict[str, set[str]] = {
    # Its rows named "projected" stand among what was measured.
    "hydrogen_laser_full_h200": {"what is projected must stand apart from what was measured"},
    # Parts of a sweep were differences of times measured one after another, under load.
    "electron_gas_full_h200": {
        NEGATIVE.format("ms per walker: p, 2D, N = 98, single"),
        NEGATIVE.format("share of p in the sweep, 2D, N = 98, single"),
    },
    "qmc_matter_full_h200": {NEGATIVE.format("hBN, N = 648, share of χ in the sweep")},
}
# Those that we are measured against, as rows name them, and what their packages are called.
PEERS = {
    "PyQMC": "pyqmc", "jQMC": "jqmc", "QMsolve": "qmsolve", "QuTiP": "qutip", "SciPy": "scipy",
    "dynamiqs": "dynamiqs", "numba": "numba", "CuPy": "cupy-cuda13x", "PySCF": "pyscf",
}  # fmt: skip
# Times of one long run beside what a record is about; also all keys that begin with `once_`.
SINGLE = {
    ("attoclock", "seconds"),  # a whole pulse: how long to wait, not how fast a step is
    ("hostile-input", "longest seconds"),  # of thousands of runs, against a limit
}
TIME_WORDS = {"s", "ms", "us", "second", "seconds", "milliseconds", "microseconds"}


def is_time(key: str) -> bool:
    return not key.startswith("once_") and not TIME_WORDS.isdisjoint(re.findall(r"[^\W_]+", key))


def parts_of_times(found: dict[str, Any]) -> dict[str, float]:
    """Times of a reproduction and shares in a time, by their quantity."""
    rows = {str(row.get("quantity", "")): row.get("value") for row in found["measured"]}
    return {
        quantity: value
        for quantity, value in rows.items()
        if is_time_of(quantity) or re.search(r"\bshare of .* in the sweep", quantity)
    }


def unversioned(found: dict[str, Any]) -> list[str]:
    """Packages of peers whose rows stand in a record that does not say which version ran.

    A reproduction names some as the source of references that others have published.
    """
    if "outcome" in found:
        return []
    words = " ".join(str(v) for row in found["measured"] for v in row.values())
    named = [package for name, package in PEERS.items() if re.search(rf"\b{name}\b", words)]
    return [package for package in named if package not in found["versions"]]


def problems(found: dict[str, Any]) -> list[str]:
    """What a record lacks, in words."""
    said = [
        f"{key} must be {kind.__name__}"
        for key, kind in FIELDS.items()
        if not isinstance(found.get(key), kind)
    ]
    if said:
        return said
    extra = found.keys() - FIELDS.keys() - {"data", "outcome"}
    said += [f"{key} is no field of a record" for key in sorted(extra)]
    if found["schema"] != records.SCHEMA:
        said.append("the form is another one")
    if not re.fullmatch(r"[0-9a-f]{40}", found["commit"]) or not found["clean"]:
        said.append("the source must be a commit without changes")
    for key in found.keys() & {"source", "data"}:
        if not re.fullmatch(r"[0-9a-f]{64}", found[key]):
            said.append(f"{key} must be a digest")
    if found.get("outcome", {}).get("repetitions", 1) != 1:
        said.append("a reproduction is run once")
    program = found["command"].split()[1:2]
    if not found["command"].startswith("python ") or not (REPOSITORY / program[0]).is_file():
        said.append("the command must name a program of ours")
    if found["device"].get("platform") != "cpu" and not found["device"].get("driver"):
        said.append("a GPU has a driver")
    if not (found["measured"] or found["projected"]):
        said.append("there must be rows")
    if found["timings"].get("actions") and found["timings"]["repetitions"][0] < 2:
        said.append("what is timed must be repeated")
    if not found["timings"].get("actions"):
        times = {key for row in found["measured"] for key in row if is_time(key)}
        times -= {key for name, key in SINGLE if name == found["name"]}
        said += [f"{key} is a time without a spread" for key in sorted(times)]
    parts = parts_of_times(found)
    if any(map(is_time_of, parts)) and "outcome" not in found:
        said.append("times of rows with a quantity belong to a reproduction, which is run once")
    said += [NEGATIVE.format(what) for what, value in parts.items() if value and value < 0]
    said += [f"{package} is a peer without a version" for package in unversioned(found)]
    at = found["timings"].get("largest_in")
    if at and at["key"] not in found["measured"][at["row"]]:
        said.append("the largest spread must be that of a row")
    sources = [str(row.get("source", "")) for row in found["measured"]]
    if any(row.get("projected") for row in found["measured"]) or any(
        "projected" in source for source in sources
    ):
        said.append("what is projected must stand apart from what was measured")
    absent = [name for name, version in found["versions"].items() if version == "absent"]
    said += [f"{name} has no version" for name in absent]
    return said


def loaded(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_records_have_the_form(file):
    assert set(problems(loaded(file))) == TO_BE_MADE_ANEW.get(file.stem, set())


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_records_come_from_the_source_they_name(file):
    found = loaded(file)
    shallow = git("rev-parse", "--is-shallow-repository")
    if shallow is None:
        pytest.skip("there is no git here")
    if git("cat-file", "-e", found["commit"]) is None:
        assert shallow == "true", "no such commit"
        pytest.skip("this copy of the repository does not reach back to that commit")
    assert records.digest_of_commit(found["commit"]) == found["source"]
    if "data" in found:
        assert records.digest_of_commit(found["commit"], data=True) == found["data"]


def git(*words: str) -> str | None:
    """What git says, or None where it fails or is not there."""
    line = ["git", "-C", str(REPOSITORY), *words]
    try:
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def test_what_is_to_be_made_anew_is_there():
    assert {file.stem for file in RESULTS} >= TO_BE_MADE_ANEW.keys()


def test_the_form_is_what_the_programs_write(tmp_path):
    made = records.record("try", "Does it?", [{"error": 1.0}], projected=[{"hours": 2.0}])
    records.finish(made, str(tmp_path / "try.json"))
    found = loaded(tmp_path / "try.json")
    assert found.keys() == {"data", *FIELDS}
    # Tests run with changes, and are no program of the benchmarks.
    allowed = {
        "the source must be a commit without changes",
        "the command must name a program of ours",
    }
    assert set(problems(found)) <= allowed


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"commit": "abc"}, "commit without changes"),
        ({"clean": False}, "commit without changes"),
        ({"measured": []}, "there must be rows"),
        ({"device": {"kind": "GPU", "platform": "gpu", "driver": None}}, "driver"),
        ({"timings": {"actions": 1, "repetitions": [1, 1]}}, "repeated"),
        ({"timings": {"actions": 0}, "measured": [{"ms_per_step": 1.0}]}, "without a spread"),
        ({"versions": {"pyqmc": "absent"}}, "pyqmc has no version"),
        ({"rows": []}, "no field"),
        ({"data": "abc"}, "data must be a digest"),
        ({"precision": None}, "precision must be str"),
        ({"command": "python somewhere.py"}, "program of ours"),
        ({"measured": [{"quantity": "whole run (s)", "value": 1.0}]}, "run once"),
        ({"measured": [{"quantity": "share of p in the sweep", "value": -0.1}]}, "negative part"),
        ({"measured": [{"what": "jQMC: VMC", "walker_sweeps": 1.0}]}, "jqmc is a peer without"),
        ({"measured": [{"quantity": "a", "projected": True}]}, "apart from what was measured"),
        (
            {
                "timings": {
                    "actions": 1,
                    "repetitions": [2, 2],
                    "largest_in": {"row": 0, "key": "ms"},
                }
            },
            "largest spread must be that of a row",
        ),
    ],
)
def test_what_breaks_the_form_is_said(change, sentence):
    good = records.record("try", "Does it?", [{"error": 1.0}]) | {
        "commit": 40 * "a", "clean": True, "command": "python benchmarks/sweep.py --paper",
    }  # fmt: skip
    assert problems(good) == []
    assert any(sentence in said for said in problems(good | change))


@pytest.mark.parametrize(
    ("key", "time"),
    [("seconds", 1), ("ms, energy", 1), ("exchange_us", 1), ("GB_per_s", 1), ("once_seconds", 0),
     ("error_1s", 0), ("sigmas", 0)],
)  # fmt: skip
def test_keys_of_times_are_known_as_such(key, time):
    assert is_time(key) == bool(time)


@pytest.mark.parametrize(
    ("quantity", "time"),
    [("ms per walker: p, 2D, N = 98, single", 1), ("seconds per step, N = 8192, cos/sin", 1),
     ("whole run with RK4, 21 values of l, with compilation (s)", 1),
     ("hBN, N = 648, ms per walker: sweep, χ", 1), ("VMC energy, N = 14, r_s = 1 (hartree)", 0),
     ("RKF45: error of the state at the paper's step", 0), ("power of N of a sweep's time, 3D", 0)],
)  # fmt: skip
def test_quantities_that_are_times_are_known_as_such(quantity, time):
    assert is_time_of(quantity) == bool(time)


def test_times_keep_their_spread_and_records_say_whose_is_largest(monkeypatch):
    timed: list[tuple[int, float]] = []
    monkeypatch.setattr(records, "TIMED", timed)
    monkeypatch.setattr(common, "TIMED", timed)
    quiet, loud = common.noted([1.0, 1.1, 1.2]), common.noted([2.0, 3.0, 5.0])
    rows = [
        {"what": "a", "ms": 1e3 * quiet, "per_second": 64 / quiet},
        {"what": "b", "us": loud * 1e6 / 7, "ratio": loud / quiet, "more": loud - quiet},
    ]
    found = records.record("try", "Does it?", rows)["timings"]
    assert found["largest_in"] == {"row": 1, "key": "us", "spread": pytest.approx(1.0)}
    assert found["spread_largest"] == found["largest_in"]["spread"]
    assert json.loads(json.dumps(rows)) == rows
    assert rows[0]["per_second"].spread == pytest.approx(0.2 / 1.1)
    assert not isinstance(rows[1]["ratio"], records.Timed)
    assert "largest_in" not in records.record("try", "Does it?", [{"error": 1.0}])["timings"]


# The bounds of a device as rows of other records repeat them, and ratios to them.
BOUND_KEYS = {
    "read_TB_per_s", "write_TB_per_s", "copy_TB_per_s", "bound_microseconds", "ratio",
    "read_once_milliseconds", "passes_over_psi", "ms_determinant_traffic_bound",
    "determinants_over_bound",
}  # fmt: skip
BOUND_ROWS = re.compile(r'bound of the device|task="copy"|startswith\("copy"\)')


def uses_an_old_bound(expression: str, name: str) -> bool:
    """Whether a figure takes a bound, or a ratio to one, out of rows that quote another record."""
    quoting = [
        record
        for record in {name, *re.findall(r'rows_of\("(\w+)"\)', expression)}
        if not record.startswith("device_bounds_")
        and "device_bounds_" in json.dumps(figures.rows_of(record))
    ]
    taken = BOUND_KEYS & set(re.findall(r'"(\w+)"', expression))
    return bool(quoting) and bool(taken or BOUND_ROWS.search(expression))


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.stem)
def test_pages_have_one_bound_of_a_device(page):
    """Records quote the bound that was known when they were made. Pages compute with that of the
    present record, `bound(…)`, from what was measured."""
    old = [f for f in figures.figures(page) if uses_an_old_bound(f.expression, f.record)]
    assert not old, "\n".join(f"{f.page}:{f.line}: {f.text} = {f.expression}" for f in old)


@pytest.mark.parametrize(
    ("expression", "name", "old"),
    [
        ('row(what="product, length, kernel", l=21)["ratio"]', "atoms_gpu_h200", True),
        ('row(what="bound of the device")["read_TB_per_s"]', "blips_h200", True),
        ('row(task="copy")["TB_per_s"]', "imaginary_time_h200", True),
        ('[r["passes_over_psi"] for r in rows_of("grid_steps_h200")]', "sweep_cpu", True),
        ('1e-12 * bound("copy")', "imaginary_time_h200", False),
        ('[r["ratio"] for r in rows[:5]]', "tdse_peers_cpu", False),  # to a peer
    ],
)
def test_old_bounds_are_noticed(expression, name, old):
    assert uses_an_old_bound(expression, name) == old


def test_each_device_has_one_record_of_its_bounds():
    kinds = [loaded(file)["device"]["kind"] for file in RESULTS if "device_bounds" in file.stem]
    assert len(kinds) == len(set(kinds)) > 0


def test_only_peers_that_are_here_are_named():
    assert records.present("numpy", "no-such-package") == ["numpy"]


def test_the_digest_of_a_commit_is_that_of_its_files():
    """Only where this is a clone without changes; elsewhere files are not those of a commit."""
    commit, clean = records.commit()
    if not clean:
        pytest.skip("files were changed since the last commit")
    assert records.digest_of_commit(commit) == records.digest_of_files()
    assert records.digest_of_commit(commit, data=True) == records.digest_of_files(data=True)


def test_programs_that_were_compiled_here_are_no_data():
    assert not records.counted("src/zitter/linalg/__pycache__/updates.py311.1.nbc", data=True)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("src/zitter/solve/course.py", "program"), ("benchmarks/sweep.py", "program"),
     ("src/zitter/linalg/kernels/explicit_update.cu", "data"),
     ("src/zitter/reproduce/matter/he.chk", "data"), ("benchmarks/results/sweep_cpu.json", None)],
)  # fmt: skip
def test_what_the_digests_are_of(name, kind):
    assert (REPOSITORY / name).is_file()
    assert records.counted(name, data=False) == (kind == "program")
    assert records.counted(name, data=True) == (kind == "data")


def test_a_record_of_a_bare_copy_is_given_the_commit_that_ran(tmp_path, monkeypatch, capsys):
    named = subprocess.run(
        ["git", "-C", str(REPOSITORY), "log", "-1", "--format=%H", "--", *records.SOURCES],
        capture_output=True, text=True, check=False,
    ).stdout.strip()  # fmt: skip
    if not named:
        pytest.skip("this copy of the repository has no history")
    made = records.record("try", "Does it?", [{"ms": 1.0}]) | {"commit": "unknown", "clean": False}
    right = {"source": records.digest_of_commit(named)}
    right["data"] = records.digest_of_commit(named, data=True)
    wrong = right | {"data": 64 * "0"}
    for name, digests in {"of_git": right, "other": wrong}.items():
        records.written(made | digests, tmp_path / f"{name}.json")
    words = ["adopt.py", str(tmp_path / "of_git.json"), "--to", str(tmp_path / "home")]
    words += ["--back", "2"]
    monkeypatch.setattr(sys, "argv", words)
    assert adopt.main() == 0
    found = loaded(tmp_path / "home" / "of_git.json")
    assert (found["commit"], found["clean"]) == (named, True)
    monkeypatch.setattr(sys, "argv", [words[0], str(tmp_path / "other.json"), *words[1:]])
    assert adopt.main() == 2
    assert "other.json" in capsys.readouterr().err


# What measures nothing: parts of the programs, and what prepares them.
NO_RECORD = {
    "adopt", "bandwidth_triton", "bounds", "common", "make_matter_orbitals", "pictures", "records"
}  # fmt: skip


MEASURING = sorted(p for p in BENCHMARKS.glob("*.py") if p.stem not in NO_RECORD)
WITHOUT_RECORD = {"multideterminants"}  # no page has figures of it
# Records whose lines have options that are no more: what drew figures is pictures.py now.
OTHER_OPTIONS = {"propagators_cpu"}


def finished(program: Path) -> list[str]:
    """What a program hands to `finish` as the file of its record."""
    calls = [n for n in ast.walk(ast.parse(program.read_text(encoding="utf-8")))
             if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "finish"]  # fmt: skip
    return [ast.unparse(call.args[1]) for call in calls]


def test_every_program_writes_a_record_of_its_own():
    """Where its option says, in the end, and there is one of nearly all."""
    for program in BENCHMARKS.glob("*.py"):
        named = finished(program)
        assert bool(named) == (program in MEASURING), program.stem
        assert all(re.fullmatch(r"(options|chosen)\.json", name) for name in named), program.stem
    ran = {loaded(file)["command"].split()[1] for file in RESULTS}
    missing = {p.stem for p in MEASURING if str(p.relative_to(REPOSITORY)) not in ran}
    assert missing == WITHOUT_RECORD


def test_programs_still_take_the_lines_of_their_records():
    """Each is begun with the line of each record, and stopped once it has read its options."""
    lines = {loaded(file)["command"]: file.stem for file in RESULTS}
    lines |= {f"python benchmarks/{stem}.py": stem for stem in WITHOUT_RECORD}
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tests" / "programs.py")],
        input="".join(f"{line} --json x.json\n" for line in lines),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(lines)
    wrong = {
        name: said.get("refused")
        for said, name in zip(found, lines.values(), strict=True)
        if said.get("json") != "x.json"
    }
    assert wrong.keys() == OTHER_OPTIONS, wrong


def test_the_command_leaves_out_the_files_that_it_writes():
    line = [str(BENCHMARKS / "sweep.py"), "--paper", "--json", "x.json", "--rounds", "2"]
    line += ["--figure=y.png"]
    assert records.command(line) == "python benchmarks/sweep.py --paper --rounds 2"


@pytest.mark.parametrize("program", sorted(BENCHMARKS.glob("*.py")), ids=lambda file: file.stem)
def test_programs_find_what_they_import(program):
    """Benchmarks run seldom; a name that has moved would be noticed on the device only."""
    own = {file.stem for file in BENCHMARKS.glob("*.py")}
    for node in ast.walk(ast.parse(program.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if node.module.split(".")[0] not in own | {"zitter"}:
            continue
        module = importlib.import_module(node.module)
        for name in node.names:
            if not hasattr(module, name.name):
                importlib.import_module(f"{node.module}.{name.name}")


@pytest.mark.parametrize("picture", pictures.PICTURES)
def test_pictures_are_those_of_their_records(picture):
    from PIL import Image

    record, _ = pictures.PICTURES[picture]
    with Image.open(pictures.IMAGES / picture) as image:
        assert image.info["Source"] == loaded(pictures.RESULTS / f"{record}.json")["source"]


@pytest.mark.parametrize("picture", pictures.RUNS)
def test_pictures_of_runs_say_what_ran(picture):
    from PIL import Image

    lines = pictures.RUNS[picture]
    with Image.open(pictures.IMAGES / picture) as image:
        assert re.fullmatch(r"[0-9a-f]{64}", image.info["Source"])
        assert image.info["Command"] == "; ".join(lines)
    programs = [word for line in lines for word in line.split() if "/" in word]
    assert all((REPOSITORY / word).is_file() for word in programs)


def test_a_stamp_keeps_the_picture(tmp_path):
    from PIL import Image

    with Image.open(pictures.IMAGES / "demo.png") as image:
        pixels, resolution = image.tobytes(), image.info["dpi"]
    pictures.stamp(pictures.IMAGES / "demo.png", tmp_path / "b.png", Source="a")
    pictures.stamp(tmp_path / "b.png", tmp_path / "b.png", Command="python c.py")
    with Image.open(tmp_path / "b.png") as image:
        assert (image.info["Source"], image.info["Command"]) == ("a", "python c.py")
        assert image.tobytes() == pixels
        assert image.info["dpi"] == pytest.approx(resolution, rel=1e-3)
