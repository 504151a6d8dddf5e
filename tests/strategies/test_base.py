from __future__ import annotations

import math

import numpy as np
import pytest

from widemargin.strategies import Ask, Lattice, Space, Told
from widemargin.strategies.base import CountedRun


class Sweep(CountedRun):
    """Ask for two points at a time, further and further right."""

    def propose(self):
        return [Ask(self.space.start + self.evaluations + step) for step in range(2)]

    def learn(self, asked, found):
        if found[0].value == 7.0:
            self.end("seven was found")


def space(start=0.0):
    return Space(np.array([start]), np.array([-9.0]), np.array([9.0]))


def test_an_ask_stands_until_it_is_answered_and_the_lowest_value_is_kept():
    run = Sweep(space(), 100)
    assert run.ask() is run.ask()
    assert run.best.tolist() == [0.0]
    run.tell([Told(3.0), Told(2.0)])
    run.ask()
    run.tell([Told(2.0), Told(-math.inf)])
    assert run.best.tolist() == [1.0]
    assert run.evaluations == 4


def test_answers_have_to_fit():
    run = Sweep(space(), 100)
    with pytest.raises(ValueError, match="found must answer the last ask, of 0 points; it holds 2"):
        run.tell([Told(1.0), Told(1.0)])
    run.ask()
    with pytest.raises(ValueError, match="found must answer the last ask, of 2 points; it holds 1"):
        run.tell([Told(1.0)])
    assert len(run.ask()) == 2


def test_a_run_ends_before_it_exceeds_its_budget():
    run = Sweep(space(), 5)
    for _ in range(2):
        run.ask()
        run.tell([Told(1.0), Told(1.0)])
    assert run.reason is None
    assert not run.ask()
    assert run.reason == "4 of the 5 evaluations allowed are spent, and the next step takes 2"


def test_a_reason_of_its_own_comes_first():
    run = Sweep(space(), 2)
    run.ask()
    run.tell([Told(7.0), Told(1.0)])
    assert run.reason == "seven was found"
    assert not run.ask()


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (([0.0], [0.0, 0.0], [1.0]), r"vectors of one length, at least 1; their shapes are \(1,\), \(2,\) and \(1,\)"),
        (([], [], []), "vectors of one length, at least 1"),
        (([0.0, 0.0], [0.0, 2.0], [1.0, 1.0]), r"lower\[1\]=2.0 of a Space must be at most upper\[1\]=1.0"),
        (([0.0], [math.nan], [1.0]), r"lower\[0\]=nan of a Space must be at most"),
        (([math.inf], [0.0], [1.0]), r"start of a Space must hold finite numbers; it is \[inf\]"),
    ],
)
def test_spaces_that_are_none(vectors, message):
    with pytest.raises(ValueError, match=message):
        Space(*(np.array(vector, dtype=float) for vector in vectors))


def test_a_start_outside_moves_to_the_bounds():
    assert space(start=12.0).start.tolist() == [9.0]


def test_points_of_a_lattice():
    lattice = Lattice(np.array([0.1, 5.0]), np.array([-0.2, 0.0]), np.array([0.3, 1.0]), steps=np.array([0.1, 0.3]))
    # 0.3 is two steps of 0.1 from 0.1 but for rounding; a start outside of the bounds is moved to the nearest one.
    assert lattice.lowest.tolist() == [-3, -3]
    assert lattice.highest.tolist() == [2, 0]
    assert lattice.at(lattice.highest).tolist() == [0.3, 1.0]
    np.testing.assert_allclose(lattice.at(lattice.lowest), [-0.2, 0.1])
    assert lattice.switches.tolist() == [False, False]
    down = Lattice(np.array([0.3]), np.array([0.1]), np.array([0.3]), steps=np.array([0.1]))
    assert (down.lowest.tolist(), down.at(down.lowest).tolist()) == ([-2], [0.1])


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"steps": np.ones(3)}, r"steps of a Lattice must have one entry for each of its 2 parameters\."),
        ({"switches": np.ones(1, dtype=bool)}, r"switches of a Lattice must have one entry for each of its 2"),
        ({"steps": np.array([1.0, 0.0])}, r"steps of a Lattice must be positive and finite; they are \[1.0, 0.0\]\."),
        ({"steps": np.array([1.0, np.nan])}, r"steps of a Lattice must be positive and finite"),
        (
            {"steps": np.array([1.0, 1e-12])},
            r"steps\[1\]=1e-12 of a Lattice is too short for a range from -1.0 to 1.0;",
        ),
        ({"upper": np.array([1.0, np.inf])}, r"lower and upper of a Lattice must be finite\."),
        ({"first": [np.array([[2, 0]])]}, r"first of a Lattice must hold points of 2 parameters within their bounds\."),
        ({"first": [np.zeros((1, 3), dtype=int)]}, r"first of a Lattice must hold points of 2 parameters"),
        ({"first": [np.zeros((0, 2), dtype=int)]}, r"first of a Lattice must hold points of 2 parameters"),
    ],
)
def test_lattices_that_are_none(how, words):
    given = {"start": np.zeros(2), "lower": -np.ones(2), "upper": np.ones(2), "steps": np.ones(2)} | how
    with pytest.raises(ValueError, match=words):
        Lattice(**given)
