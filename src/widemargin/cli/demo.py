"""``widemargin demo``: two machines, a table of what was measured about them, and a picture."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.cli.options import n_jobs
from widemargin.datasets import bayes_error, chess_board
from widemargin.reports import DecisionSurface, DecisionValues, aligned, decision_surface

BOARD_SIZE = 4
BOARD_NOISE = 0.1
BOARD_ROWS, BOARD_TEST_ROWS = 2000, 10_000


@dataclass(frozen=True)
class Problem:
    """Training and test rows, and the machine to train on them."""

    name: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[Any]
    C: float
    gamma: float
    bayes_error: float | None


@dataclass(frozen=True)
class Trained:
    """A problem's machine, how long its training took, and its share of errors on the test rows."""

    problem: Problem
    model: SVC
    seconds: float
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
        "--seed", type=_seed, default=0, metavar="N", help="seed of the board and of the split (default: %(default)s)"
    )
    parser.add_argument(
        "--n-jobs", type=n_jobs, default=-1, metavar="N", help="threads; -1 takes all cores (default: %(default)s)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, print the table, write the picture; 1 if the picture could not be written."""
    board = train(chess_board_problem(arguments.seed), arguments.n_jobs)
    cancer = train(breast_cancer_problem(arguments.seed), arguments.n_jobs)
    print(table([board, cancer]))
    print()
    return write_picture(arguments.output, board, cancer)


def chess_board_problem(seed: int) -> Problem:
    """Draw a noisy chess board to train on and a larger one to test on."""
    generator = np.random.default_rng(seed)
    X, y = chess_board(BOARD_ROWS, size=BOARD_SIZE, noise=BOARD_NOISE, random_state=generator)
    X_test, y_test = chess_board(BOARD_TEST_ROWS, size=BOARD_SIZE, noise=BOARD_NOISE, random_state=generator)
    smallest = bayes_error(chess_board, size=BOARD_SIZE, noise=BOARD_NOISE)
    return Problem("noisy chess board", X, y, X_test, y_test, C=10.0, gamma=4.0, bayes_error=smallest)


def breast_cancer_problem(seed: int) -> Problem:
    """Split the breast-cancer data, and scale both parts by what the training part alone says."""
    bunch = load_breast_cancer()
    labels = bunch.target_names[bunch.target]
    X, X_test, y, y_test = train_test_split(bunch.data, labels, test_size=0.3, stratify=labels, random_state=seed)
    scaler = StandardScaler().fit(X)
    return Problem(
        "breast cancer", scaler.transform(X), y, scaler.transform(X_test), y_test, C=10.0, gamma=0.01, bayes_error=None
    )


def train(problem: Problem, n_jobs: int) -> Trained:
    """Fit the problem's machine and count its errors on the test rows."""
    model = SVC(C=problem.C, gamma=problem.gamma, n_jobs=n_jobs)
    start = perf_counter()
    model.fit(problem.X, problem.y)
    seconds = perf_counter() - start
    wrong = model.predict(problem.X_test) != problem.y_test
    return Trained(problem, model, seconds, float(np.mean(wrong)))


def table(results: Sequence[Trained]) -> str:
    """Return what was measured, one column per problem."""
    columns = [_column(result) for result in results]
    names = ["", *(result.problem.name for result in results)]
    return aligned([names, *([key, *(column[key] for column in columns)] for key in columns[0])])


def _column(result: Trained) -> dict[str, str]:
    problem, (report,) = result.problem, result.model.fit_report_
    known = problem.bayes_error
    return {
        "rows to train on": f"{len(problem.y)}",
        "rows to test on": f"{len(problem.y_test)}",
        "features": f"{problem.X.shape[1]}",
        "classes": f"{len(result.model.classes_)}",
        "C": f"{problem.C:g}",
        "gamma": f"{problem.gamma:g}",
        "support vectors": f"{len(result.model.support_)}",
        "iterations": f"{report.iterations}",
        "ended because": f"{report.reason}",
        "dual objective": f"{report.objective:.3f}",
        "duality gap": f"{report.duality_gap:.1e}",
        "KKT violation": f"{report.kkt_violation:.1e}",
        "seconds": f"{result.seconds:.3f}",
        "test error": f"{result.test_error:.1%}",
        "Bayes error": "unknown" if known is None else f"{known:.1%}",
    }


def board_panel(result: Trained) -> DecisionSurface:
    """Return the chess board's decision surface."""
    return decision_surface(
        result.model,
        result.problem.X,
        result.problem.y,
        lower=0,
        upper=BOARD_SIZE,
        title=f"{result.problem.name.capitalize()}, {BOARD_NOISE:.0%} of the labels random\n"
        f"test error {result.test_error:.1%}, best possible {result.problem.bayes_error:.1%}",
    )


def cancer_panel(result: Trained) -> DecisionValues:
    """Return the test rows by decision value, spread out along the leading principal component.

    With 30 features a boundary drawn in two of them would mislead; along the decision value it is exact.
    """
    problem = result.problem
    first, second = result.model.classes_
    return DecisionValues(
        title=f"{problem.name.capitalize()}, {len(problem.y_test)} rows held out\ntest error {result.test_error:.1%}",
        values=np.asarray(result.model.decision_function(problem.X_test)),
        spread=PCA(n_components=1).fit(problem.X).transform(problem.X_test)[:, 0],
        spread_name="leading principal component of the 30 features",
        positive=np.asarray(problem.y_test == second),
        class_names=(str(first), str(second)),
    )


def write_picture(path: Path, board: Trained, cancer: Trained) -> int:
    """Write the picture and say where it went, or in one sentence why it could not be written."""
    if find_spec("matplotlib") is None:
        print("No picture: it needs matplotlib, which pip install 'widemargin[plot]' brings.", file=sys.stderr)
        return 1
    from widemargin.reports.pictures import save_picture

    panels = (board_panel(board), cancer_panel(cancer))
    try:
        save_picture(path, panels)
    except (OSError, ValueError) as problem:
        reason = (problem.strerror if isinstance(problem, OSError) else None) or problem
        print(f"No picture: {path} could not be written ({reason}).", file=sys.stderr)
        return 1
    print(f"Picture written to {path.resolve()}")
    return 0


def _seed(text: str) -> int:
    # scikit-learn's split takes 32 bits.
    if not (text.isdecimal() and int(text) < 2**32):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {2**32 - 1}, got {text!r}")
    return int(text)
