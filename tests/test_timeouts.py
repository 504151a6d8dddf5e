"""A test that never ends is ended, whatever it does."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

# As good as endless: a huge penalty on labels that are noise.
ENDLESS = """
import itertools
import threading
import numpy as np
import pytest
from widemargin import SVC, GridSearchCV

pytestmark = pytest.mark.timeout(1)
X = np.random.default_rng(0).normal(size=(4000, 3))
y = np.random.default_rng(1).choice([-1, 1], size=4000)
FOREVER = SVC(C=1e12, gamma=1e-3, tol=1e-14, max_iter=-1)

def test_a_solve():
    FOREVER.fit(X, y)

def test_threads_of_the_core():
    FOREVER.set_params(n_jobs=2).fit(X, y)

def test_a_search():
    GridSearchCV(FOREVER, {"C": [1e11, 1e12], "gamma": [1e-3, 2e-3]}, n_jobs=2).fit(X, y)

def test_a_lock():
    threading.Event().wait()

def test_what_ends():
    pass

def test_what_hears_no_signal():
    max(itertools.repeat(1))
"""


def _run(folder: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], float]:
    (folder / "test_endless.py").write_text(ENDLESS)
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text().replace("= 60.0", "= 1.0"))
    began = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    command += ["--rootdir", str(folder), str(folder / "test_endless.py"), "--tb=line", *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=90)
    return ended, time.perf_counter() - began


def test_a_test_ends_at_its_timeout_and_the_next_one_runs(tmp_path: Path) -> None:
    ended, seconds = _run(tmp_path, "-k", "not signal")
    assert "4 failed, 1 passed" in ended.stdout, ended.stdout + ended.stderr
    assert ended.stdout.count("Failed: Timeout (>1.0s)") >= 4
    assert seconds < 60.0


def test_what_hears_no_signal_ends_the_run(tmp_path: Path) -> None:
    ended, seconds = _run(tmp_path, "-k", "signal")
    assert ended.returncode == 1
    assert "test_what_hears_no_signal" in ended.stderr
    assert "Timeout (0:00:02)" in ended.stderr
    assert "passed" not in ended.stdout
    assert seconds < 60.0
