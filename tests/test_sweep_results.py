"""What the items of a sweep gave, put together: nothing is lost without a word."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import zitter as zt
from command_line import zitter
from zitter import config, kinds, sweeps
from zitter.qmc.optimized import Optimized, Stage
from zitter.results import Eigenstates, Solution, Sweep
from zitter.results.assembly import assembled
from zitter.sweeps.heard import Heard

LEVELS = """
[basis]
type = "Grid"
shape = 31
spacing = 0.4
[model]
terms = ["Kinetic", { type = "Harmonic", frequency = 1.0 }]
[eigenstates]
n = 2
basis_check = false
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "levels.toml"
    path.write_text(LEVELS, encoding="utf-8")
    return path


def levels(n: int, **errors: float) -> Eigenstates:
    """The oscillator's, with errors that grow with the state."""
    numbers = np.arange(n)
    info = {name: (size * (1 + numbers)).tolist() for name, size in errors.items()}
    return Eigenstates(0.5 + numbers, np.eye(n), 1e-9 * (1 + numbers), info, {})


def put_together(found: list, text: str = "eigenstates.n=1,2,3") -> Sweep:
    return assembled([sweeps.parse(text, {})], found, {}, {}, "")


def test_shorter_rows_are_filled_up_and_errors_that_some_items_have_are_kept():
    sweep = put_together([levels(1), levels(2, energy_errors=1e-3), levels(3)])
    np.testing.assert_array_equal(
        sweep.values["energies"], [[0.5, np.nan, np.nan], [0.5, 1.5, np.nan], [0.5, 1.5, 2.5]]
    )
    np.testing.assert_array_equal(
        sweep.values["energy_errors"], [[np.nan, np.nan], [1e-3, 2e-3], [np.nan, np.nan]]
    )
    assert sweep.described["energies"][1] == "hartree" and "left_out" not in sweep.info


def test_courses_in_time_say_their_units():
    times = np.array([0.0, 0.5, 1.0])
    items = [
        Solution(times, {"position": k * times**2}, np.ones(1), None, {}, {},
                 described={"position": ((), "bohr", "position")})
        for k in (1, 2, 3)
    ]  # fmt: skip
    variables = put_together(items, "laser.cep=0,1,2").dataset().variables
    assert variables["time"].units == "a.u. time"
    np.testing.assert_array_equal(variables["time"].data, times)
    course = variables["position_course"]
    assert (course.dims, course.units) == (("laser.cep", "time"), "bohr")
    np.testing.assert_array_equal(course.data, np.outer([1, 2, 3], times**2))


def test_what_cannot_be_put_together_is_named():
    class Odd(Eigenstates):
        def numbers(self):
            return Eigenstates.numbers(self) | {"energies": 0.5}

    one = levels(1)
    odd = Odd(one.energies, one.states, one.residuals, one.info, one.axes)
    sweep = put_together([one, odd, None])
    assert sweep.info["left_out"] == "energies, whose shape is not alike in all items"
    assert "residuals" in sweep.values and "left out" in sweep.summary()


def test_what_items_say_beside_their_numbers_is_kept(tmp_path):
    """Once where many say the same, with their numbers; also in files and for programs."""
    found = [levels(1), levels(2), levels(3)]
    found[1].info["basis_check"] = "spacing"  # which was checked
    found[2].info["basis_check"] = "none: it is too coarse already"
    said = "error by the basis: none: it is too coarse already"
    sweep = put_together(found)
    sweep.save(tmp_path / "sweep.h5")
    for one in (sweep, zt.load(tmp_path / "sweep.h5")):
        assert isinstance(one, Sweep) and one.numbers()["notes"] == {"2": [said]}
        assert one.notes == [f"{said} (item 2)"] and one.notes[0] in one.summary()
    found[1].info["basis_check"] = found[0].info["basis_check"] = found[2].info["basis_check"]
    assert put_together(found).notes == [f"{said} (all items)"]
    assert put_together([None, *found[1:]]).notes == [f"{said} (all items)"]


def test_every_kind_of_result_tells_what_its_errors_rest_on():
    """Sentences that stood in its own table alone."""
    trap = zt.qmc.SlaterJastrow(zt.qmc.Trap(1.0, 0.8))
    walk = zt.qmc.vmc(trap, walkers=4, blocks=4, equilibration=10)
    course = Solution(np.arange(2.0), {}, np.ones(1), None, {"step_check": "no"}, {})
    stage = Stage("LinearMethod", "hartree", 0, *(np.ones(1) for _ in range(4)), verdict="flat")
    sweep = put_together([walk, course, Optimized({}, [stage], {})])
    assert sweep.said == {
        0: walk.notes,
        1: ["error of the final state by the step size: no"],
        2: ["LinearMethod: flat"],
    }


