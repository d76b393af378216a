"""Symbols of sizes are s0, s1, ... in these tests, so that they can be read; symbol_names_test.py has their real names."""

import pytest
from cresset.fx.experimental import _shape_env


@pytest.fixture(autouse=True)
def symbols_are_numbered_in_order(request, monkeypatch):
    if not request.module.__name__.endswith("symbol_names_test"):
        monkeypatch.setattr(_shape_env, "_number_of", lambda name: 0)
