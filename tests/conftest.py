"""Settings shared by all tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Deadlines measure the machine, not the code; derandomised examples make a failure reproducible by whoever comes next.
settings.register_profile(
    "widemargin", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("widemargin")


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C, which shells let background jobs ignore; know the marks of scikit-learn's test modules."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "thread_unsafe: set by scikit-learn on tests that may not run in parallel threads"
    )


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of public data sets named by WIDEMARGIN_DATA; tests that need it are skipped where it is absent."""
    folder = os.environ.get("WIDEMARGIN_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("the environment variable WIDEMARGIN_DATA does not name a folder of data sets")
    return Path(folder)
