"""What is there after ``import widemargin``, in a process that has imported nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import widemargin
from widemargin import kernels

PARTS = {
    "datasets": "chess_board",
    "kernels": "Gaussian",
    "objectives": "TargetAlignment",
    "solvers": "SMO",
    "strategies": "CMAES",
    "inspection": "__doc__",
}


@pytest.mark.parametrize("package", PARTS)
def test_packages_are_there_without_an_import_of_their_own(package: str) -> None:
    program = f"import widemargin; assert {package!r} in dir(widemargin); widemargin.{package}.{PARTS[package]}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import widemargin", "sklearn"),
        ("from widemargin import SVC", "widemargin.model_selection"),
        ("from widemargin import GridSearchCV", "widemargin.datasets"),
    ],
)
def test_what_nobody_asks_for_is_not_imported(statement: str, unwanted: str) -> None:
    program = f"{statement}; import sys; sys.exit({unwanted!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_all_names_are_there_and_say_where_they_come_from() -> None:
    names = {name: getattr(widemargin, name) for name in widemargin.__all__}
    assert names["SVC"].__module__ == "widemargin.estimators.svc"
    assert names["__version__"].count(".") == 2


def test_errors_that_are_to_be_caught_are_at_the_front_door(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"something else")
    with pytest.raises(widemargin.ModelFileError):
        widemargin.load_model(tmp_path / "file")
    X, y = [[float(n)] for n in range(12)], [0, 1] * 6
    with pytest.raises(widemargin.JournalError):
        widemargin.GridSearchCV(widemargin.SVC(), {"C": [1, 2]}, cv=2, journal=tmp_path / "file").fit(X, y)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'widemargin' has no attribute 'machine'"):
        widemargin.machine  # noqa: B018
    assert {*widemargin.__all__, "solvers"} <= set(dir(widemargin))


def test_kernels_export_kernels_only() -> None:
    exported = {getattr(kernels, name) for name in kernels.__all__} - {kernels.normalized}
    assert all(issubclass(one, kernels.Kernel) for one in exported)
    assert isinstance(kernels.normalized(kernels.Linear()), kernels.Kernel)
