"""Settings shared by all tests."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests import their `oracles` from this folder, and `benchmarks`, no part of the installed package, from the one above.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

# Deadlines measure the machine, not the code; derandomised examples make a failure reproducible by whoever comes next.
settings.register_profile(
    "widemargin", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("widemargin")


#: Seconds beyond the timeout of a test after which the whole run ends.
LAST_RESORT = 60.0
STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C, which shells let background jobs ignore; know the marks of scikit-learn's test modules."""
    config.stash[STDERR] = os.dup(2)  # before output is captured
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "thread_unsafe: set by scikit-learn on tests that may not run in parallel threads"
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what was opened above."""
    os.close(config.stash[STDERR])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the run, with a traceback of every thread, where a test does not even hear its timeout.

    A timeout is a signal, and C++ that never looks for signals does not end by one.
    """
    mark = item.get_closest_marker("timeout")
    seconds = float(mark.args[0] if mark is not None else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(seconds + LAST_RESORT, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of public data sets named by WIDEMARGIN_DATA; tests that need it are skipped where it is absent."""
    folder = os.environ.get("WIDEMARGIN_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("the environment variable WIDEMARGIN_DATA does not name a folder of data sets")
    return Path(folder)
