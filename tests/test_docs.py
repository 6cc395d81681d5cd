"""The documentation is true: its Python runs as printed, its numbers are those of the code, and the
API page has every public name once."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import zitter as zt
from test_layering import LEVELS
from zitter import cases, config, public, units

ROOT = Path(__file__).parents[1]
DIRECTIVE = re.compile(r"^\.\. auto(\w+):: ([\w.]+)\n((?:   .*\n)*)", re.M)
MODULES = {"zitter": public, "zitter.qmc": zt.qmc, "zitter.spectra": zt.spectra}
MODULES |= {"zitter.plot": zt.plot}


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_the_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})
    sol = zt.load("run.h5")
    np.testing.assert_allclose(sol.observables["norm"], 1.0, atol=1e-10)
    assert np.ptp(sol.observables["dipole"]) > 0.1  # the light has moved the electron


def api_faults(text: str) -> list[str]:
    """What a reader of the page would miss or stumble over, in sentences that say what to do."""
    kinds = {name: kind for kind, name, _ in DIRECTIVE.findall(text)}
    times = Counter(name for _, name, _ in DIRECTIVE.findall(text))
    faults, known = [], set()
    for path, module in MODULES.items():
        objects = {name: getattr(module, name) for name in module.__all__}
        for name, thing in objects.items():
            full = f"{path}.{name}"
            if inspect.ismodule(thing):
                continue  # a section of its own
            known.add(full)
            kind = "function"
            if isinstance(thing, type):
                kind = "exception" if issubclass(thing, Exception) else "class"
            if times[full] == 0:
                faults.append(
                    f"{full} is public, but not in docs/api.md: write `.. auto{kind}:: {full}` "
                    f"under the heading of the task it serves, in the part about {path}"
                )
            elif kinds[full] != kind:
                faults.append(f"{full} must be auto{kind} in docs/api.md, but is auto{kinds[full]}")
    for full, count in times.items():
        if count > 1:
            faults.append(f"{full} must be in docs/api.md once, but is there {count} times")
        if full not in known and not full.startswith("zitter.units."):
            faults.append(f"{full} must be public to be in docs/api.md, but is not")
    return faults


def test_the_api_page_has_every_public_name_once():
    assert not api_faults(page("api.md")), "\n".join(api_faults(page("api.md")))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            ".. autoclass:: zitter.qmc.Trap\n", "",
            "zitter.qmc.Trap is public, but not in docs/api.md: write `.. autoclass:: "
            "zitter.qmc.Trap` under the heading of the task it serves, in the part about "
            "zitter.qmc",
        ),
        (
            ".. autoclass:: zitter.Grid\n", ".. autoclass:: zitter.Grid\n" * 2,
            "zitter.Grid must be in docs/api.md once, but is there 2 times",
        ),
        (
            "autofunction:: zitter.evolve", "autoclass:: zitter.evolve",
            "zitter.evolve must be autofunction in docs/api.md, but is autoclass",
        ),
        (
            ".. autoclass:: zitter.Grid\n",
            ".. autoclass:: zitter.Grid\n.. autoclass:: zitter.solve.Plan\n",
            "zitter.solve.Plan must be public to be in docs/api.md, but is not",
        ),
    ],
)  # fmt: skip
def test_faults_of_the_api_page_are_found(old, new, fault):
    text = page("api.md")
    assert text.count(old) == 1
    assert api_faults(text.replace(old, new)) == [fault]


def test_members_named_on_the_api_page_exist():
    listed = [(name, options) for _, name, options in DIRECTIVE.findall(page("api.md")) if options]
    assert listed
    for full, options in listed:
        path, _, name = full.rpartition(".")
        members = re.search(r":members:((?:[ \n]+\w+,?)+)", options)
        assert members, full
        for member in re.findall(r"\w+", members[1]):
            assert inspect.getattr_static(getattr(MODULES[path], name), member), (full, member)


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its own head."""
    below = text.split(f"\n{heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", below, re.M)
    assert table, heading
    return [line.strip("| ").split(" | ") for line in table[0].splitlines()[2:]]


