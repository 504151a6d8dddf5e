"""``widemargin demo``: machines chosen for two problems, what is known of them, and a picture."""

import argparse
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from widemargin.cli.facts import Facts, print_facts, print_heading
from widemargin.cli.messages import progress_bar
from widemargin.cli.options import n_jobs, seed
from widemargin.cli.select import described
from widemargin.datasets import bayes_error, chess_board
from widemargin.inspection import DecisionSurface, DecisionValues, decision_surface
from widemargin.model_selection.selection import Selection, select

BOARD_SIZE = 4
BOARD_NOISE = 0.1
BOARD_ROWS, BOARD_TEST_ROWS = 1000, 10_000
SPLITS = 5


@dataclass(frozen=True)
class Problem:
    """Rows to choose a machine by, and others to test it on."""

    name: str
    what: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[Any]
    bayes_error: float | None


@dataclass(frozen=True)
class Chosen:
    """What was chosen for a problem, and its share of errors on the test rows."""

    problem: Problem
    selection: Selection
    test_error: float


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("widemargin-demo.png"),
        metavar="FILE",
        help="the picture; its ending names the format: png, pdf or svg (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="seed of the board and of the split (default: %(default)s)"
    )
    parser.add_argument(
        "--n-jobs", type=n_jobs, default=-1, metavar="N", help="threads; -1 takes all cores (default: %(default)s)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Choose, say what was chosen, write the picture; 1 if that could not be written."""
    found, progress = [], progress_bar(quiet=False)
    for problem in (chess_board_problem(arguments.seed), breast_cancer_problem(arguments.seed)):
        print_heading(f"{problem.name}: {problem.what}")
        found.append(choose(problem, arguments.n_jobs, progress))
        print_facts(facts(found[-1]))
        print()
    status = write_picture(arguments.output, *found)
    print("A machine for a table of your own: widemargin select TABLE --model FILE")
    return status


def chess_board_problem(seed: int) -> Problem:
    """Draw a noisy chess board to train on and a larger one to test on."""
    generator = np.random.default_rng(seed)
    X, y = chess_board(BOARD_ROWS, size=BOARD_SIZE, noise=BOARD_NOISE, random_state=generator)
    X_test, y_test = chess_board(BOARD_TEST_ROWS, size=BOARD_SIZE, noise=BOARD_NOISE, random_state=generator)
    smallest = bayes_error(chess_board, size=BOARD_SIZE, noise=BOARD_NOISE)
    what = f"{BOARD_SIZE} by {BOARD_SIZE} fields, {BOARD_NOISE:.0%} of the labels random"
    return Problem("Noisy chess board", what, X, y, X_test, y_test, smallest)


def breast_cancer_problem(seed: int) -> Problem:
    """Split the breast-cancer data."""
    bunch = load_breast_cancer()
    labels = bunch.target_names[bunch.target]
    X, X_test, y, y_test = train_test_split(bunch.data, labels, test_size=0.3, stratify=labels, random_state=seed)
    return Problem("Breast cancer", "malignant or benign, by 30 measurements", X, y, X_test, y_test, None)


def choose(problem: Problem, n_jobs: int, progress: str | None) -> Chosen:
    """Choose a machine, and count its errors on the test rows."""
    selection = select(problem.X, problem.y, n_splits=SPLITS, n_jobs=n_jobs, progress=progress)
    wrong = selection.model.predict(problem.X_test) != problem.y_test
    return Chosen(problem, selection, float(np.mean(wrong)))


def facts(chosen: Chosen) -> Facts:
    """Say what ``widemargin select`` says, how exactly the machine was trained, and how it does on rows held out."""
    problem, machine = chosen.problem, chosen.selection.model[-1]
    (report,) = machine.fit_report_
    truth = f"{chosen.test_error:.1%} of {len(problem.y_test):,} are predicted wrong"
    if problem.bayes_error is not None:
        truth += f"; no machine can get below {problem.bayes_error:.1%}"
    return [
        *described(chosen.selection, problem.X.shape, problem.y, regression=False, splits=SPLITS),
        (
            "training",
            f"{report.reason} in {report.iterations:,} steps with {len(machine.support_):,} support vectors; "
            f"KKT violation {report.kkt_violation:.1e}, duality gap {report.duality_gap:.1e}",
        ),
        ("new rows", truth),
    ]


def board_panel(chosen: Chosen) -> DecisionSurface:
    """Return the chess board's decision surface."""
    problem = chosen.problem
    return decision_surface(
        chosen.selection.model,
        problem.X,
        problem.y,
        lower=0,
        upper=BOARD_SIZE,
        title=f"{problem.name}, {BOARD_NOISE:.0%} of the labels random\n"
        f"test error {chosen.test_error:.1%}, best possible {problem.bayes_error:.1%}",
    )


def cancer_panel(chosen: Chosen) -> DecisionValues:
    """Return the test rows by decision value, spread out along the leading principal component.

    With 30 features a boundary drawn in two of them would mislead; along the decision value it is exact.
    """
    problem, model = chosen.problem, chosen.selection.model
    first, second = model.classes_
    scaler = model[:-1]
    leading = PCA(n_components=1).fit(scaler.transform(problem.X))
    return DecisionValues(
        title=f"{problem.name}, {len(problem.y_test)} rows held out\ntest error {chosen.test_error:.1%}",
        values=np.asarray(model.decision_function(problem.X_test)),
        spread=leading.transform(scaler.transform(problem.X_test))[:, 0],
        spread_name="leading principal component of the 30 features",
        positive=np.asarray(problem.y_test == second),
        class_names=(str(first), str(second)),
    )


def write_picture(path: Path, board: Chosen, cancer: Chosen) -> int:
    """Write the picture and say where it went, or in one sentence why it could not be written."""
    if find_spec("matplotlib") is None:
        print("No picture: it needs matplotlib, which pip install 'widemargin[plot]' brings.", file=sys.stderr)
        return 1
    from widemargin.inspection.pictures import save_picture

    panels = (board_panel(board), cancer_panel(cancer))
    try:
        save_picture(path, panels)
    except (OSError, ValueError) as problem:
        reason = (problem.strerror if isinstance(problem, OSError) else None) or problem
        print(f"No picture: {path} could not be written ({reason}).", file=sys.stderr)
        return 1
    print(f"Picture written to {path.resolve()}")
    return 0
