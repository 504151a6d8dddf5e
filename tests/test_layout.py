"""The tests mirror the package: those of src/widemargin/a/b.py are tests/a/test_b.py, or tests/a/test_b_<topic>.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "widemargin"

#: Modules without tests of their own, and why.
WITHOUT_TESTS = {
    "model_selection/grid/workers/dask_backend.py": "needs a cluster, as the tests of the pool beside it",
    "model_selection/grid/workers/units.py": "runs on the workers of the pool, with whose tests its own are",
    "study/records.py": "written and read by the journals of searches, by whose tests it is judged",
    "study/strategy_search.py": "runs under model searches, by whose tests it is judged",
    "testing/protocols.py": "types only: the contracts call whatever has these attributes",
}

#: Tests that belong to no module, and what they belong to.
OF_NO_MODULE = {
    "benchmarks": "the benchmarks, which are no part of the package",
    "core": "the C++ core, through its bindings",
    "examples": "the examples, which are no part of the package",
    "oracles": "the naive twins beside them",
    "runtime/test_forks.py": "every module that holds a lock or threads when a process is copied",
    "model_selection/grid/test_records.py": "journals of grid searches, whose records are in study",
    "test_layout.py": "the tests themselves",
    "test_package.py": "the package itself, as it is imported",
    "test_references.py": "the papers that code cites",
    "test_timeouts.py": "the settings of pytest",
}

MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
FILES = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


def belongs(test: Path, module: Path) -> bool:
    topic = f"{test.stem.removeprefix('test_')}_"
    return test.parent == module.parent and topic.startswith(f"{module.stem.strip('_')}_")


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_tests(module: Path) -> None:
    if module.as_posix() in WITHOUT_TESTS:
        return
    wanted = f"tests/{module.parent.as_posix()}/test_{module.stem.strip('_')}.py"
    assert any(belongs(test, module) for test in FILES), f"write {wanted}"


@pytest.mark.parametrize("test", FILES, ids=str)
def test_every_file_of_tests_belongs_to_a_module(test: Path) -> None:
    if test.parts[0] in OF_NO_MODULE or test.as_posix() in OF_NO_MODULE:
        return
    assert any(belongs(test, module) for module in MODULES), f"tests/{test} tests no module of its name"


def test_exceptions_are_about_what_exists_and_are_needed() -> None:
    for name in WITHOUT_TESTS:
        assert (PACKAGE / name).is_file(), name
        assert not any(belongs(test, Path(name)) for test in FILES), f"{name} has tests"
    for name in OF_NO_MODULE:
        assert (TESTS / name).exists(), name


def test_what_runs_on_the_oldest_versions_exists() -> None:
    named = re.findall(r"tests/[\w/]+(?:\.py)?", (TESTS.parent / ".ci" / "oldest").read_text())
    assert named
    assert [name for name in named if not (TESTS.parent / name).exists()] == []
