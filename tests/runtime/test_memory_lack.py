"""Memory that is not there: columns that nobody could hold, and what a search says when it has run out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import widemargin
from widemargin import SVC, SVDD, GridSearchCV, ModelSearch
from widemargin.cli.command import main
from widemargin.datasets import read_libsvm
from widemargin.kernels import DiagonalGaussian, GeneralGaussian, Mahalanobis
from widemargin.kernels.rows import kernel_matrix
from widemargin.kernels.shared import SharedKernel
from widemargin.objectives import Polarization
from widemargin.runtime import memory as room
from widemargin.runtime.memory import NotEnoughMemoryError

RANDOM = np.random.default_rng(0)
Y = np.repeat([1, -1], 20)
X = RANDOM.normal(size=(40, 2)) + Y[:, np.newaxis]


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A file in LIBSVM format, one line of which has a value of feature 2e9."""
    rows = [f"{label} 1:{a:.3f} 2:{b:.3f}" for label, (a, b) in zip(Y, X, strict=True)]
    rows[3] += " 2000000000:1"
    path = tmp_path / "wide.svm"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 16 GB of memory left."""
    monkeypatch.setattr(room, "free_memory", lambda: 2**34)


SENTENCE = "X has 2000000000 columns, for which kernels take at least 119 GiB of memory, and 16 GiB are free; leave out"


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(
    "use",
    [
        lambda X, y: SVC().fit(X, y),
        lambda X, y: SVC(kernel="linear").fit(X, y),
        lambda X, y: SVDD(kernel="linear").fit(X),
        lambda X, y: SVC(kernel=DiagonalGaussian()).fit(X, y),
        lambda X, y: SVC(kernel=Mahalanobis()).fit(X, y),
        lambda X, y: SVC(kernel=GeneralGaussian()).fit(X, y),
        lambda X, y: GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=2).fit(X, y),
        lambda X, y: ModelSearch(SVC(), objective="polarization").fit(X, y),
        lambda X, y: widemargin.select(X, y),
        lambda X, y: kernel_matrix(X),
    ],
    ids=["SVC", "linear", "SVDD", "diagonal", "Mahalanobis", "general", "grid", "model search", "select", "matrix"],
)
def test_more_columns_than_there_is_memory_for(use: Any, wide: Path) -> None:
    rows, y = read_libsvm(wide)  # which takes next to nothing
    assert rows.shape == (40, 2_000_000_000)
    with pytest.raises(NotEnoughMemoryError, match=SENTENCE):
        use(rows, y)


@pytest.mark.usefixtures("little")
def test_the_command_says_so(wide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["select", str(wide)]) == 1
    assert capsys.readouterr().err.startswith(f"widemargin: {SENTENCE}")


@pytest.mark.usefixtures("little")
def test_columns_that_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "FEW_COLUMNS", 100)
    rows = sp.csr_array((X.ravel(), np.tile([0, 4_999], 40), np.arange(0, 81, 2)), shape=(40, 5_000))
    expected = SVC(gamma=0.5).fit(X, Y).predict(X)
    assert np.array_equal(SVC(gamma=0.5).fit(rows, Y).predict(rows), expected)


def fails(*_: Any, **__: Any) -> Any:
    raise MemoryError("std::bad_alloc")


@pytest.mark.parametrize(
    "how", [{}, {"error_score": "raise"}, {"n_jobs": 2}, {"error_score": 0.0, "n_jobs": 2}], ids=repr
)
def test_a_search_that_runs_out_of_memory_says_so(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SharedKernel, "matrix", fails)
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0], "gamma": [0.1]}, cv=2, **how)
    with pytest.raises(NotEnoughMemoryError) as caught:
        search.fit(X, Y)
    assert str(caught.value) in [
        f"There was not enough memory to evaluate {{'C': 1.0, 'gamma': 0.1}} on fold {split} (std::bad_alloc); lower "
        "max_memory (megabytes for kernels) or n_jobs, or search with fewer samples."
        for split in (0, 1)
    ]


def test_a_refit_that_runs_out_of_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SVC, "_tell", fails)  # the end of a fit
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=2)
    with pytest.raises(NotEnoughMemoryError, match="not enough memory to train the best candidate on all samples"):
        search.fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_model_search_that_runs_out_of_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hungry(Polarization):
        def bind(self, *args: Any, **kwargs: Any) -> Any:
            fails()

    with pytest.raises(NotEnoughMemoryError, match=r"^There was not enough memory to search \(std::bad_alloc\); lower"):
        ModelSearch(SVC(), objective=Hungry(), max_evaluations=5).fit(X, Y)
