"""scikit-learn's own tests of its SVC, imported and run against this one.

Every test function of the two modules that mentions SVC is run, in every parametrisation that concerns SVC, with
`svm.SVC` replaced. What is not run is listed in `SKIPPED`, each with its reason; a test keeps that list from going
stale.
"""

from __future__ import annotations

import pytest
import sklearn.svm
from scikit_learn_tests import ScikitLearnTest, collect, functions_run, keys

from widemargin import SVC

PRIVATE = "reads or writes private attributes of scikit-learn's class"
NO_DEPRECATION = "`probability` is here to stay, and so are probA_ and probB_: nobody is warned of them"

#: What is not run, and why. A key is a test function, or a function and the identifier of one parametrisation.
SKIPPED: dict[str, str] = {
    "test_svm.test_probability_raises_futurewarning": NO_DEPRECATION,
    "test_svm.test_svc_nusvc_probA_probB_deprecated": NO_DEPRECATION,
    "test_svm.test_tweak_params": PRIVATE,
    "test_svm.test_svc_raises_error_internal_representation": f"{PRIVATE}; altered models: test_svc_edge_cases",
    "test_svm.test_gamma_scale": f"{PRIVATE}; the value of gamma='scale': test_svc_edge_cases",
    "test_svm.test_custom_kernel_not_array_input[Estimator0]": (
        "its kernel mirrors half of the matrix, which is right only for two equal lists; strings: test_svc_inputs"
    ),
    "test_svm.test_svc_invalid_break_ties_param": "ties are broken by confidence in either shape here, and by default",
    "test_svm.test_svc_nonfinite_params": "refused in another sentence; see test_svc_bad_input",
    "test_svm.test_libsvm_convergence_warnings": "the warning states the achieved gap instead; see test_svc_budgets",
    "test_sparse.test_timeout": "the warning states the achieved gap instead; see test_svc_budgets and test_svc_inputs",
}

#: Tests that leave a warning uncaught, of what did not converge or of negative weights; here warnings are errors.
MAY_WARN = {
    "test_consistent_decision_function",
    "test_svm_with_infinite_C",
    "test_negative_weight_equal_coeffs",
    "test_negative_weights_svc_leave_just_one_label",
    "test_negative_weights_svc_leave_two_labels",
}

COLLECTED = collect({sklearn.svm.SVC: SVC}, SKIPPED)


@pytest.mark.parametrize("test", COLLECTED)
def test_scikit_learns_own_test(test: ScikitLearnTest, monkeypatch: pytest.MonkeyPatch) -> None:
    test.run(monkeypatch, may_warn=MAY_WARN)


def test_the_list_of_skipped_tests_is_not_stale() -> None:
    assert set(SKIPPED) <= keys(COLLECTED)


def test_most_of_scikit_learns_tests_are_run() -> None:
    assert len(functions_run(COLLECTED)) >= 30
