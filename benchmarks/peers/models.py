"""Problems of the other models: regression, one class, enclosing balls, squared slack and hard margins.

Squared slack and hard margins have no rival among the peers that trains the same model with a kernel; they are
compared with widemargin's own model with the hinge, here the entry "hinge", at the same C and gamma. A hard margin
exists only where the kernel separates the classes. A Gaussian of the usual width does so on german and waveform, whose
20 or 21 features hold the rows apart; banana's classes overlap in the plane, and its width has to be that of single
rows. With C = inf the hinge is given a C that no coefficient reaches, so that both train the same model.
"""

from pathlib import Path

import numpy as np

from benchmarks.peers.problems import (
    INTELEX,
    PREDICTABLE,
    PROBLEMS,
    SHUFFLE_SEED,
    Bar,
    Entry,
    FloatMatrix,
    Labels,
    Problem,
    Split,
    shuffled,
    standardised,
    stored,
)

REGRESSION_ROWS, REGRESSION_TRAINING_ROWS = 20_640, 18_000
OUT_OF_REACH = 1e4


def regression(folder: Path | None) -> Split:
    """Draw 20,640 x 8 rows and a smooth target with noise, standardised; 18,000 train."""
    X, y = draw_regression(REGRESSION_ROWS, random_state=SHUFFLE_SEED)
    return shuffled(X, y, REGRESSION_TRAINING_ROWS)


def draw_regression(n_samples: int, *, random_state: int) -> tuple[FloatMatrix, Labels]:
    """Draw y = 1.5 x0 + sin(2 x6) cos(2 x7) + x1 x2 / 2 + 0.3 |x3| + noise / 2, standardised."""
    random = np.random.default_rng(random_state)
    X = random.standard_normal((n_samples, 8))
    X[:, 6:] = random.uniform(-2, 2, size=(n_samples, 2))
    noise = random.standard_normal(n_samples)
    y = 1.5 * X[:, 0] + np.sin(2 * X[:, 6]) * np.cos(2 * X[:, 7])
    y += X[:, 1] * X[:, 2] / 2 + 0.3 * np.abs(X[:, 3]) + 0.5 * noise
    return X, (y - y.mean()) / y.std()


def normal_shuttle(folder: Path | None) -> Split:
    """Return the normal rows of the anomaly detection set, standardised; all of them train."""
    X, y, _ = stored("ad_shuttle", folder)
    normal = X[y == 0]
    return standardised(shuffled(normal, np.zeros(len(normal)), len(normal)))


def german(folder: Path | None) -> Split:
    """Return the 1,000 rows of the German credit data; all of them train."""
    X, y, _ = stored("raetsch_german", folder)
    return shuffled(X, y, len(y))


TUBE = {"C": 10.0, "epsilon": 0.1}
ONE_CLASS = {"nu": 0.05}
# gamma="scale" of nine standardised features, as a number so that everybody has the same.
SHUTTLE_GAMMA = 1 / 9

SKLEARN_ONE_CLASS = Entry("sklearn", "OneClassSVM", ONE_CLASS, dual="one class")


def against_hinge(name: str, data: Problem, C: float) -> Problem:
    """Return squared slack on the data of a problem against the hinge at the same C and gamma."""
    entries = {
        "widemargin": Entry("widemargin", "SVC", {"C": C, "loss": "squared_hinge"}, dual="squared hinge"),
        "hinge": Entry("widemargin", "SVC", {"C": C}, compared=False),
    }
    return Problem(name, {"C": C}, data.gamma, data.build, Bar(1.5, ("hinge",)), entries=entries)


def hard_margin(name: str, data: Problem, gamma: float) -> Problem:
    """Return a hard margin on the data of a problem against the hinge with a C out of reach."""
    entries = {
        "widemargin": Entry("widemargin", "SVC", {"C": np.inf}, dual="hard margin"),
        "hinge": Entry("widemargin", "SVC", {"C": OUT_OF_REACH}),
    }
    return Problem(name, {"C": np.inf}, gamma, data.build, Bar(1.5, ("hinge",)), entries=entries)


GERMAN = Problem("german", {"C": 1}, 0.05, german)

MODELS = {
    problem.name: problem
    for problem in (
        Problem(
            "svr",
            TUBE,
            0.1,
            regression,
            Bar(1 / 3, ("intelex32",)),
            left_out=("sklearn",),
            entries={name: Entry(name, "SVR", TUBE, dual="tube") for name in ("widemargin", *INTELEX, "sklearn")},
        ),
        Problem(
            "one_class",
            ONE_CLASS,
            SHUTTLE_GAMMA,
            normal_shuttle,
            Bar(1 / 5, ("sklearn",)),
            entries={
                "widemargin": Entry("widemargin", "OneClassSVM", ONE_CLASS, dual="one class"),
                "sklearn": SKLEARN_ONE_CLASS,
            },
        ),
        Problem(
            "svdd",
            ONE_CLASS,
            SHUTTLE_GAMMA,
            normal_shuttle,
            Bar(1 / 5, ("sklearn",)),
            entries={
                "widemargin": Entry("widemargin", "SVDD", ONE_CLASS, dual="ball"),
                "sklearn": SKLEARN_ONE_CLASS,
            },
        ),
        against_hinge("banana_squared", PROBLEMS["banana"], 100),
        against_hinge("german_squared", GERMAN, 1),
        against_hinge("waveform_squared", PROBLEMS["waveform"], 1),
        hard_margin("banana_hard", PROBLEMS["banana"], 1_000),
        hard_margin("german_hard", GERMAN, 0.05),
        hard_margin("waveform_hard", PROBLEMS["waveform"], 0.05),
    )
}

#: Every problem that a peer's process may be asked to load.
KNOWN = PREDICTABLE | MODELS
