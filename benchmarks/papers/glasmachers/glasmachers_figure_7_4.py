"""[Glasmachers2008, section 7.2.4 and Figure 7.4]: planning ahead with 1, 2, 3, 5, 10 and 20 recent working sets.

The thesis shows mean run times, normalised by that of one working set: two and three are about as good or slightly
better, five and above are slower. Iterations are counted as well here: they do not depend on the computer.
"""

import argparse
from collections.abc import Mapping

import numpy as np
from scipy.stats import gmean

from benchmarks.papers.data import Data
from benchmarks.papers.glasmachers.glasmachers_table_7_2 import Experiment, add_options, chosen, train
from benchmarks.peers.table import render

SUMMARY = "Figure 7.4: planning ahead with several recent working sets"
WORKING_SETS = (1, 2, 3, 5, 10, 20)
#: The thesis plots data sets of more than 100 ms only; its computer needed that for about so many iterations.
LEAST_ITERATIONS = 3_000
#: Ratios that differ by less are called equal: the time of a fit is not known better.
EQUAL = 0.05

#: Working sets to (mean iterations, total seconds) on one data set.
Course = Mapping[int, tuple[float, float]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, 10, LEAST_ITERATIONS)


def run(given: argparse.Namespace) -> None:
    """Print both tables and what they say."""
    print(f"{SUMMARY}; {given.permutations} permutations, tolerance 1e-3, float64 kernel")
    courses = {experiment.name: measure(experiment, data, given.permutations) for experiment, data in chosen(given)}
    if not courses:
        return
    for title, column in (("iterations", 0), ("seconds", 1)):
        print(f"\n{title}, as a multiple of those with one working set")
        print(table(courses, column))
    print(verdict(courses))


def measure(experiment: Experiment, data: Data, permutations: int) -> Course:
    """Train on the same permutations with every number of working sets, in turn."""
    X, y = data
    found: dict[int, list[tuple[int, float]]] = {count: [] for count in WORKING_SETS}
    for seed in range(permutations):
        order = np.random.default_rng(seed).permutation(len(y))
        for count in WORKING_SETS:
            training = train(experiment, X[order], y[order], planning_ahead=count)
            found[count].append((training.iterations, training.seconds))
    return {
        count: (float(np.mean([steps for steps, _ in runs])), sum(seconds for _, seconds in runs))
        for count, runs in found.items()
    }


def ratio(course: Course, count: int, column: int) -> float:
    """What a number of working sets costs against one."""
    return course[count][column] / course[1][column]


def mean_ratio(courses: Mapping[str, Course], count: int, column: int) -> float:
    """Return the geometric mean of the ratios over the data sets."""
    return float(gmean([ratio(course, count, column) for course in courses.values()]))


def table(courses: Mapping[str, Course], column: int) -> str:
    """Render one number of all data sets, the one with one working set first."""
    header = ["data set", "1", *(f"N = {count}" for count in WORKING_SETS[1:])]
    style = ",.0f" if column == 0 else ",.2f"
    rows = [
        [name, format(course[1][column], style), *(f"{ratio(course, n, column):.3f}" for n in WORKING_SETS[1:])]
        for name, course in courses.items()
    ]
    rows.append(["geometric mean", "", *(f"{mean_ratio(courses, n, column):.3f}" for n in WORKING_SETS[1:])])
    return render(header, rows)


def verdict(courses: Mapping[str, Course]) -> str:
    """Say which number is best, and whether the thesis's course of the run time is met."""
    steps, seconds = ({n: mean_ratio(courses, n, column) for n in WORKING_SETS} for column in (0, 1))
    few_do = all(seconds[n] <= 1 + EQUAL for n in (2, 3))
    many_cost = seconds[20] > min(seconds.values()) + EQUAL
    return (
        f"fewest iterations with {min(steps, key=steps.__getitem__)} working sets,"
        f" least time with {min(seconds, key=seconds.__getitem__)}\n"
        f"two and three cost no more than one: {'yes' if few_do else 'no'} (thesis: yes);"
        f" twenty cost more than the best: {'yes' if many_cost else 'no'} (thesis: yes)"
    )
