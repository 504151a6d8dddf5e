"""Scikit-learn's own tests with widemargin's classes in the place of its own: what may fail, and why."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import sklearn

FOLDER = Path(sklearn.__file__).parent

#: Files of tests that use support vector machines or grid searches; the quick ones first.
QUICK = (
    "svm/tests/test_svm.py",
    "svm/tests/test_sparse.py",
    "tests/test_base.py",
    "tests/test_pipeline.py",
    "tests/test_multiclass.py",
    "tests/test_metaestimators.py",
    "tests/test_metaestimators_metadata_routing.py",
    "feature_selection/tests/test_rfe.py",
    "semi_supervised/tests/test_self_training.py",
    "ensemble/tests/test_voting.py",
    "ensemble/tests/test_bagging.py",
    "utils/tests/test_pprint.py",
    "metrics/_plot/tests/test_confusion_matrix_display.py",
    "metrics/tests/test_score_objects.py",
)
FILES = (
    *QUICK,
    "decomposition/tests/test_kernel_pca.py",
    "ensemble/tests/test_common.py",
    "ensemble/tests/test_forest.py",
    "ensemble/tests/test_gradient_boosting.py",
    "ensemble/tests/test_stacking.py",
    "ensemble/tests/test_weight_boosting.py",
    "feature_extraction/tests/test_text.py",
    "impute/tests/test_impute.py",
    "linear_model/tests/test_coordinate_descent.py",
    "linear_model/tests/test_logistic.py",
    "linear_model/tests/test_ridge.py",
    "linear_model/tests/test_sgd.py",
    "metrics/tests/test_classification.py",
    "metrics/tests/test_ranking.py",
    "metrics/tests/test_regression.py",
    "model_selection/tests/test_classification_threshold.py",
    "model_selection/tests/test_search.py",
    "model_selection/tests/test_split.py",
    "model_selection/tests/test_successive_halving.py",
    "model_selection/tests/test_validation.py",
    "neighbors/tests/test_kde.py",
    "preprocessing/tests/test_data.py",
    "tests/test_docstring_parameters.py",
    "tests/test_multioutput.py",
    "utils/tests/test_estimator_checks.py",
    "utils/tests/test_multiclass.py",
    "utils/tests/test_parallel.py",
    "utils/tests/test_validation.py",
)

#: Tests that may fail.
MOST = 36

#: Tests of what is different on purpose; all of it stands in the table of docs/guide/from_scikit_learn.md.
DELIBERATE = {
    "svm/tests/test_svm.py::test_svr_errors": (
        "a kernel that does not return a matrix of the right shape is refused by fit"
    ),
    "svm/tests/test_svm.py::test_custom_kernel_not_array_input[SVC]": (
        "a kernel that is wrong for blocks of samples, as this one is, is refused"
    ),
    "svm/tests/test_svm.py::test_svc_invalid_break_ties_param[42-SVC]": (
        "break_ties works with every decision_function_shape"
    ),
    "svm/tests/test_svm.py::test_svc_invalid_break_ties_param[42-NuSVC]": (
        "break_ties works with every decision_function_shape"
    ),
    "svm/tests/test_svm.py::test_probability_raises_futurewarning[True-SVC-SVC]": "probability is not deprecated",
    "svm/tests/test_svm.py::test_probability_raises_futurewarning[True-NuSVC-NuSVC]": ("probability is not deprecated"),
    "svm/tests/test_svm.py::test_probability_raises_futurewarning[False-SVC-SVC]": "probability is not deprecated",
    "svm/tests/test_svm.py::test_probability_raises_futurewarning[False-NuSVC-NuSVC]": (
        "probability is not deprecated"
    ),
    "svm/tests/test_svm.py::test_svc_nusvc_probA_probB_deprecated[SVC]": "probA_ and probB_ are not deprecated",
    "svm/tests/test_svm.py::test_svc_nusvc_probA_probB_deprecated[NuSVC]": "probA_ and probB_ are not deprecated",
    "model_selection/tests/test_search.py::test_grid_search_precomputed_kernel": (
        "a search takes lists of lists as kernel values"
    ),
}

#: Tests that look at scikit-learn's internals, or at the words of a message.
INTERNAL = {
    "svm/tests/test_svm.py::test_tweak_params": "sets the private _dual_coef_",
    "svm/tests/test_svm.py::test_gamma_scale": "reads the private _gamma",
    "svm/tests/test_svm.py::test_svc_raises_error_internal_representation": "sets the private _n_support",
    "svm/tests/test_svm.py::test_negative_weights_svc_leave_just_one_label[mask-label-1-NuSVC]": (
        "the words of a message: NuSVC says that one class is left, not that nu is infeasible"
    ),
    "svm/tests/test_svm.py::test_negative_weights_svc_leave_just_one_label[mask-label-2-NuSVC]": (
        "the words of a message: NuSVC says that one class is left, not that nu is infeasible"
    ),
    "svm/tests/test_svm.py::test_svc_nonfinite_params[42]": (
        "the words of a message: samples that are too large are refused before the fit"
    ),
    "svm/tests/test_svm.py::test_libsvm_convergence_warnings[42]": (
        "the words of a warning: ours states violation and gap"
    ),
    "svm/tests/test_sparse.py::test_timeout[lil_matrix]": "the words of a warning: ours states violation and gap",
    "svm/tests/test_sparse.py::test_timeout[lil_array]": "the words of a warning: ours states violation and gap",
    "ensemble/tests/test_gradient_boosting.py::test_gradient_boosting_with_init_pipeline": (
        "the type and the words of an error: ValueError in one sentence"
    ),
    "linear_model/tests/test_sgd.py::test_sgd_oneclass_vs_linear_oneclass_offsets_match[0.9]": (
        "offset_ is lower by the margin that keeps samples on the border inside"
    ),
    "model_selection/tests/test_search.py::test_custom_run_search": (
        "compares the list of all public attributes; ours has more"
    ),
    "model_selection/tests/test_search.py::test_searchcv_raise_warning_with_non_finite_score[GridSearchCV-specialized_params0-False]": (  # noqa: E501
        "PlainSearchWarning says that a search trains every model alone"
    ),
    "model_selection/tests/test_search.py::test_searchcv_raise_warning_with_non_finite_score[GridSearchCV-specialized_params0-True]": (  # noqa: E501
        "PlainSearchWarning says that a search trains every model alone"
    ),
    "utils/tests/test_estimator_checks.py::test_xfail_count_with_no_fast_fail": (
        "counts the checks that scikit-learn's own NuSVC fails; ours fails none"
    ),
    "utils/tests/test_estimator_checks.py::test_check_estimator_callback": (
        "counts the checks that scikit-learn's own NuSVC fails; ours fails none"
    ),
    "utils/tests/test_validation.py::test_check_array_links_to_imputer_doc_only_for_X[asarray-X]": (
        "the words of a message: ours names the row and the column"
    ),
    "utils/tests/test_validation.py::test_check_array_links_to_imputer_doc_only_for_X[csr_array-X]": (
        "the words of a message: ours names the row and the column"
    ),
    "utils/tests/test_validation.py::test_check_array_links_to_imputer_doc_only_for_X[csr_matrix-X]": (
        "the words of a message: ours names the row and the column"
    ),
}


def outcomes(files: Sequence[str]) -> tuple[dict[str, str], str]:
    """Run files of tests; return how each test ended, and what pytest printed."""
    with tempfile.TemporaryDirectory() as folder:
        kept, settings = Path(folder) / "outcomes", Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n")
        kept.touch()
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-p", "benchmarks.outside.replaced", "-p", "no:cacheprovider", "-q"),
                *("-c", str(settings), f"--rootdir={FOLDER}", f"--confcutdir={FOLDER}", "--tb=short", "--timeout=120"),
                *(str(FOLDER / name) for name in files if (FOLDER / name).exists()),
            ],
            env={**os.environ, "OUTCOMES": str(kept), "PYTHONPATH": str(Path.cwd()), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ended.returncode not in (0, 1):  # no tests, or pytest itself has failed
            raise RuntimeError(f"pytest ended with {ended.returncode}:\n{ended.stdout[-3000:]}")
        lines = (line.split("\t") for line in kept.read_text(encoding="utf-8").splitlines())
        # A test that passes and then fails to clean up has failed.
        found: dict[str, str] = {}
        for outcome, name in lines:
            found[name] = "failed" if "failed" in (outcome, found.get(name)) else outcome
        return found, ended.stdout


def expected() -> dict[str, str]:
    """Return the tests that may fail, with the reasons."""
    return DELIBERATE | INTERNAL


def surprises(found: dict[str, str]) -> Iterator[str]:
    """Say what ended otherwise than expected."""
    reasons = expected()
    if len(reasons) > MOST:
        yield f"{len(reasons)} tests may fail; there must be at most {MOST}"
    for name, outcome in found.items():
        if outcome == "failed" and name not in reasons:
            yield f"{name} fails"
        if outcome == "passed" and name in reasons:
            yield f"{name} passes, though it may fail ({reasons[name]}): take it off the list"


def own_tests(*, quick: bool) -> bool:
    """Run scikit-learn's tests, print a summary; return whether all is as expected."""
    found, printed = outcomes(QUICK if quick else FILES)
    counts = {outcome: list(found.values()).count(outcome) for outcome in ("passed", "failed", "skipped")}
    ended = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
    print(f"scikit-learn {sklearn.__version__}, its tests of our classes: {ended}")
    reasons = expected()
    for name in sorted(name for name, outcome in found.items() if outcome == "failed" and name in reasons):
        print(f"  as expected  {name}: {reasons[name]}")
    wrong = list(surprises(found))
    for one in wrong:
        print(f"  UNEXPECTED   {one}")
    if wrong:
        print(printed[-20_000:])
    return not wrong
