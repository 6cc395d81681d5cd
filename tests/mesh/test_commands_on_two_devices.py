"""A mesh that a command cannot use is refused or spoken of; one that it can use is used."""

from __future__ import annotations

import pytest

from mesh import devices


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    names = ["walkers", "batch", "packet", "waves", "direct", "one", "LOBPCG", "python"]
    names += ["alone", "together", "gas"]
    return devices.run("commands", 2, str(tmp_path_factory.mktemp("commands")), names)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("walkers", "mesh.walkers: must be left out here, since it divides the walkers"),
        ("batch", "mesh.batch: must be left out here, since it divides the items of a scan"),
        ("packet", "packet.toml: mesh.batch: must be left out here, since it divides the items"),
        ("waves", "mesh: must suit this model, but a line cannot be divided among devices"),
    ],
)
def test_an_axis_that_divides_nothing_is_refused(told, name, sentence):
    assert told[name]["status"] == 2 and not told[name]["written"]
    assert sentence in told[name]["said"]


def test_a_solver_for_one_device_says_so(told):
    found = told["direct"]
    assert found["status"] == 0
    assert "warning: Direct works on one device of the mesh space = 2, and" in found["said"]
    assert found["info"]["mesh_unused"] == "Direct works on one device of the mesh space = 2"
    assert found["info"]["mesh"] == "" and "mesh_unused" not in told["one"]["info"]


def test_python_says_so_as_well(told):
    """Of levels that a program asks for, not of those that a run on the mesh begins with."""
    reason = "Direct works on one device of the mesh space = 2"
    (said,) = [text for text in told["python"]["said"] if "mesh" in text]
    assert said.startswith(f"{reason}, and the other devices idle")
    assert told["python"]["info"] == reason and told["python"]["later"] == 0


def check_levels(found, one):
    """Energies of converged states differ by the square of the residuals (1e-9) at most."""
    assert found["status"] == 0, found["said"]
    assert found["info"]["shares"] == "{'space': [16, 15]}"
    assert found["energies"] == pytest.approx(one["energies"], abs=1e-12)


def test_a_sweep_claims_the_mesh_that_its_items_used(told):
    for name in ("alone", "together"):
        assert told[name]["status"] == 0, told[name]["said"]
    assert told["alone"]["info"]["mesh"] == "" and "shares" not in told["alone"]["info"]
    assert told["together"]["info"]["mesh"] == "{'batch': 2}"
    assert told["together"]["info"]["shares"] == "{'batch': [1, 1]}"


def test_walkers_that_fit_are_those_of_all_devices(told):
    """Two simulated devices have the memory of one between them, and hold half of each walker."""
    one, two = told["gas"]
    assert two["device_bytes"] == one["device_bytes"] // 2
    assert two["bytes_per_walker"] == pytest.approx(one["bytes_per_walker"] / 2, rel=0.1)
    assert two["walkers_that_fit"] == pytest.approx(one["walkers_that_fit"], rel=0.1)


def test_a_block_of_states_on_a_divided_line(told):
    check_levels(told["LOBPCG"], told["one"])


@pytest.mark.multiprocess
def test_a_filter_on_a_divided_line_and_a_sweep_of_divided_items(tmp_path):
    told = devices.run("commands", 2, str(tmp_path), ["one", "ChebyshevFilter", "sweep"])
    check_levels(told["ChebyshevFilter"], told["one"])
    assert told["sweep"]["status"] == 0, told["sweep"]["said"]
    assert told["sweep"]["info"]["mesh"] == "{'space': 2}"
