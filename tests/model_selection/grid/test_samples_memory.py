"""How much memory the kernels of a search take, and what that means for its order."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searches import check_cells, classifier, data
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import GridSearchCV
from widemargin.kernels.shared import SharedKernel
from widemargin.model_selection.grid import samples

GRID = {"svc__C": [1.0, 10.0], "svc__gamma": [0.01, 0.1, 1.0]}


class Held:
    """Counts the bytes of kernels that are alive, by what each of them says that it needs."""

    def __init__(self) -> None:
        self.now = self.most = self.made = 0
        self.lock = threading.Lock()

    def count(self, change: int) -> None:
        with self.lock:
            self.now += change
            self.most = max(self.most, self.now)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    counts = Held()

    class CountedKernel(SharedKernel):
        def __init__(self, X: Any, kernel: Any, **how: Any) -> None:
            self.needed = self.bytes_needed(X, kernel)
            counts.count(self.needed)
            counts.made += 1
            super().__init__(X, kernel, **how)

        def __del__(self) -> None:
            counts.count(-self.needed)

    monkeypatch.setattr(samples, "SharedKernel", CountedKernel)
    return counts


def pipeline() -> Any:
    return make_pipeline(StandardScaler(), classifier())


def rows() -> tuple[Any, Any]:
    X, y = data("breast_cancer")
    return X[:300], y[:300]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("sets", [1.5, 2.5, 3.5, 4.5])
def test_pipelines_keep_within_the_memory(sets: float, n_jobs: int, held: Held) -> None:
    X, y = rows()
    memory = sets * SharedKernel.bytes_needed(X, "rbf") / 2**20
    search = GridSearchCV(pipeline(), GRID, cv=4, max_memory=memory, n_jobs=n_jobs, refit=False).fit(X, y)
    assert held.most <= memory * 2**20
    if n_jobs > sets:
        assert held.made == 0  # rows are computed as needed
    else:
        assert held.made >= 4
    check_cells(search, GridSearchCV(pipeline(), GRID, cv=4, refit=False).fit(X, y))


def test_kernels_of_several_kinds_keep_within_the_memory(held: Held) -> None:
    X, y = rows()
    grid = {"C": [0.1, 1.0], "kernel": ["rbf", "poly", "sigmoid"]}
    memory = 1.5 * SharedKernel.bytes_needed(X, "rbf") / 2**20
    GridSearchCV(classifier(gamma=0.01), grid, cv=3, max_memory=memory, refit=False).fit(X, y)
    assert held.made == 3
    assert held.most <= memory * 2**20


def order(tmp_path: Path, memory: Any) -> list[tuple[int, int]]:
    """The width and the split of each evaluation."""
    X, y = rows()
    path = tmp_path / "study.jsonl"
    search = GridSearchCV(pipeline(), GRID, cv=4, max_memory=memory, journal=path, refit=False).fit(X, y)
    gammas = np.asarray(search.cv_results_["param_svc__gamma"], dtype=float)
    records = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    places = [divmod(one["evaluation"], 4) for one in records]
    return [(int(np.searchsorted([0.01, 0.1, 1.0], gammas[candidate])), split) for candidate, split in places]


def test_candidates_are_finished_on_all_splits_one_after_the_other(tmp_path: Path) -> None:
    """So that whoever stops a search gets the best so far."""
    assert {gamma for gamma, _ in order(tmp_path, "auto")[:8]} == {2}


def test_splits_come_one_after_the_other_where_not_all_of_them_fit(tmp_path: Path) -> None:
    X, _ = rows()
    one = SharedKernel.bytes_needed(X, "rbf") / 2**20
    assert {split for _, split in order(tmp_path, 1.5 * one)[:6]} == {0}


RESIDENT = """
import numpy as np, widemargin
from widemargin import SVC, GridSearchCV

def resident():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * 4096

rng = np.random.default_rng(0)
X, y = rng.normal(size=(4000, 5)), rng.integers(0, 2, size=4000)
search = GridSearchCV(SVC(gamma=50.0), {"C": [1.0]}, cv=20, refit=False)
search.fit(X[:100], y[:100])
before = resident()
search.fit(X, y)
widemargin.release_memory()
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells how much memory is resident")
def test_all_memory_can_be_given_back() -> None:
    grown = subprocess.run([sys.executable, "-c", RESIDENT], capture_output=True, text=True, check=True)
    assert int(grown.stdout) < 16 * 2**20  # the part of the kernel that was worked on takes twice that