def test_tables_hold_every_digit_in_the_order_of_the_sweep(tmp_path, monkeypatch):
    errors = {"error_bounds": 2.36e-14, "box_errors": 1.5e-22, "energy_errors": 3.25e-11}
    sweep = put_together([levels(n, **errors) for n in (1, 2, 3)])
    text = sweep.summary()
    assert "…" not in text and max(map(len, text.splitlines())) <= 120
    assert all(number in text for number in ("2.36e-14", "4.72e-14", "9.75e-11", "4.5e-22"))
    headings = [f"{name} {i}" for name in ("energies", "error_bounds") for i in range(3)]
    assert all(heading in text for heading in headings)
    sweep.save(tmp_path / "sweep.h5")
    loaded = zt.load(tmp_path / "sweep.h5")
    assert list(loaded.values) == list(sweep.values) and loaded.summary() == text
    monkeypatch.setenv("COLUMNS", "50")
    long = put_together([levels(20)] * 3).summary()
    assert "energies" in long and "20 numbers for each item" in long


def test_pictures_show_quantities_with_their_errors_as_bars():
    sweep = put_together([levels(n, box_errors=0.01, energy_errors=0.1) for n in (1, 2, 3)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (ax,) = kinds.picture(sweep).axes
    assert ax.get_ylabel() == "energies (hartree)"
    bars = [c for c in ax.containers if c.has_yerr]
    assert len(bars) == 3
    (_, stretch) = bars[1].lines[2][0].get_segments()[1:]  # of the second state, in the third item
    np.testing.assert_allclose(stretch[:, 1], [1.5 - 0.2, 1.5 + 0.2])


def test_maps_show_every_energy_and_how_large_its_error_is():
    axes = [sweeps.parse("a=1,2", {}), sweeps.parse("b=1,2", {})]
    found = [levels(3, basis_errors=0.02 * k, energy_errors=0.1 * k) for k in (1, 2, 3, 4)]
    for k, one in enumerate(found):
        one.energies = one.energies + 0.1 * k
    figure = kinds.picture(assembled(axes, found, {}, {}, ""))
    panels = [ax for ax in figure.axes if ax.get_title()]
    assert [ax.get_title() for ax in panels] == [f"errors up to {e}" for e in
                                                 ("4.0e-01", "8.0e-01", "1.2e+00")]  # fmt: skip


def test_a_sweep_without_items_is_not_drawn():
    with pytest.raises(zt.InputError, match="must hold numbers to be drawn, but has none"):
        kinds.picture(put_together([None, None, None]))


def test_a_damaged_item_is_computed_anew(case, tmp_path, capsys):
    out = tmp_path / "out"
    command = ("sweep", case, "--over", "model.terms.1.frequency=1,2", "--out", out, "--json")
    code, first, _ = zitter(capsys, *command)
    assert code == 0
    files = sorted((out / "items").glob("*.h5"))
    whole = {path: path.read_bytes() for path in files}
    flipped = bytearray(whole[files[0]])
    flipped[len(flipped) // 2] ^= 255
    files[0].write_bytes(flipped)
    files[1].write_bytes(whole[files[1]][:1000])
    (out / "result.h5").write_bytes(b"none")
    code, again, said = zitter(capsys, *command)
    assert code == 0 and said.count("is damaged") == 2 and "computed anew" in said
    values = [json.loads(text.splitlines()[-1])["values"] for text in (first, again)]
    np.testing.assert_allclose(values[1]["energies"], values[0]["energies"], rtol=1e-14)
    assert zitter(capsys, *command)[2].count("is damaged") == 0


def test_help_says_what_stands_in_brackets(capsys):
    text = " ".join(zitter(capsys, "run", "--help")[1].split())
    assert "with a section [scan], all that it goes over" in text
    assert "Output directory [default: CASE-output]." in text


def test_a_warning_tells_the_worst_item_and_how_many_had_it(tmp_path, capsys):
    """Packets of three speeds run together: two of them come to the wall."""
    case = tmp_path / "packets.toml"
    case.write_text(
        LEVELS[: LEVELS.index("[eigenstates]")].replace("frequency = 1.0", "frequency = 0.1")
        + '[initial]\ntype = "WavePacket"\nwidth = 0.8\nmomentum = 0.0\n'
        + '[evolve]\nt = [0, 1]\ndt = 0.05\nstep_check = false\npropagator = "SplitOperator"\n',
        encoding="utf-8",
    )
    command = ("sweep", case, "--over", "initial.momentum=4,0,5", "--out", tmp_path / "out")
    code, stdout, said = zitter(capsys, *command)
    told = [line for line in said.splitlines() if line.startswith("warning: ")]
    assert code == 0 and len(told) == 2, said
    assert "beyond what the spacing can hold" in told[0] and "at its walls" in told[1]
    assert told[0].endswith("(item 2: initial.momentum=5)")
    assert told[1].endswith("(item 2: initial.momentum=5; the worst of 2 among 3 items)")
    first, middle, last = zt.load(tmp_path / "out").values["wall_population"]
    assert last > first > 1e-3 > middle and "wall_population" in stdout


def test_a_warning_that_items_share_word_for_word_is_counted():
    items = [sweeps.Item(i, (f"n={i}",), config.parse("")) for i in range(4)]
    heard = Heard(len(items))
    for item in items[1:]:
        with heard.of(item):
            warnings.warn("one device is enough", stacklevel=1)
            warnings.warn(f"state 9: {item.index}.5e-3 is too much", stacklevel=1)
    with pytest.warns(UserWarning) as told:
        heard.tell()
    assert [str(one.message) for one in told] == [
        "one device is enough (3 of 4 items)",
        "state 9: 3.5e-3 is too much (item 3: n=3; the worst of 3 among 4 items)",
    ]
