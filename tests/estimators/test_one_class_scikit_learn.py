"""scikit-learn's own tests that concern its OneClassSVM, imported and run against this one.

What is not run is listed in `SKIPPED`, each with its reason; a test keeps that list from going stale.
"""

from __future__ import annotations

import pytest
import sklearn.svm
from scikit_learn_tests import ScikitLearnTest, collect, functions_run, keys

from widemargin import OneClassSVM

#: What is not run, and why. A key is a test function, or a function and the identifier of one parametrisation.
SKIPPED: dict[str, str] = {
    "test_svm.test_negative_sample_weights_mask_all_samples": (
        "negative weights are refused here, not taken for zero, and zeros in another sentence; see test_one_class"
    ),
}

COLLECTED = collect({sklearn.svm.OneClassSVM: OneClassSVM}, SKIPPED)


@pytest.mark.parametrize("test", COLLECTED)
def test_scikit_learns_own_test(test: ScikitLearnTest, monkeypatch: pytest.MonkeyPatch) -> None:
    test.run(monkeypatch)


def test_the_list_of_skipped_tests_is_not_stale() -> None:
    assert set(SKIPPED) <= keys(COLLECTED)


def test_most_of_scikit_learns_tests_are_run() -> None:
    assert len(functions_run(COLLECTED)) >= 6
