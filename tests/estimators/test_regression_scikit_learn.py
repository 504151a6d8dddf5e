"""scikit-learn's own tests of its SVR and NuSVR, imported and run against these.

Every test function of the two modules that mentions one of the two is run, in every parametrisation that concerns one
of them, with both replaced. What is not run is listed in `SKIPPED`, each with its reason; a test keeps that list from
going stale.
"""

from __future__ import annotations

import pytest
import sklearn.svm
from scikit_learn_tests import ScikitLearnTest, collect, functions_run, keys

from widemargin import SVR, NuSVR

#: What is not run, and why. A key is a test function, or a function and the identifier of one parametrisation.
SKIPPED: dict[str, str] = {
    "test_svm.test_svr_errors": (
        "expects a kernel callable that returns nonsense to fail at prediction; here fit refuses it: test_svr_bad_input"
    ),
    "test_svm.test_custom_kernel_not_array_input": (
        "its kernel mirrors half of the matrix, which is right only for two equal lists; strings: test_svr_properties"
    ),
}

#: Tests that leave a warning uncaught, of LinearSVR or of negative weights; here warnings are errors.
MAY_WARN = {"test_linearsvr", "test_negative_weight_equal_coeffs"}

COLLECTED = collect({sklearn.svm.SVR: SVR, sklearn.svm.NuSVR: NuSVR}, SKIPPED)


@pytest.mark.parametrize("test", COLLECTED)
def test_scikit_learns_own_test(test: ScikitLearnTest, monkeypatch: pytest.MonkeyPatch) -> None:
    test.run(monkeypatch, may_warn=MAY_WARN)


def test_the_list_of_skipped_tests_is_not_stale() -> None:
    assert set(SKIPPED) <= keys(COLLECTED)


def test_most_of_scikit_learns_tests_are_run() -> None:
    assert len(functions_run(COLLECTED)) >= 10
