"""scikit-learn's own tests of its SVR and NuSVR, imported and run against these.

Every test function of the two modules that mentions one of the two is run, in every parametrisation that concerns one
of them, with both replaced. What is not run is listed in `SKIPPED`, each with its reason; a test keeps that list from
going stale.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from types import ModuleType
from typing import Any

import pytest
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVR, NuSVR

with warnings.catch_warnings():
    # The modules carry marks of their own; whoever runs only this file has not registered them all.
    warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)
    from sklearn.svm.tests import test_sparse as sparse_tests
    from sklearn.svm.tests import test_svm as dense_tests

REPLACED: dict[type, type] = {sklearn.svm.SVR: SVR, sklearn.svm.NuSVR: NuSVR}

#: What is not run, and why. A key is a test function, or a function and the identifier of one parametrisation.
SKIPPED: dict[str, str] = {
    "test_svm.test_svr_errors": (
        "expects a kernel callable that returns nonsense to fail at prediction; here fit refuses it: test_svr_bad_input"
    ),
    "test_svm.test_negative_sample_weights_mask_all_samples": (
        "negative weights are refused here, not taken for zero, and zeros in another sentence: test_svr_bad_input"
    ),
    "test_svm.test_negative_weight_equal_coeffs[partial-mask-label-1-NuSVR]": (
        "negative weights are refused here, not taken for zero: test_svr_bad_input"
    ),
    "test_svm.test_custom_kernel_not_array_input": (
        "its kernel mirrors half of the matrix, which is right only for two equal lists; strings: test_svr_properties"
    ),
}

#: Tests that leave a convergence warning of scikit-learn's LinearSVR uncaught; here warnings are errors.
MAY_WARN = {"test_linearsvr"}


class Stand:
    """`sklearn.svm` with its kernel regressors replaced."""

    SVR = SVR
    NuSVR = NuSVR

    def __getattr__(self, name: str) -> Any:
        return getattr(sklearn.svm, name)


def _ours(value: Any) -> Any:
    """The same parameter with our class in place of scikit-learn's."""
    if isinstance(value, type) and value in REPLACED:
        return REPLACED[value]
    if type(value) in REPLACED:
        defaults = type(value)().get_params()
        changed = {name: given for name, given in value.get_params().items() if given != defaults[name]}
        return REPLACED[type(value)](**changed)
    return value


def _is_another_machine(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return kind.__module__.startswith("sklearn.svm") and kind not in REPLACED


def _parametrisations(function: Callable[..., None]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All arguments that a test function's marks ask for, with an identifier each; none that concern another class."""
    axes: list[list[tuple[str, dict[str, Any]]]] = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name != "parametrize":
            continue
        names, values = mark.args[:2]
        keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        identifiers = mark.kwargs.get("ids") or [f"{keys[0]}{position}" for position in range(len(list(values)))]
        axis = []
        for identifier, value in zip(identifiers, values, strict=True):
            row = value if len(keys) > 1 else (value,)
            axis.append((str(identifier), dict(zip(keys, row, strict=True))))
        axes.append(axis)
    for choice in product(*axes):
        arguments = {name: value for _, part in choice for name, value in part.items()}
        if not any(_is_another_machine(value) for value in arguments.values()):
            yield "-".join(identifier for identifier, _ in choice), {k: _ours(v) for k, v in arguments.items()}


def _concerning_regression(module: ModuleType) -> Iterator[tuple[str, Callable[..., None]]]:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("test_") and function.__module__ == module.__name__:
            marks = [mark.args[1] for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
            in_marks = re.search(r"\b(Nu)?SVR\b", repr([list(values) for values in marks]))
            if in_marks or re.search(r"\bsvm\.(Nu)?SVR\b", inspect.getsource(function)):
                yield name, function


def _collect() -> Iterator[Any]:
    for module in (dense_tests, sparse_tests):
        short = module.__name__.rsplit(".", 1)[-1]
        for name, function in _concerning_regression(module):
            for identifier, arguments in _parametrisations(function):
                key = f"{short}.{name}[{identifier}]" if identifier else f"{short}.{name}"
                reason = SKIPPED.get(key, SKIPPED.get(f"{short}.{name}"))
                marks = [pytest.mark.skip(reason=reason)] if reason else []
                yield pytest.param(module, function, arguments, id=key, marks=marks)


COLLECTED = list(_collect())


@pytest.mark.parametrize(("module", "function", "arguments"), COLLECTED)
def test_scikit_learns_own_test(
    module: ModuleType, function: Callable[..., None], arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "svm", Stand())
    if "global_random_seed" in inspect.signature(function).parameters:
        arguments = {**arguments, "global_random_seed": 42}
    with warnings.catch_warnings():
        if function.__name__ in MAY_WARN:
            warnings.simplefilter("ignore", ConvergenceWarning)
        function(**arguments)


def test_the_list_of_skipped_tests_is_not_stale() -> None:
    known = {parameter.id for parameter in COLLECTED} | {parameter.id.split("[")[0] for parameter in COLLECTED}
    assert set(SKIPPED) <= known


def test_most_of_scikit_learns_tests_are_run() -> None:
    run = {parameter.id.split("[")[0] for parameter in COLLECTED if not parameter.marks}
    assert len(run) >= 10
