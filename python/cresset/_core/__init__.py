"""The parts of the package that have no name in PyTorch: settings, creation, functions of the top level, and the tables of names that live elsewhere."""
