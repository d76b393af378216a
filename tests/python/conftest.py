"""Settings of pytest for these tests: the counts that a module keeps in SUMMARY are printed at the end."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "ops"))  # rows.py, of which tests in other folders make use


def pytest_terminal_summary(terminalreporter):
    lines = [line for module in list(sys.modules.values()) for line in getattr(module, "__dict__", {}).get("SUMMARY", [])]
    if lines:
        terminalreporter.section("counts")
    for line in lines:
        terminalreporter.line(line)
