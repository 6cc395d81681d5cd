"""Random walks of electrons: how they move, and the two methods that are made of it."""
