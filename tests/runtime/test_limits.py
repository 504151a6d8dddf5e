"""Memory and cores of a container are its own, not those of the computer that it runs on."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import joblib
import pytest

from widemargin.runtime import free_memory, limits, thread_count
from widemargin.runtime.limits import core_count, total_memory

GIGABYTE = 2**30
Tree = Callable[..., None]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    """Write files of a computer with 256 GB, 200 of which are free, and read limits from there."""

    def write(files: dict[str, object]) -> None:
        meminfo = f"MemTotal: {256 * 2**20} kB\nMemFree: 1 kB\nMemAvailable: {200 * 2**20} kB\n"
        for name, content in {"proc/meminfo": meminfo, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")

    monkeypatch.setattr(limits, "ROOT", tmp_path)
    monkeypatch.setattr(limits, "_address_space", lambda: None)
    limits._memory_groups.cache_clear()
    yield write
    limits._memory_groups.cache_clear()


def second(root: str = "/") -> str:
    return f"31 23 0:28 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw"


def first(controllers: str, root: str = "/") -> str:
    return f"35 31 0:32 {root} /sys/fs/cgroup/{controllers} rw - cgroup cgroup rw,{controllers}"


def test_without_groups_the_computer_counts(tree: Tree) -> None:
    tree({})
    assert (total_memory(), free_memory()) == (256 * GIGABYTE, 200 * GIGABYTE)


def test_without_proc_half_of_the_memory_counts_as_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROOT", tmp_path / "nothing")
    monkeypatch.setattr(limits, "_address_space", lambda: None)
    limits._memory_groups.cache_clear()
    monkeypatch.setattr(limits.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}.__getitem__)
    assert (total_memory(), free_memory()) == (4096 * 1000, 4096 * 500)
    limits._memory_groups.cache_clear()


def test_the_least_up_the_chain_of_groups_counts(tree: Tree) -> None:
    group = "sys/fs/cgroup"
    tree(
        {
            "proc/self/cgroup": "0::/batch/job/step",
            "proc/self/mountinfo": second(),
            f"{group}/batch/job/step/memory.max": "max",
            f"{group}/batch/job/step/memory.current": GIGABYTE,
            f"{group}/batch/job/memory.max": 8 * GIGABYTE,
            f"{group}/batch/job/memory.current": 6 * GIGABYTE,
            f"{group}/batch/job/memory.stat": f"anon 1\ninactive_file {GIGABYTE}\nactive_file 5",
            f"{group}/batch/memory.max": 64 * GIGABYTE,
            f"{group}/batch/memory.high": 32 * GIGABYTE,
            f"{group}/batch/memory.current": 30 * GIGABYTE,
        }
    )
    assert (total_memory(), free_memory()) == (8 * GIGABYTE, 2 * GIGABYTE)


def test_the_first_version_of_groups(tree: Tree) -> None:
    group = "sys/fs/cgroup/memory"
    tree(
        {
            "proc/self/cgroup": "9:name=systemd:/\n4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/",
            "proc/self/mountinfo": "\n".join([first("memory"), first("cpu,cpuacct"), second()]),
            f"{group}/memory.limit_in_bytes": 2**63 - 4096,
            f"{group}/memory.usage_in_bytes": 100 * GIGABYTE,
            f"{group}/docker/abc/memory.limit_in_bytes": 4 * GIGABYTE,
            f"{group}/docker/abc/memory.usage_in_bytes": 3 * GIGABYTE,
            f"{group}/docker/abc/memory.stat": f"inactive_file 1\ntotal_inactive_file {2 * GIGABYTE}",
        }
    )
    assert (total_memory(), free_memory()) == (4 * GIGABYTE, 3 * GIGABYTE)


@pytest.mark.parametrize("name", ["/docker/abc", "/", "/../elsewhere"])
def test_a_container_that_sees_its_own_group_as_the_root(tree: Tree, name: str) -> None:
    tree(
        {
            "proc/self/cgroup": f"0::{name}",
            "proc/self/mountinfo": second("/docker/abc"),
            "sys/fs/cgroup/memory.max": 4 * GIGABYTE,
            "sys/fs/cgroup/memory.current": GIGABYTE,
        }
    )
    assert free_memory() == 3 * GIGABYTE


def test_a_group_that_is_over_its_limit_has_nothing_left(tree: Tree) -> None:
    tree(
        {
            "proc/self/cgroup": "0::/a",
            "proc/self/mountinfo": second(),
            "sys/fs/cgroup/a/memory.max": GIGABYTE,
            "sys/fs/cgroup/a/memory.current": 2 * GIGABYTE,
        }
    )
    assert free_memory() == 0


@pytest.mark.parametrize("junk", ["", "nonsense", "1:2", "0::/a\n\n::", "0::/a b/c"])
def test_files_that_say_something_else_limit_nothing(tree: Tree, junk: str) -> None:
    tree({"proc/self/cgroup": junk, "proc/self/mountinfo": f"{junk}\n{second()}\n31 23 - cgroup2"})
    assert free_memory() == 200 * GIGABYTE
    assert core_count() == joblib.cpu_count()


def test_cores_of_the_second_version(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.joblib, "cpu_count", lambda: 64)
    tree(
        {
            "proc/self/cgroup": "0::/a/b",
            "proc/self/mountinfo": second(),
            "sys/fs/cgroup/a/b/cpu.max": "max 100000",
            "sys/fs/cgroup/a/cpu.max": "250000 100000",
        }
    )
    assert core_count() == 3
    assert (thread_count(-1), thread_count(-2), thread_count(8)) == (3, 2, 8)


@pytest.mark.parametrize(("quota", "cores"), [(-1, 64), (50_000, 1), (200_000, 2)])
def test_cores_of_the_first_version(tree: Tree, monkeypatch: pytest.MonkeyPatch, quota: int, cores: int) -> None:
    monkeypatch.setattr(limits.joblib, "cpu_count", lambda: 64)
    tree(
        {
            "proc/self/cgroup": "2:cpu,cpuacct:/a",
            "proc/self/mountinfo": first("cpu,cpuacct"),
            "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": quota,
            "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": 100_000,
        }
    )
    assert core_count() == cores


def limited(program: str, megabytes: int) -> subprocess.CompletedProcess[str]:
    """Run a program whose address space may grow by so many megabytes once everything is imported."""
    begin = f"""
        import resource
        import numpy as np
        from widemargin import SVC, SVR, GridSearchCV
        from widemargin.runtime import free_memory
        rng = np.random.default_rng(0)
        X = rng.normal(size=(9000, 5))
        y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
        SVC().fit(X[:100], y[:100])
        with open("/proc/self/statm") as pages:
            taken = int(pages.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + {megabytes} * 2**20, resource.RLIM_INFINITY))
        assert free_memory() <= {megabytes} * 2**20
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(begin) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are those of Linux")
@pytest.mark.parametrize(
    "work",
    [
        "SVC(gamma=2.0).fit(X, y)",  # whole kernels take 310 MB
        "SVC(gamma=2.0, calibration='folds').fit(X, y)",
        "SVR(gamma=2.0).fit(X, X[:, 0])",
        "GridSearchCV(SVC(), {'gamma': [1.0, 2.0]}, cv=2).fit(X, y)",
    ],
)
def test_what_fits_into_a_real_limit_is_done(work: str) -> None:
    ended = limited(work, 150)
    assert (ended.returncode, ended.stderr) == (0, "")
