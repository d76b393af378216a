"""Settings of pytest for these tests: the counts that a module keeps in SUMMARY are printed at the end."""

import os
import signal
import sys
from pathlib import Path

import pytest

WORKER = "PYTEST_XDIST_WORKER" in os.environ  # one of the processes that scripts/test starts
OF_WORKERS = []  # counts of those processes

sys.path.append(str(Path(__file__).parent / "ops"))  # rows.py, of which tests in other folders make use

# A shell starts what it puts in the background with interrupts ignored, and tests of interrupts would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_logstart(nodeid, location):
    """Leaves the name of the test in the file that CRESSET_RUNNING_TEST names: a process that crashes cannot say it."""
    if (path := os.environ.get("CRESSET_RUNNING_TEST")) and not WORKER:
        Path(path).write_text(nodeid + "\n")


def pytest_runtest_logreport(report):
    """Adds the names of tests that fail, and of files that cannot be read, to the file that CRESSET_FAILED_TESTS names."""
    if report.failed and (path := os.environ.get("CRESSET_FAILED_TESTS")) and not WORKER:
        with open(path, "a") as failed:
            failed.write(report.nodeid + "\n")


pytest_collectreport = pytest_runtest_logreport


def pytest_sessionfinish(session):
    if WORKER:
        session.config.workeroutput["counts"] = counts()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    OF_WORKERS.extend(getattr(node, "workeroutput", {}).get("counts", []))


def pytest_terminal_summary(terminalreporter):
    lines = counts() + OF_WORKERS
    if lines:
        terminalreporter.section("counts")
    for line in lines:
        terminalreporter.line(line)


def counts():
    return [line for module in list(sys.modules.values()) for line in getattr(module, "__dict__", {}).get("SUMMARY", [])]
