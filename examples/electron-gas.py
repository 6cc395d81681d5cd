"""Fourteen electrons at r_s = 5: Hartree–Fock, optimized VMC and DMC energies, with error bars."""

import zitter as zt

zt.configure()
gas = zt.qmc.ElectronGas(n=14, rs=5.0, dimension=3, lattice="sc")
psi = zt.qmc.SlaterJastrow(gas, jastrow=[zt.qmc.U(order=5), zt.qmc.P(stars=2)])

found = zt.qmc.optimize(psi, method=zt.qmc.VarianceMinimization(1), walkers=128, draws=8)
psi = found.wavefunction
print(found.summary())

variational = zt.qmc.vmc(psi, walkers=128, blocks=40)
projected = zt.qmc.dmc(psi, timestep=1.0, walkers=128, blocks=20)
print(f"Hartree–Fock  {gas.hartree_fock()[0]:.6f} hartree per electron")
print(variational.summary())
print(projected.summary())
