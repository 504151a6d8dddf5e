"""Runs scikit-learn's own tests of its kernel machines against ours.

A test function of scikit-learn concerns a machine if it says `svm.<machine>` or is parametrised with it. Such a
function is run in every parametrisation that is not about another machine, with scikit-learn's class replaced by ours
wherever it is named or handed over.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from types import ModuleType
from typing import Any

import pytest
import sklearn.svm

with warnings.catch_warnings():
    # The modules carry marks of their own; whoever runs only one file has not registered them all.
    warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)
    from sklearn.svm.tests import test_sparse as sparse_tests
    from sklearn.svm.tests import test_svm as dense_tests

#: Our class for each of scikit-learn's that a file is about.
Replacements = Mapping[type, Callable[..., Any]]


class Stand:
    """`sklearn.svm` with some of its classes replaced."""

    def __init__(self, replaced: Replacements) -> None:
        for theirs, ours in replaced.items():
            setattr(self, theirs.__name__, ours)

    def __getattr__(self, name: str) -> Any:
        return getattr(sklearn.svm, name)


@dataclass(frozen=True)
class ScikitLearnTest:
    """A test function of scikit-learn with the arguments of one of its parametrisations, ours in place of theirs."""

    module: ModuleType
    function: Callable[..., None]
    arguments: Mapping[str, Any]
    replaced: Replacements

    def run(self, monkeypatch: pytest.MonkeyPatch, *, may_warn: Collection[str] = ()) -> None:
        """Run it; functions named in `may_warn` may leave a warning of a fit uncaught, which is an error here."""
        arguments = dict(self.arguments)
        if "global_random_seed" in inspect.signature(self.function).parameters:
            arguments["global_random_seed"] = 42
        monkeypatch.setattr(self.module, "svm", Stand(self.replaced))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of scikit-learn, where it tests its own classes beside
            if self.function.__name__ in may_warn:
                warnings.simplefilter("ignore", UserWarning)
            self.function(**arguments)


def collect(replaced: Replacements, skipped: Mapping[str, str]) -> list[Any]:
    """Parameters of a test: one :class:`ScikitLearnTest` each, marked where `skipped` says why it is not run."""
    collected = []
    for module in (dense_tests, sparse_tests):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("test_") or not _concerns(function, replaced):
                continue
            whole = f"{module.__name__.rsplit('.', 1)[-1]}.{name}"
            for identifier, arguments in _parametrisations(function, replaced):
                key = f"{whole}[{identifier}]" if identifier else whole
                reason = skipped.get(key, skipped.get(whole))
                marks = [pytest.mark.skip(reason=reason)] if reason else []
                collected.append(
                    pytest.param(ScikitLearnTest(module, function, arguments, replaced), id=key, marks=marks)
                )
    return collected


def keys(collected: list[Any]) -> set[str]:
    """All that may be skipped: functions, and functions with the identifier of one parametrisation."""
    return {parameter.id for parameter in collected} | _functions(collected)


def functions_run(collected: list[Any]) -> set[str]:
    """Functions that are run in at least one parametrisation."""
    return _functions([parameter for parameter in collected if not parameter.marks])


def _functions(collected: list[Any]) -> set[str]:
    return {parameter.id.split("[")[0] for parameter in collected}


def _machine(value: Any) -> type:
    return value if isinstance(value, type) else type(value)


def _concerns(function: Callable[..., None], replaced: Replacements) -> bool:
    names = "|".join(theirs.__name__ for theirs in replaced)
    if re.search(rf"\bsvm\.({names})\b", inspect.getsource(function)):
        return True
    return any(
        _machine(value) in replaced for axis in _axes(function) for _, arguments in axis for value in arguments.values()
    )


def _axes(function: Callable[..., None]) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """For each mark that parametrises a function, its choices: an identifier and the arguments by name."""
    for mark in getattr(function, "pytestmark", []):
        if mark.name != "parametrize":
            continue
        names, values = mark.args[0], list(mark.args[1])
        keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        identifiers = mark.kwargs.get("ids") or [f"{keys[0]}{position}" for position in range(len(values))]
        rows = [value if len(keys) > 1 else (value,) for value in values]
        yield [(str(i), dict(zip(keys, row, strict=True))) for i, row in zip(identifiers, rows, strict=True)]


def _parametrisations(function: Callable[..., None], replaced: Replacements) -> Iterator[tuple[str, dict[str, Any]]]:
    """All arguments that a test function's marks ask for, with an identifier each; none that concern another class."""
    for choice in product(*_axes(function)):
        arguments = {name: value for _, part in choice for name, value in part.items()}
        if not any(_is_another_machine(value, replaced) for value in arguments.values()):
            identifier = "-".join(identifier for identifier, _ in choice)
            yield identifier, {name: _ours(value, replaced) for name, value in arguments.items()}


def _is_another_machine(value: Any, replaced: Replacements) -> bool:
    machine = _machine(value)
    return machine.__module__.startswith("sklearn.svm") and machine not in replaced


def _ours(value: Any, replaced: Replacements) -> Any:
    """The same argument with our class in place of scikit-learn's."""
    machine = _machine(value)
    if machine not in replaced:
        return value
    if value is machine:
        return replaced[machine]
    defaults = machine().get_params()
    return replaced[machine](**{name: given for name, given in value.get_params().items() if given != defaults[name]})
