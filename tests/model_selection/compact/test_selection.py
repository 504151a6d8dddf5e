"""The points of a compact search, its front, and that of a whole search."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import SHORT, two_classes

from widemargin.model_selection.compact.selection import EXPONENTS, FIRST_LEVELS, CompactSpace, pareto_front, searched
from widemargin.objectives import Task
from widemargin.objectives.decision_quality import DecisionQuality
from widemargin.objectives.prototype_quality import PrototypeQuality, Prototypes
from widemargin.runtime import Stop, Work
from widemargin.strategies import Ask
from widemargin.study import Journal
from widemargin.study.findings import Finding
from widemargin.study.progress import SilentProgress

VARIES = np.array([True, False, True])


def test_the_start_and_the_ends() -> None:
    space = CompactSpace(VARIES, True, start_level=2, highest_level=7)
    lattice = space.lattice
    assert space.names == ["feature 0", "feature 1", "feature 2", "level", "C", "sigma"]
    assert space.numbers(lattice.start) == (2, 1.0, 1.0)
    np.testing.assert_array_equal(space.features(lattice.start), VARIES)
    low, high = (space.numbers(end) for end in (lattice.lower, lattice.upper))
    assert low == (0, 2.0**-5, 2.0**-5)
    assert high == (7, 2.0**10, 2.0**10)
    # A feature that does not vary is never selected.
    np.testing.assert_array_equal(space.features(lattice.upper), VARIES)
    np.testing.assert_array_equal(space.features(lattice.lower), False)
    np.testing.assert_array_equal(lattice.switches, [True, True, True, False, False, False])


def test_all_features_that_vary_where_none_are_selected() -> None:
    space = CompactSpace(VARIES, False, start_level=0, highest_level=3)
    assert space.names == ["level", "C", "sigma"]
    np.testing.assert_array_equal(space.features(space.lattice.start), VARIES)


@pytest.mark.parametrize("select", [False, True])
@pytest.mark.parametrize("highest", [0, 3, 9])
def test_what_is_looked_at_first(select: bool, highest: int) -> None:
    space = CompactSpace(VARIES, select, start_level=min(1, highest), highest_level=highest)
    lattice = space.lattice
    assert [len({one[-3] for one in group}) for group in lattice.first] == [1] * len(lattice.first)
    points = [lattice.at(one) for group in lattice.first for one in group]
    assert all((lattice.lower - 1e-9 <= one).all() and (one <= lattice.upper + 1e-9).all() for one in points)
    found = {space.numbers(one) for one in points}
    exponents = [number for number in range(EXPONENTS[0], EXPONENTS[1] + 1) if number % 4 == 0]
    assert len(exponents) == 8
    assert found == {
        (level, 2.0 ** (c / 2), 2.0 ** (width / 2))
        for level in FIRST_LEVELS
        if level <= highest
        for c in exponents
        for width in exponents
    }
    assert all((space.features(one) == VARIES).all() for one in points)


def test_work_is_that_of_the_level() -> None:
    """Of 5 and 300 samples, judged by 10: levels 0 to 6 count the same, a class is never more than its samples."""
    X = np.random.default_rng(0).normal(size=(315, 3)).astype(np.float32)
    signs = np.repeat([-1.0, 1.0, -1.0], [5, 300, 10])
    work = Prototypes(X, signs, np.arange(305), np.arange(305, 315), 1, Stop()).work
    assert work == [float(n * (n + 10)) for n in (2, 4, 8, 13, 21, 37, 69, 133, 261, 305)]
    lattice = CompactSpace(VARIES, True, 1, 9, work=work).lattice
    assert lattice.work is not None
    own = [lattice.work(lattice.at(np.array([0, 0, 0, level, 3, -3]))) for level in range(-1, 9)]
    assert own == [work[6]] * 7 + work[7:]
    assert CompactSpace(VARIES, True, 1, 9).lattice.work is None
    few = CompactSpace(VARIES, False, 0, 2, work=work[:3]).lattice
    assert few.work is not None
    assert few.work(few.start) == work[2]


def test_what_a_point_stands_for() -> None:
    space = CompactSpace(VARIES, True, start_level=2, highest_level=7)
    lattice = space.lattice
    steps = np.array([-1, 0, 0, 3, -3, 5])
    ask = Ask(lattice.at(steps), origin=lattice.at(steps + np.array([0, 0, 0, 0, 1, 0])))
    place, origin = space.at(ask)
    kernel: Any = place.kernel
    np.testing.assert_array_equal(kernel.features, [False, False, True])
    assert (place.level, place.C) == (5, 2.0**-1.5)
    # exp(-|x - z|^2 / sigma^2) with sigma = 2^(5/2), exactly.
    assert kernel.gamma == 2.0**-5
    assert space.numbers(ask.point) == (5, 2.0**-1.5, 2.0**2.5)
    assert origin is not None
    assert origin.C == 0.5
    assert space.at(Ask(ask.point))[1] is None


SPACE = CompactSpace(np.ones(2, dtype=np.bool_), True, 0, 3)


def finding(number: int, rate: float, vectors: int, features: tuple[bool, bool]) -> Finding:
    point = SPACE.kept.packed(np.array([*features, 1.0, 0.0, 0.0]))
    measures = {"recognition_rate": rate, "support_vectors": float(vectors), "feature_cost": float(sum(features))}
    return Finding(number, rate - 0.01 * vectors, Work(), point=point, measures=measures)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 4), st.sampled_from([(True, False), (False, True), (True, True)])),
        min_size=1,
        max_size=20,
    )
)
def test_a_front_is_what_nothing_beats(drawn: list[tuple[int, int, tuple[bool, bool]]]) -> None:
    found = [finding(number, rate / 4, vectors, own) for number, (rate, vectors, own) in enumerate(drawn)]
    front = pareto_front(SPACE, found, number=3)

    def numbers(one: int) -> tuple[float, int, int]:
        rate, vectors, own = drawn[one]
        return rate / 4, vectors, sum(own)

    def beats(one: int, other: int) -> bool:
        (rate, vectors, cost), (their_rate, their_vectors, their_cost) = numbers(one), numbers(other)
        better = rate >= their_rate and vectors <= their_vectors and cost <= their_cost
        return better and (numbers(one) != numbers(other) or one < other)  # of equal ones the first

    everybody = range(len(drawn))
    assert set(front["evaluation"].tolist()) == {
        other for other in everybody if not any(beats(one, other) for one in everybody)
    }
    np.testing.assert_array_equal(front["model"], 3)
    assert (np.diff(front["recognition_rate"]) <= 0).all()
    for entry in front:
        own = found[entry["evaluation"]]
        assert (entry["recognition_rate"], entry["support_vectors"], entry["n_features"]) == numbers(own.number)
        assert (entry["quality"], entry["level"], entry["C"], entry["sigma"]) == (own.value, 1, 1.0, 1.0)


def test_evaluations_without_a_quality_are_no_part_of_a_front() -> None:
    none = Finding(0, math.nan, Work(), point=SPACE.kept.packed(np.array([0.0, 0.0, 1.0, 0.0, 0.0])))
    assert len(pareto_front(SPACE, [none])) == 0
    assert pareto_front(SPACE, [none, finding(1, 0.5, 2, (True, True))])["evaluation"].tolist() == [1]


def test_a_search_and_its_journal(tmp_path: Path) -> None:
    X, y = two_classes(90)
    X, signs = X.astype(np.float32), np.where(y == 1, 1.0, -1.0)
    train, judges = np.arange(60), np.arange(60, 90)
    objective = DecisionQuality()

    def run(journal: Any = None, max_evaluations: int | None = None) -> Any:
        stop = Stop(max_evaluations=max_evaluations)
        prototypes = Prototypes(X, signs, train, judges, 1, stop)
        bound = PrototypeQuality(Task(X, y, 2, np.ones(90), stop=stop), objective, prototypes, select_features=True)
        space = CompactSpace(np.ones(6, dtype=np.bool_), True, 1, prototypes.highest_level)
        how: Any = {"number": 0, "seed": 0, "journal": journal, "progress": SilentProgress()}
        return searched(space, objective, bound, SHORT, stop, **how)

    found = run()
    best = found.trace["value"].argmax()
    np.testing.assert_array_equal(found.trace.kept.packed(found.point), found.trace.points[best])
    assert not found.ended.cut_short
    path = tmp_path / "study.jsonl"
    for _ in range(2):
        with Journal(path, {}) as journal:
            kept = run(journal)
        assert len(path.read_bytes().splitlines()) == 1 + found.trace.n_evaluations
        np.testing.assert_array_equal(kept.front, found.front)
        np.testing.assert_array_equal(kept.trace["value"], found.trace["value"])
    few = run(max_evaluations=1)
    assert few.trace.n_evaluations == 1
    np.testing.assert_array_equal(few.point, [1.0] * 6 + [1.0, 0.0, 0.0])