def test_the_layers_of_the_architecture_are_those_that_are_held():
    told = {
        name: int(level)
        for level, modules, _ in rows(page("architecture.md"), "## Layers")
        for name in re.findall(r"`(\w+)`", modules)
    }
    assert told == LEVELS


def test_the_vocabulary_is_told_whole():
    listed = [
        word
        for first, *_ in rows(page("architecture.md"), "## The vocabulary of a basis")
        for word in re.findall(r"`(\w+)", first)
    ]
    words = {name for name in vars(zt.Basis) if not name.startswith("_")}
    assert len(listed) == len(set(listed))
    assert set(listed) == words | {"shape"}


def test_the_protocol_of_wave_functions_is_told_whole():
    listed = {
        word
        for first, _ in rows(page("architecture.md"), "## Monte Carlo")
        for word in re.findall(r"`(\w+)", first)
    }
    words = {name for name in vars(zt.qmc.Wavefunction) if not name.startswith("_")}
    told_elsewhere = {"is_complex", "moves_together"}  # facts, not words
    assert listed == (words - told_elsewhere) | {"system", "parameters"}


def test_constants_are_those_of_the_code():
    text = page("conventions.md")
    row = re.compile(r"^\| ([a-z ]+) \| ([\d.]+)(?: × 10([⁻⁰-⁹¹²³]+))?", re.M)
    signs = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    assert {
        name: float(f"{number}e{power.translate(signs) or 0}")
        for name, number, power in row.findall(text)
    } == {
        "length": units.BOHR_M,
        "energy": units.HARTREE_EV,
        "time": units.TIME_S,
        "electric field": units.FIELD_V_PER_M,
        "intensity": units.INTENSITY_W_PER_CM2,
    }
    assert f"= {units.HARTREE_J * 1e18:.13f} × 10⁻¹⁸ J" in text
    assert f"$c = 1/\\alpha = {units.SPEED_OF_LIGHT}$" in text
    default = inspect.signature(zt.SpinorBasis).parameters["c"].default
    assert f"SpinorBasis(radial, kappa_max, mu_max=None, c={default})" in page("dirac.md")
    assert f"{2 * default**2:,.0f}".replace(",", "\\,") in page("dirac.md")


def test_the_pulses_of_the_conventions_can_be_made(tmp_path):
    listed = set(re.findall(r"^\| `(\w+)` \| ", page("conventions.md"), re.M))
    fields = {
        n
        for n in public.__all__
        if inspect.isclass(c := getattr(zt, n)) and issubclass(c, zt.Field)
    }
    assert fields - listed == {"Field"}
    times = np.linspace(0, 50, 11)
    np.savetxt(tmp_path / "pump.txt", np.stack([times, np.sin(times / 50)], 1))
    block, bicircular = re.findall(r"```toml\n(.*?)```", page("conventions.md"), re.S)
    grid = '[basis]\ntype = "Grid"\nshape = [32, 8]\nspacing = 0.5\n'
    rest = f"""
{grid}
[model]
terms = [{{ type = "LengthGauge", pulse = {{ type = "FieldSum", fields = ["pump", "probe"] }} }}]
[evolve]
t = [0, "probe.duration"]
dt = 0.1
"""
    case = cases.read(config.parse(block + rest, folder=tmp_path))
    pump, probe = case.fields["pump"], case.fields["probe"]
    assert float(pump.vector_potential(50.0)) == pytest.approx(np.sin(1), rel=1e-15)
    start = 5e-15 / units.TIME_S
    assert float(probe.duration) == pytest.approx(start + 400, rel=1e-12)
    assert float(probe.electric_field(start + 200.0)) == pytest.approx(0.01, rel=1e-12)
    assert probe.polarization == (1.0, 0.0, 0.0)
    rest = f"""
{grid}
[model]
terms = [{{ type = "LengthGauge", pulse = "laser" }}]
[evolve]
t = [0, "laser.duration"]
dt = 0.1
"""
    case = cases.read(config.parse(bicircular + rest, folder=tmp_path))
    red, blue = case.fields["laser"].fields
    assert float(red.duration) == pytest.approx(float(blue.duration), rel=1e-12)
    assert float(red.carrier.ellipticity) == -float(blue.carrier.ellipticity) == 1.0
