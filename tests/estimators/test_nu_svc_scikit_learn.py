"""scikit-learn's own tests of its NuSVC, imported and run against this one.

Every test function of the two modules that mentions NuSVC is run, in every parametrisation that concerns it, with
`svm.NuSVC` replaced. What is not run is listed in `SKIPPED`, each with its reason; a test keeps that list from going
stale.
"""

from __future__ import annotations

import pytest
import sklearn.svm
from scikit_learn_tests import ScikitLearnTest, collect, functions_run, keys

from widemargin import NuSVC

NO_DEPRECATION = "`probability` is here to stay, and so are probA_ and probB_: nobody is warned of them"

#: What is not run, and why. A key is a test function, or a function and the identifier of one parametrisation.
SKIPPED: dict[str, str] = {
    "test_svm.test_probability_raises_futurewarning": NO_DEPRECATION,
    "test_svm.test_svc_nusvc_probA_probB_deprecated": NO_DEPRECATION,
    "test_svm.test_negative_weights_svc_leave_just_one_label": "refused in another sentence; see test_validation",
    "test_svm.test_svc_invalid_break_ties_param": "ties are broken by confidence in either shape here, and by default",
}

#: Tests with negative weights, or no margin at their nu, of which scikit-learn says nothing; here warnings are errors.
MAY_WARN = {
    "test_n_iter_libsvm",
    "test_negative_weight_equal_coeffs",
    "test_negative_weights_svc_leave_two_labels",
}

COLLECTED = collect({sklearn.svm.NuSVC: NuSVC}, SKIPPED)


@pytest.mark.parametrize("test", COLLECTED)
def test_scikit_learns_own_test(test: ScikitLearnTest, monkeypatch: pytest.MonkeyPatch) -> None:
    test.run(monkeypatch, may_warn=MAY_WARN)


def test_the_list_of_skipped_tests_is_not_stale() -> None:
    assert set(SKIPPED) <= keys(COLLECTED)


def test_most_of_scikit_learns_tests_are_run() -> None:
    assert len(functions_run(COLLECTED)) >= 8
