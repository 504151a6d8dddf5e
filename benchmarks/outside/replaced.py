"""A plugin of pytest: widemargin's classes in the place of scikit-learn's, before any test imports them.

Tests that name none of the classes are left out, or all would run twice for nothing. Outcomes are added to the file
that OUTCOMES names, a line each.
"""

import inspect
import os
import re
from pathlib import Path

import pytest
import sklearn.model_selection
import sklearn.svm

# Their modules list scikit-learn's estimators while they are imported; ours take no part in that list.
import sklearn.utils.discovery

import widemargin

MODELS = "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"
NAMES = re.compile(rf"\b({'|'.join(MODELS)}|GridSearchCV)\b")

for _name in MODELS:
    setattr(sklearn.svm, _name, getattr(widemargin, _name))
sklearn.model_selection.GridSearchCV = widemargin.GridSearchCV


def _concerns_us(item: pytest.Item) -> bool:
    function = getattr(item, "function", None)
    try:
        source = "" if function is None else inspect.getsource(function)
    except OSError:  # made by a decorator
        return True
    parameters = repr(getattr(getattr(item, "callspec", None), "params", ""))
    return any(NAMES.search(text) for text in (source, parameters, item.name))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has nothing to do with support vector machines or grid searches."""
    ours = [item for item in items if _concerns_us(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(ours)])
    items[:] = ours


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down how a test ended."""
    if report.when == "call" or report.failed:
        name = report.nodeid.rpartition("sklearn/")[2]
        with Path(os.environ["OUTCOMES"]).open("a", encoding="utf-8") as file:
            file.write(f"{report.outcome}\t{name}\n")
