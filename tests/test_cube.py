"""Gaussian cube files: written, read back, used as a potential, refused with a sentence."""

import numpy as np
import pytest

import zitter as zt


@pytest.fixture
def grid():
    return zt.Grid((5, 6, 7), (0.5, 0.4, 0.3), center=(0.1, 0.0, -0.2))


def test_round_trip(tmp_path, grid):
    values = np.random.default_rng(2).normal(size=grid.shape)
    path = tmp_path / "v.cube"
    zt.write_cube(path, values, list(grid.axes().values()), atoms=[(1.0, (0.0, 0.0, -1.0))])
    read, axes = zt.read_cube(path)
    # Seven digits are what the format's thirteen columns hold.
    np.testing.assert_allclose(read, values, rtol=1e-6)
    for found, wanted in zip(axes, grid.axes().values(), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-7)


def test_potential_from_a_cube_file(tmp_path, grid):
    values = np.random.default_rng(3).normal(size=grid.shape)
    zt.write_cube(tmp_path / "v.cube", values, list(grid.axes().values()))
    term = zt.Potential(file=str(tmp_path / "v.cube"))
    H = zt.discretize(zt.Model([zt.Kinetic(), term]), grid)
    np.testing.assert_allclose(H.operator.parts[1].full(), values, rtol=1e-6)
    with pytest.raises(zt.InputError, match=r"must have the grid's shape .* but has \(5, 6, 7\)"):
        zt.discretize(zt.Model([zt.Kinetic(), term]), zt.Grid((5, 5, 5), 0.3))


@pytest.mark.parametrize(
    ("spacing", "center", "told"),
    [
        ((0.5, 0.4, 0.9), (0.1, 0.0, -0.2), r"\(-0.9, -1, -2.9\) in steps of \(0.5, 0.4, 0.9\)"),
        ((0.5, 0.4, 0.3), (0.1, 0.0, 0.0), r"\(-0.9, -1, -0.9\) in steps of \(0.5, 0.4, 0.3\)"),
        ((0.5, 0.40001, 0.3), (0.1, 0.0, -0.2), r"steps of \(0.5, 0.40001, 0.3\)"),
    ],
)
def test_a_cube_for_other_points_is_refused(tmp_path, grid, spacing, center, told):
    zt.write_cube(tmp_path / "v.cube", np.ones(grid.shape), grid.axes())
    model = zt.Model([zt.Kinetic(), zt.Potential(file=str(tmp_path / "v.cube"))])
    own = r"from \(-0.9, -1, -1.1\) in steps of \(0.5, 0.4, 0.3\) bohr"
    with pytest.raises(
        zt.InputError, match=rf"^file: must hold .* {told} bohr, but has them {own}"
    ):
        zt.discretize(model, zt.Grid(grid.shape, spacing, center=center))


def test_cubes_in_angstrom(tmp_path, grid):
    """Negative numbers of points mean Å (P. Bourke's and Gaussian's description of the format)."""
    values = np.random.default_rng(3).normal(size=grid.shape)
    angstrom = 1.8897261  # bohr
    zt.write_cube(tmp_path / "v.cube", values, [x / angstrom for x in grid.axes().values()])
    lines = (tmp_path / "v.cube").read_text().splitlines()
    turned = [line.replace(f" {n} ", f"-{n} ", 1)
              for n, line in zip(grid.shape, lines[3:6], strict=True)]  # fmt: skip
    (tmp_path / "v.cube").write_text("\n".join([*lines[:3], *turned, *lines[6:]]))
    for found, wanted in zip(
        zt.read_cube(tmp_path / "v.cube")[1], grid.axes().values(), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    zt.discretize(zt.Model([zt.Kinetic(), zt.Potential(file=str(tmp_path / "v.cube"))]), grid)
    (tmp_path / "v.cube").write_text("\n".join([*lines[:3], *turned[:2], *lines[5:]]))
    with pytest.raises(zt.InputError, match=r"file: must have numbers of points of one sign"):
        zt.read_cube(tmp_path / "v.cube")


def test_refusals(tmp_path, grid):
    axes = list(grid.axes().values())
    with pytest.raises(zt.InputError, match="must be real"):
        zt.write_cube(tmp_path / "v.cube", np.zeros(grid.shape, complex), axes)
    with pytest.raises(zt.InputError, match=r"must have the axes' shape \(5, 6, 7\)"):
        zt.write_cube(tmp_path / "v.cube", np.zeros((5, 6, 6)), axes)
    with pytest.raises(zt.InputError, match="axes: must be three, but are 2"):
        zt.write_cube(tmp_path / "v.cube", np.zeros(grid.shape), axes[:2])
    zt.write_cube(tmp_path / "v.cube", np.zeros(grid.shape), axes)
    text = (tmp_path / "v.cube").read_text().splitlines()
    (tmp_path / "short.cube").write_text("\n".join(text[:-1]))
    with pytest.raises(zt.InputError, match=r"must hold 210 values for its grid .* but holds"):
        zt.read_cube(tmp_path / "short.cube")
    (tmp_path / "not.cube").write_text("nothing\n")
    with pytest.raises(zt.InputError, match="must be a Gaussian cube file"):
        zt.read_cube(tmp_path / "not.cube")


def test_points_at_unequal_distances_are_refused(tmp_path, grid):
    axes = list(grid.axes().values())
    with pytest.raises(zt.InputError, match="equal distances"):
        zt.write_cube(tmp_path / "v.cube", np.zeros(grid.shape), [axes[0], axes[1] ** 3, axes[2]])
    assert not (tmp_path / "v.cube").exists()
