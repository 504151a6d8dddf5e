"""``widemargin demo``: models chosen for two built-in problems, their errors, and a picture."""

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

from widemargin.cli.messages import CommandError, Facts, print_facts, print_heading, progress_bar
from widemargin.cli.options import n_jobs, seed
from widemargin.cli.places import add_force, require_place
from widemargin.cli.select import described
from widemargin.datasets import Table, bayes_error, chess_board
from widemargin.inspection import DecisionSurface, DecisionValues, decision_surface
from widemargin.model_selection.selection import Selection, select

BOARD_SIZE = 4
BOARD_NOISE = 0.1
BOARD_SAMPLES, BOARD_TEST_SAMPLES = 1000, 10_000
FOLDS = 5


@dataclass(frozen=True)
class Problem:
    """Samples to train on, and others to test on."""

    name: str
    what: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[Any]
    bayes_error: float | None


@dataclass(frozen=True)
class Chosen:
    """The model chosen for a problem, and its error on the test samples."""

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
        "--n-jobs", type=n_jobs, default=-1, metavar="N", help="threads; -1 uses all cores (default: %(default)s)"
    )
    add_force(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Choose the models, report them and draw them; return 1 if the picture could not be written."""
    require_picture(arguments.output, arguments.force)
    found, progress = [], progress_bar(quiet=False)
    for problem in (chess_board_problem(arguments.seed), breast_cancer_problem(arguments.seed)):
        print_heading(f"{problem.name}: {problem.what}")
        found.append(choose(problem, arguments.n_jobs, progress))
        print_facts(facts(found[-1]))
        print()
    status = write_picture(arguments.output, *found)
    print("For a table of your own: widemargin select TABLE --model FILE")
    return status


def require_picture(path: Path, force: bool) -> None:
    """Refuse a picture that could not be written, before the models are chosen."""
    if find_spec("matplotlib") is None:
        return
    from widemargin.inspection.pictures import require_format

    require_place("--output", path, force=force)
    try:
        require_format(path)
    except ValueError as problem:
        raise CommandError(f"--output: {problem}") from None


def chess_board_problem(seed: int) -> Problem:
    """Draw a noisy chess board to train on and a larger one to test on."""
    generator = np.random.default_rng(seed)
    X, y = chess_board(BOARD_SAMPLES, size=BOARD_SIZE, noise=BOARD_NOISE, random_state=generator)
    X_test, y_test = chess_board(BOARD_TEST_SAMPLES, size=BOARD_SIZE, noise=BOARD_NOISE, random_state=generator)
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
    """Choose a model, and count its errors on the test samples."""
    selection = select(problem.X, problem.y, cv=FOLDS, n_jobs=n_jobs, progress=progress)
    wrong = selection.model.predict(problem.X_test) != problem.y_test
    return Chosen(problem, selection, float(np.mean(wrong)))


def facts(chosen: Chosen) -> Facts:
    """Report what ``widemargin select`` does, how far the model is from the optimum, and its test error."""
    problem, model = chosen.problem, chosen.selection.model[-1]
    (report,) = model.fit_report_
    truth = f"error {chosen.test_error:.1%} on {len(problem.y_test):,} held-out samples"
    if problem.bayes_error is not None:
        truth += f"; the best possible is {problem.bayes_error:.1%}"
    return [
        *described(chosen.selection, Table(problem.X, problem.y, None, None), regression=False, folds=FOLDS),
        (
            "training",
            f"{report.reason} in {report.iterations:,} iterations with {len(model.support_):,} support vectors; "
            f"KKT violation {report.kkt_violation:.1e}, duality gap {report.duality_gap:.1e}",
        ),
        ("test", truth),
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
    """Return the test samples by decision value, spread out along the leading principal component.

    With 30 features a boundary drawn in two of them would mislead; along the decision value it is exact.
    """
    problem, model = chosen.problem, chosen.selection.model
    first, second = model.classes_
    scaler = model[:-1]
    leading = PCA(n_components=1).fit(scaler.transform(problem.X))
    return DecisionValues(
        title=f"{problem.name}, {len(problem.y_test)} held-out samples\ntest error {chosen.test_error:.1%}",
        values=np.asarray(model.decision_function(problem.X_test)),
        spread=leading.transform(scaler.transform(problem.X_test))[:, 0],
        spread_name="leading principal component of the 30 features",
        positive=np.asarray(problem.y_test == second),
        class_names=(str(first), str(second)),
    )


def write_picture(path: Path, board: Chosen, cancer: Chosen) -> int:
    """Write the picture and say where it went, or in one sentence why it could not be written."""
    if find_spec("matplotlib") is None:
        print("No picture was drawn: install matplotlib with pip install 'widemargin[plot]'.", file=sys.stderr)
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
