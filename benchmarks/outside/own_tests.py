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

DELIBERATE: dict[str, str] = {}
INTERNAL: dict[str, str] = {}


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
    print(f"scikit-learn {sklearn.__version__}, its tests of our classes: {counts['passed']} passed, {counts['failed']} failed")
    reasons = expected()
    for name in sorted(name for name, outcome in found.items() if outcome == "failed" and name in reasons):
        print(f"  as expected  {name}: {reasons[name]}")
    wrong = list(surprises(found))
    for one in wrong:
        print(f"  UNEXPECTED   {one}")
    if wrong:
        print(printed[-20_000:])
    return not wrong
