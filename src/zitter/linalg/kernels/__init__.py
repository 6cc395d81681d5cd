"""Hand-written kernels for updates whose cost is memory traffic, each beside its XLA form."""
