"""Accounts of work add up, whatever else they say."""

from __future__ import annotations

from dataclasses import replace

from widemargin.machines.dual import Outcome
from widemargin.runtime import Work

ONE = Work(trained=1, iterations=10, kernel_evaluations=100, seconds=0.5)
TWO = Work(skipped=1, unfinished=2, failed=3, factorizations=4, scans=5, kernel_operations=6, seconds=0.25)


def test_accounts_add_up() -> None:
    both = ONE + TWO
    assert both == Work.total([ONE, TWO]) == TWO + ONE
    assert (both.trained, both.skipped, both.unfinished, both.failed, both.fits) == (1, 1, 2, 3, 7)
    assert (both.iterations, both.kernel_evaluations, both.kernel_operations) == (10, 100, 6)
    assert (both.factorizations, both.scans, both.seconds) == (4, 5, 0.75)
    assert Work.total([]) == Work()


def test_an_outcome_is_charged_with_the_work_of_all_stages() -> None:
    last = Outcome("converged", 1e-4, 1e-3, 7.0, "float32", iterations=3, seconds=0.5)
    charged = last.with_work([ONE, last])
    assert charged == replace(last, trained=1, iterations=13, kernel_evaluations=100, seconds=1.0)
    assert type(ONE + last) is Work
