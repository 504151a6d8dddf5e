"""The cases cover what their descriptions promise."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.testing import Case, kernel_matrix, kinked_cases, many_class_points, small_cases, solve_exactly

CASES, KINKED = list(small_cases()), list(kinked_cases())


def named(cases: list[Case], name: str) -> Case:
    return next(case for case in cases if case.name == name)


@pytest.mark.parametrize("case", [*CASES, *KINKED], ids=str)
def test_cases_are_feasible_and_hold_their_kernel_matrix(case):
    assert (case.lower <= case.upper).all()
    assert case.lower.sum() <= 0.0 <= case.upper.sum()
    expected = kernel_matrix(case.points, kernel=case.kernel, gamma=case.gamma, coef0=1.0, degree=2)
    np.testing.assert_array_equal(case.gram, expected)


def test_names_are_unique_and_sizes_grow_to_hundreds():
    names = [case.name for case in (*CASES, *KINKED)]
    assert len(set(names)) == len(names)
    assert max(len(case.linear) for case in CASES) == 300


def test_optima_are_all_bounded_or_all_free():
    """A sum that is fixed can leave two variables between their bounds."""
    for name, least, most in (("all-bounded", 0, 2), ("all-free", 45, 45)):
        case = named(CASES, name)
        alpha = solve_exactly(case, case.gram)
        assert least <= np.count_nonzero((alpha > case.lower) & (alpha < case.upper)) <= most


def test_there_are_duplicates_frozen_variables_and_low_ranks():
    case = named(CASES, "ties-and-contradicting-duplicates")
    labelled = {tuple(point): set() for point in case.points}
    for point, label in zip(case.points, case.linear, strict=True):
        labelled[tuple(point)].add(label)
    assert any(len(labels) == 2 for labels in labelled.values())
    case = named(CASES, "random-boxes-some-frozen")
    assert 0 < np.count_nonzero(case.lower == case.upper) < len(case.linear)
    assert np.linalg.matrix_rank(named(CASES, "linear-kernel-of-rank-two").gram) == 2


def test_optima_lie_at_all_kinks_or_at_none():
    flat = named(KINKED, "nothing-outside-the-tube")
    np.testing.assert_array_equal(solve_exactly(flat, flat.gram), 0.0)
    free = named(KINKED, "tube-all-free")
    assert np.count_nonzero(solve_exactly(free, free.gram)) > 0.9 * len(free.linear)


def test_many_classes_have_as_many_points_each():
    X, y = many_class_points(5, 7)
    assert X.shape == (35, 2)
    assert np.bincount(y).tolist() == [7] * 5
