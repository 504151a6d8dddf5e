"""scikit-learn's own tests that concern its OneClassSVM, imported and run against this one."""

from __future__ import annotations

import pytest
import sklearn.svm
from scikit_learn_tests import ScikitLearnTest, collect, functions_run

from widemargin import OneClassSVM

COLLECTED = collect({sklearn.svm.OneClassSVM: OneClassSVM}, {})


@pytest.mark.parametrize("test", COLLECTED)
def test_scikit_learns_own_test(test: ScikitLearnTest, monkeypatch: pytest.MonkeyPatch) -> None:
    test.run(monkeypatch)


def test_most_of_scikit_learns_tests_are_run() -> None:
    assert len(functions_run(COLLECTED)) >= 6
