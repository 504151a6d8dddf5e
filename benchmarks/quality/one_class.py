"""One-class models that a search chooses without labels: do they tell outliers from their class?

Models are trained on half of the normal samples of public sets with known outliers, and of a noisy ring; the search
sees no outlier. Of each choice: the area under the ROC curve and the balanced accuracy on the other samples, and by how
much the share of normal ones that it rejects is off.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.problems import FloatMatrix, Labels
from benchmarks.peers.table import render
from widemargin import GridSearchCV, OneClassSVM, RegionScore, RejectionScore
from widemargin.datasets import load_npz

SUMMARY = "one-class models chosen without labels, by RegionScore and by RejectionScore"
SETS = (
    *(
        "annthyroid",
        "breastw",
        "cardio",
        "cardiotocography",
        "glass",
        "ionosphere",
        "landsat",
        "letter",
        "lymphography",
    ),
    *("mnist", "musk", "optdigits", "pageblocks", "pendigits", "satellite", "satimage_2", "shuttle", "smtp", "thyroid"),
    *("vertebral", "vowels", "waveform", "wbc", "wdbc", "wilt", "wine", "wpbc", "yeast"),
)
GRID = {"nu": [0.01, 0.05, 0.1], "gamma": [0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0]}
SCORES = {"region": RegionScore(), "rejection": RejectionScore()}
TRAIN, TEST = 800, 5_000
AHEAD = 0.05  # of the mean area, by which the region has to be ahead


class Problem(NamedTuple):
    """Normal samples, others, and which of those are outliers."""

    X: FloatMatrix
    X_test: FloatMatrix
    outlier: Labels


class Choice(NamedTuple):
    """How good a choice is."""

    area: float
    accuracy: float
    excess: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")


def run(given: argparse.Namespace) -> None:
    """Print what was chosen; the exit status is 1 if the region is not ahead."""
    found = {}
    for name, problem in problems(given.data):
        found[name] = {way: judged(problem, score) for way, score in SCORES.items()}
    print(table(found))
    means = {way: np.mean([own[way].area for own in found.values()]) for way in SCORES}
    holds = means["region"] >= means["rejection"] + AHEAD
    areas = f"{means['region']:.3f} by region, {means['rejection']:.3f} by rejection"
    print(f"{'pass' if holds else 'FAIL'}: mean area {areas} (at least {AHEAD:g} ahead)")
    if not holds:
        raise SystemExit(1)


def problems(folder: Path | None) -> Iterator[tuple[str, Problem]]:
    """Yield the ring, and the sets that there are."""
    yield "ring", ring()
    for name in SETS:
        try:
            X, y, _ = load_npz(f"ad_{name}", folder)
        except FileNotFoundError as missing:
            print(f"{name}: skipped. {missing}")
            continue
        yield name, split(np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64), y)


def ring() -> Problem:
    """Draw a noisy ring, and points all around it and inside."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0.0, 2.0 * np.pi, 600)
    X = np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(scale=0.1, size=(600, 2))
    others = rng.uniform(-1.5, 1.5, size=(300, 2))
    return Problem(X[:400], np.vstack([X[400:], others]), np.repeat([0, 1], [200, 300]))


def split(X: FloatMatrix, y: Labels) -> Problem:
    """Train on half of the normal samples, the larger class, with standardised features."""
    values, counts = np.unique(y, return_counts=True)
    outlier, rng = (y == values[counts.argmin()]).astype(int), np.random.default_rng(1)
    normal = rng.permutation(np.flatnonzero(outlier == 0))
    train = normal[: min(len(normal) // 2, TRAIN)]
    test = rng.permutation(np.setdiff1d(np.arange(len(y)), train))[:TEST]
    scaler = StandardScaler().fit(X[train])
    return Problem(scaler.transform(X[train]), scaler.transform(X[test]), outlier[test])


def judged(problem: Problem, score: RejectionScore) -> Choice:
    """Search by a score, and look at what it has chosen."""
    search = GridSearchCV(OneClassSVM(), GRID, scoring=score, n_jobs=2).fit(problem.X)
    rejected = search.predict(problem.X_test) == -1
    return Choice(
        float(roc_auc_score(problem.outlier, -search.decision_function(problem.X_test))),
        float(balanced_accuracy_score(problem.outlier, rejected)),
        float(np.mean(rejected[problem.outlier == 0]) - search.best_params_["nu"]),
    )


def table(found: Mapping[str, Mapping[str, Choice]]) -> str:
    """Render a row for each set, and the means."""
    header = ["set", *(f"{what}, {way}" for what in ("area", "accuracy", "rejects more") for way in SCORES)]
    rows = [[name, *(f"{value:.3f}" for value in numbers(own))] for name, own in found.items()]
    rows.append(["mean", *(f"{value:.3f}" for value in np.mean([numbers(own) for own in found.values()], axis=0))])
    return render(header, rows)


def numbers(own: Mapping[str, Choice]) -> list[float]:
    """Put choices into the order of the table."""
    return [getattr(own[way], what) for what in Choice._fields for way in SCORES]
