"""A free Gaussian packet spreads: its width follows σ(t) = √(σ₀² + (t/2σ₀)²)."""

import numpy as np

import zitter as zt

width, momentum = 2.0, 1.0
grid = zt.Grid(512, 0.25, "periodic", center=10.0)
H = zt.discretize(zt.Model([zt.Kinetic()]), grid)
packet = zt.WavePacket(center=0.0, width=width, momentum=momentum).on(grid)

sol = zt.evolve(
    H, packet, t=(0.0, 20.0), dt=0.5, propagator=zt.SplitOperator(),
    observables=[zt.Norm(), zt.Position(), zt.Density()], save_every=4,
)  # fmt: skip

x = sol.axes["x"]
print(" t    <x>       width     exact width")
for t, mean, density in zip(
    sol.times, sol.observables["position"], sol.observables["density"], strict=True
):
    spread = np.sqrt(np.sum((x - mean) ** 2 * density) * 0.25)
    exact = np.sqrt(width**2 + (t / (2 * width)) ** 2)
    print(f"{t:4.1f}  {mean:8.5f}  {spread:8.6f}  {exact:8.6f}")
