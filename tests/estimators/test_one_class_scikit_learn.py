"""scikit-learn's own tests that concern its OneClassSVM, imported and run against this one.

What is not run is listed in `SKIPPED`, each with its reason; a test keeps that list from going stale.
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

from widemargin import OneClassSVM

with warnings.catch_warnings():
    # The modules carry marks of their own; whoever runs only this file has not registered them all.
    warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)
    from sklearn.svm.tests import test_sparse as sparse_tests
    from sklearn.svm.tests import test_svm as dense_tests

#: What is not run, and why. A key is a test function, or a function and the identifier of one parametrisation.
SKIPPED: dict[str, str] = {
    "test_svm.test_negative_sample_weights_mask_all_samples": (
        "negative weights are refused here, not taken for zero, and zeros in another sentence; see test_one_class"
    ),
}


class Stand:
    """`sklearn.svm` with its OneClassSVM replaced."""

    OneClassSVM = OneClassSVM

    def __getattr__(self, name: str) -> Any:
        return getattr(sklearn.svm, name)


def _is_another_machine(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return kind.__module__.startswith("sklearn.svm") and kind is not sklearn.svm.OneClassSVM


def _parametrisations(function: Callable[..., None]) -> Iterator[tuple[str, dict[str, Any]]]:
    axes: list[list[tuple[str, dict[str, Any]]]] = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name != "parametrize":
            continue
        names, values = mark.args[:2]
        keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        identifiers = mark.kwargs.get("ids") or [f"{keys[0]}{position}" for position in range(len(list(values)))]
        rows = (value if len(keys) > 1 else (value,) for value in values)
        axes.append([(str(i), dict(zip(keys, row, strict=True))) for i, row in zip(identifiers, rows, strict=True)])
    for choice in product(*axes):
        arguments = {name: value for _, part in choice for name, value in part.items()}
        if not any(_is_another_machine(value) for value in arguments.values()):
            ours = {k: OneClassSVM if v is sklearn.svm.OneClassSVM else v for k, v in arguments.items()}
            yield "-".join(identifier for identifier, _ in choice), ours


def _collect() -> Iterator[Any]:
    for module in (dense_tests, sparse_tests):
        short = module.__name__.rsplit(".", 1)[-1]
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("test_") or not re.search(r"\bOneClassSVM\b", inspect.getsource(function)):
                continue
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
    function(**arguments)


def test_the_list_of_skipped_tests_is_not_stale() -> None:
    known = {parameter.id for parameter in COLLECTED} | {parameter.id.split("[")[0] for parameter in COLLECTED}
    assert set(SKIPPED) <= known


def test_most_of_scikit_learns_tests_are_run() -> None:
    run = {parameter.id.split("[")[0] for parameter in COLLECTED if not parameter.marks}
    assert len(run) >= 6
