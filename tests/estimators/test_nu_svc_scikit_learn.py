"""scikit-learn's own tests of its NuSVC, imported and run against this one.

Every test function of the two modules that mentions NuSVC is run, in every parametrisation that concerns it, with
`svm.NuSVC` replaced. What is not run is listed in `SKIPPED`, each with its reason; a test keeps that list from going
stale.
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

from widemargin import NuSVC

with warnings.catch_warnings():
    # The modules carry marks of their own; whoever runs only this file has not registered them all.
    warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)
    from sklearn.svm.tests import test_sparse as sparse_tests
    from sklearn.svm.tests import test_svm as dense_tests

NO_PROBABILITY = "there is no `probability` here; scikit-learn deprecates it in 1.9 and removes it in 1.11"
NEGATIVE = "negative weights are refused here, not taken for zero; see test_svc_bad_input"

#: What is not run, and why. A key is a test function, or a function and the identifier of one parametrisation.
SKIPPED: dict[str, str] = {
    "test_svm.test_probability": NO_PROBABILITY,
    "test_svm.test_probability_raises_futurewarning": NO_PROBABILITY,
    "test_svm.test_svc_nusvc_probA_probB_deprecated": NO_PROBABILITY,
    "test_svm.test_negative_sample_weights_mask_all_samples[weights-are-negative-NuSVC]": NEGATIVE,
    "test_svm.test_negative_sample_weights_mask_all_samples[weights-are-zero-NuSVC]": (
        "refused in another sentence; see test_svc_bad_input"
    ),
    "test_svm.test_negative_weight_equal_coeffs[partial-mask-label-1-NuSVC]": NEGATIVE,
    "test_svm.test_negative_weights_svc_leave_just_one_label": NEGATIVE,
    "test_svm.test_negative_weights_svc_leave_two_labels[partial-mask-label-1-NuSVC]": NEGATIVE,
    "test_svm.test_svc_invalid_break_ties_param": "ties are broken by confidence in either shape here, and by default",
}

#: Tests whose classes have no margin at their nu, of which scikit-learn says nothing; here warnings are errors.
MAY_WARN = {"test_n_iter_libsvm"}


class Stand:
    """`sklearn.svm` with its NuSVC replaced."""

    def __init__(self, replacement: Callable[..., Any]) -> None:
        self.NuSVC = replacement

    def __getattr__(self, name: str) -> Any:
        return getattr(sklearn.svm, name)


def _without_probability(*, probability: bool = False, **parameters: Any) -> NuSVC:
    """Build our NuSVC where a test asks for `probability`, which scikit-learn itself removes; all else must hold."""
    return NuSVC(**parameters)


def _ours(value: Any) -> Any:
    """The same parameter with our class in place of scikit-learn's."""
    if value is sklearn.svm.NuSVC:
        return NuSVC
    if type(value) is sklearn.svm.NuSVC:
        defaults = sklearn.svm.NuSVC().get_params()
        return NuSVC(**{name: given for name, given in value.get_params().items() if given != defaults[name]})
    if isinstance(value, tuple):
        return tuple(_ours(part) for part in value)
    return value


def _is_another_machine(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return kind.__module__.startswith("sklearn.svm") and kind is not sklearn.svm.NuSVC


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
        if any(_is_another_machine(value) for value in arguments.values()):
            continue
        yield "-".join(identifier for identifier, _ in choice), {k: _ours(v) for k, v in arguments.items()}


def _concerning_nu_svc(module: ModuleType) -> Iterator[tuple[str, Callable[..., None]]]:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("test_") and function.__module__ == module.__name__:
            marks = repr([mark.args for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"])
            if re.search(r"\bsvm\.NuSVC\b", inspect.getsource(function)) or "sklearn.svm._classes.NuSVC'" in marks:
                yield name, function


def _collect() -> Iterator[Any]:
    for module in (dense_tests, sparse_tests):
        short = module.__name__.rsplit(".", 1)[-1]
        for name, function in _concerning_nu_svc(module):
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
    wants_probability = "probability=" in inspect.getsource(function)
    monkeypatch.setattr(module, "svm", Stand(_without_probability if wants_probability else NuSVC))
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
    assert len(run) >= 8
