"""A model chosen from the data alone: a grid that follows the data and grows at its edges.

Features are standardised and meet in a Gaussian kernel; sequences meet in oligo kernels of one length and of several,
and in spectrum kernels.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from widemargin.estimators.base import NUMBERS
from widemargin.estimators.regression import SVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import numbers_needed, require_finite, require_number
from widemargin.kernels import BothStrands, CombinedOligo, Oligo, Spectrum
from widemargin.kernels.rows import count, require_samples
from widemargin.kernels.sequences import SequenceKernel, Sequences
from widemargin.kernels.sequences.alphabet import DNA, RNA
from widemargin.kernels.sequences.oligomers import Origin
from widemargin.model_selection.grid.results import ROUNDING
from widemargin.model_selection.growth import MOST_STEPS, best_of, grown, standard_error
from widemargin.objectives.held_out.groups import (
    folds_of,
    group_folds,
    group_numbers,
    require_classes,
    require_whole_groups,
)
from widemargin.plans.ranges import c_values, gamma_values
from widemargin.runtime import Stop
from widemargin.runtime.memory import require_room_for_columns
from widemargin.study.report import SearchReport

#: The model in its pipeline.
STEP = "model"

#: Letters of the oligomers of which a kernel of sequences consists, alone and together.
TRIPLETS, LENGTHS = 3, (1, 2, 3, 4, 5, 6)

#: Letters of the oligomers that are counted wherever they are, of nucleotides or not.
SPECTRA = {True: (3, 5), False: (2, 3)}

#: Widths of positions that are tried first.
WIDTHS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])

#: Width of a regression's tube, in standard deviations of the targets.
TUBE = 0.1


@dataclass(frozen=True)
class Selection:
    """The model that was chosen and how it compares.

    Attributes
    ----------
    model : Pipeline or estimator
        The scaler and the support vector machine, fitted on all samples; of sequences, the support vector machine.
    parameters : dict
        C, gamma (of sequences sigma), and epsilon for regression.
    score, standard_error : float
        Mean over the folds (accuracy, or R^2) and its standard error.
    baseline : float
        The same score of no model at all: of the most frequent class, or the mean, of the samples trained on.
    ties : list of dict
        Parameters that score as well.
    candidates : int
    edges : dict
        Parameters that ended on an edge of the grid all the same, unless nothing better can lie beyond: the last step
        brought nothing, no coefficient meets its bound C, or the score is perfect.
    reports : tuple of SearchReport
        Of the grid and of each time that it grew.
    kernel : str
        What the kernel is.
    """

    model: Any
    parameters: dict[str, float]
    score: float
    standard_error: float
    baseline: float
    ties: list[dict[str, float]]
    candidates: int
    edges: dict[str, str]
    reports: tuple[SearchReport, ...]
    kernel: str

    @property
    def beats_baseline(self) -> bool:
        """Whether the score is better than that of no model by more than two standard errors."""
        return self.score - self.baseline > 2 * self.standard_error

    @property
    def work(self) -> SearchReport:
        """All reports added up."""
        return SearchReport.of_all(self.reports)


@dataclass(frozen=True)
class Family:
    """Models that differ in numbers only: a pipeline or an estimator, and what to try for its parameters."""

    kernel: str
    estimator: Any
    axes: dict[str, NDArray[np.float64]]


def select(
    X: Any,
    y: Any,
    *,
    regression: bool = False,
    cv: Any = 5,
    groups: Any = None,
    origin: Origin = 0,
    max_time: float | None = None,
    journal: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> Selection:
    """Choose C and the width of a kernel by cross-validation, without being told where to look.

    Features are standardised inside the model, and the kernel is Gaussian. The grid comes from
    :mod:`widemargin.plans.ranges`; where the best candidate lies on an edge, the grid grows a step beyond it, and on
    for as long as a step gains more than the standard error of the score and is not harder than all before it together;
    four steps at most. It does not grow beyond a C that no coefficient meets on any fold, since every larger one gives
    the same models. A step reuses the folds, the distances and, up to some hundred samples, the kernel matrices of
    those before it.

    Sequences are searched the same way, as far as every one is long enough: with oligo kernels of 1, 2 and 3 letters,
    with the sum of those of 1 to 6 letters, and with spectrum kernels, for which places do not matter; the width is
    that of positions, sigma. Of DNA and RNA, the best of these is tried with both strands, too.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features), or list, array or column of strings
    y : array-like of shape (n_samples,)
    regression : bool, default=False
        Train `SVR` on numbers rather than `SVC` on classes.
    cv : int, splitter or iterable of folds, default=5
        As in :class:`GridSearchCV`; a number of folds shuffles the samples, the same way each time.
    groups : array-like of shape (n_samples,), optional
        Samples of a group are never on both sides of a split; a splitter given as `cv` has to take groups.
    origin : int or str, default=0
        Of sequences: the place that positions count from, as in :class:`~widemargin.kernels.Oligo`.
    max_time : float, optional
        Seconds for the search; the fit of what it has chosen comes on top.
    journal : path, optional
        File of the grid's journal; where the grid grows, and for each further kernel, further files get a number.
    n_jobs, progress
        See :class:`GridSearchCV`.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import select
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> chosen = select(X, y)
    >>> chosen.score > 0.97, sorted(chosen.parameters)
    (True, ['C', 'gamma'])
    >>> chosen.model.predict(X[:3]).tolist()
    [0, 0, 0]
    """
    if max_time is not None:
        require_number("max_time", max_time, above=0)
    require_samples(X)
    stop = Stop().within(max_time)
    y = _checked_target(X, y, regression)
    spread = float(np.std(y.astype(np.float64))) if regression else 1.0
    model: Any = SVR(epsilon=TUBE * spread, n_jobs=n_jobs) if regression else SVC(n_jobs=n_jobs)
    axes = {"C": c_values() * (spread or 1.0)}
    if is_text(X):
        families = _of_sequences(X, model, axes, origin)
    else:
        if not isinstance(origin, int) or origin:
            raise ValueError(f"origin is {origin!r}, but X holds no sequences; leave it at 0.")
        families = [_of_features(X, None if regression else y, model, axes)]
    folds = _folds(X, y, cv, groups, classes=not regression)
    if not regression:
        _require_two_classes(y, folds, cv)
    found: list[tuple[Family, dict[str, Any]]] = []
    for number, family in enumerate(_with_strands(families, found, origin)):
        files = None if journal is None else partial(_numbered, Path(journal), family=number)
        try:
            one = _found(family, X, y, stop, files, cv=folds, n_jobs=n_jobs, progress=progress)
        except (TimeoutError, KeyboardInterrupt) as ended:
            if found:
                break
            if isinstance(ended, KeyboardInterrupt):
                raise
            told = f"max_time={max_time!r} is too short: no candidate was finished; allow more."
            raise TimeoutError(told) from None
        found.append((family, one))
        if one["reports"][-1].unfinished:  # because of the clock or of Ctrl-C
            break
    # By now all kernels are let go of, and there is room for the fit.
    family, best = _best(found)
    parameters = best.pop("parameters")
    best["reports"] = tuple(report for _, one in found for report in one["reports"])
    best["candidates"] = sum(one["candidates"] for _, one in found)
    return Selection(
        model=_learnt_alphabet(family.estimator.set_params(**parameters)).fit(X, y),
        parameters=_short(parameters) | ({"epsilon": TUBE * spread} if regression else {}),
        kernel=family.kernel,
        baseline=_baseline(y, folds, regression),
        **best,
    )


def _checked_target(X: Any, y: Any, regression: bool) -> Any:
    """Return a class, or a number, for each sample; refuse what a search would fail with on every fold."""
    wanted = "a number" if regression else "a class"
    if y is None:
        more = "" if regression else ", or a number and regression=True"
        raise ValueError(f"y is None, but select needs {wanted} for each sample{more}.")
    mixed = isinstance(y, list | tuple) and len({isinstance(value, str) for value in y}) > 1
    y = np.asarray(y, dtype=object if mixed else None)  # text with gaps would become text altogether
    if y.ndim != 1 or len(y) != count(X):
        raise ValueError(f"y has shape {y.shape}, but X has {count(X)} samples; {wanted} for each of them is needed.")
    values = y.tolist()
    row = next((row for row, value in enumerate(values) if _is_gap(value)), None)
    if row is not None:
        raise ValueError(f"y is {values[row]} in row {row}, but {wanted} is needed; leave samples without one out.")
    if regression:
        row = next((row for row, value in enumerate(values) if not isinstance(value, Real)), None)
        if row is not None:
            raise ValueError(
                f"y is {values[row]!r} in row {row}, but regression=True predicts numbers; leave it out to predict "
                "classes."
            )
        return y if y.dtype.kind in "biuf" else y.astype(np.float64)
    row = next((row for row, value in enumerate(values) if isinstance(value, float) and value % 1 != 0), None)
    if row is not None:
        raise ValueError(
            f"y is {values[row]} in row {row}, a number that is not whole, so no class; pass regression=True to "
            "predict numbers."
        )
    try:
        classes = np.unique(y).tolist()
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(f"y mixes classes of the types {' and '.join(kinds)}; give all of them one type.") from None
    if len(classes) == 1:
        raise ValueError(
            f"y holds one class only, {classes[0]!r}; a classifier needs two (OneClassSVM and SVDD learn from one)."
        )
    return y


def _is_gap(value: Any) -> bool:
    """Tell whether a target is not there (None, NaN, or what data frames have in their place), or not finite."""
    return value is None or (not isinstance(value, str) and str(value) in ("nan", "inf", "-inf", "<NA>", "NaT"))


def _require_two_classes(y: Any, folds: list[Any], cv: Any) -> None:
    """Refuse folds that leave a single class to train on."""
    for number, (train, _) in enumerate(folds):
        classes = np.unique(y[train]).tolist()
        if len(classes) < 2:
            raise ValueError(
                f"cv={cv!r} leaves {len(classes)} class of y to train on in split {number}, {classes}; every split "
                "needs samples of two. A class of one sample cannot be split."
            )


def _baseline(y: Any, folds: list[Any], regression: bool) -> float:
    """Return the mean score over the folds of what is predicted without a model."""
    scores = []
    for train, test in folds:
        if regression:
            scores.append(r2_score(y[test], np.full(len(test), y[train].mean())))
        else:
            classes, counts = np.unique(y[train], return_counts=True)
            scores.append(np.mean(y[test] == classes[counts.argmax()]))
    return float(np.mean(scores))


def _best(found: list[tuple[Family, dict[str, Any]]]) -> tuple[Family, dict[str, Any]]:
    return max(found, key=lambda each: round(each[1]["score"], 12))  # the first of equals, which is more likely


def _with_strands(
    families: list[Family], found: list[tuple[Family, dict[str, Any]]], origin: Origin
) -> Iterator[Family]:
    """Yield families, and in the end the best of those found, of both strands if there are any.

    Sequences that are aligned at an origin of their own are read in one direction.
    """
    yield from families
    both = None if origin else _of_both_strands(_best(found)[0])
    if both is not None:
        yield both


def is_text(X: Any) -> bool:
    """Tell whether samples are strings: a list, array or column of them."""
    if sp.issparse(X) or getattr(X, "ndim", 1) != 1 or isinstance(X, str | bytes) or not count(X):
        return False
    return isinstance(next(iter(X)), str | bytes)


def _of_features(X: Any, labels: Any, model: Any, axes: dict[str, Any]) -> Family:
    """Return Gaussian kernels of standardised features."""
    if sp.issparse(X):
        require_room_for_columns(X.shape[1])
    scaler = StandardScaler(with_mean=not sp.issparse(X))
    names = np.array(X.columns, dtype=object) if hasattr(X, "columns") else None
    needed = "encode columns of text, with OneHotEncoder say, or, for sequences, pass a list or column of strings"
    with numbers_needed(f"features must be numbers; {needed}"):
        X = check_array(X, **NUMBERS)
        require_finite(X, names)
        widths = gamma_values(scaler.fit_transform(X), labels)
    axes = {f"{STEP}__{name}": values for name, values in (axes | {"gamma": widths}).items()}
    return Family("Gaussian kernel, standardised features", Pipeline([("scaler", scaler), (STEP, model)]), axes)


def _of_sequences(X: Any, model: Any, axes: dict[str, Any], origin: Origin) -> list[Family]:
    """Return oligo kernels of one length and of several, and spectrum kernels, as far as every sequence is long enough.

    Pieces of DNA that mean something are longer than those of proteins, of which single letters say a lot: what is more
    likely comes first.
    """
    texts = Sequences.of(X)
    alphabet = Oligo(1, normalize=False, origin=origin).fitted(texts).alphabet
    lengths: list[int] = []
    for k in LENGTHS:
        try:
            Oligo(k, alphabet=alphabet, origin=origin).fitted(texts)
        except ValueError:
            if not lengths:
                raise
            break
        lengths.append(k)
    how: dict[str, Any] = {"alphabet": alphabet, "origin": origin}

    def family(kernel: str, found: Any, **widths: Any) -> Family:
        return Family(kernel, clone(model).set_params(kernel=found), axes | widths)

    short = [
        family(f"oligo kernel of {k}-mers", Oligo(k, **how), kernel__sigma=WIDTHS) for k in lengths if k <= TRIPLETS
    ]
    several = []
    if len(lengths) > 1:
        name = f"combined oligo kernel of 1- to {lengths[-1]}-mers"
        several = [family(name, CombinedOligo(lengths=tuple(lengths), **how), kernel__sigmas=WIDTHS)]
    nucleic = alphabet in (DNA, RNA)
    # Where sequences hold a marker, places mean something.
    anywhere = [] if isinstance(origin, str) else SPECTRA[nucleic]
    counted = [family(f"spectrum kernel of {k}-mers", Spectrum(k, alphabet=alphabet)) for k in anywhere if k in lengths]
    return [*short[-1:], *several, *short[:-1], *counted] if nucleic else [*short, *several, *counted]


def _of_both_strands(family: Family) -> Family | None:
    """Return the same kernels of both strands; None if sequences have no other strand."""
    kernel = getattr(family.estimator, "kernel", None)
    if not isinstance(kernel, SequenceKernel) or kernel.alphabet not in (DNA, RNA):
        return None
    axes = {name.replace("kernel__", "kernel__kernel__"): values for name, values in family.axes.items()}
    both = clone(family.estimator).set_params(kernel=BothStrands(clone(kernel)))
    return Family(f"{family.kernel} of both strands", both, axes)


def _learnt_alphabet(estimator: Any) -> Any:
    """Let the alphabet be told from the training data, which it was: so that a model knows that nobody asked for it."""
    return estimator.set_params(
        **{name: None for name in estimator.get_params() if name.rpartition("__")[2] == "alphabet"}
    )


def _folds(X: Any, y: Any, cv: Any, groups: Any, *, classes: bool) -> list[Any]:
    whole = isinstance(cv, numbers.Integral)
    if groups is None:
        if whole:
            cv = (StratifiedKFold if classes else KFold)(int(cv), shuffle=True, random_state=0)
        return list(check_cv(cv, y, classifier=classes).split(X, y))
    own = group_numbers(groups, count(X))
    splitter = group_folds(int(cv), own, "cv", classes) if whole else check_cv(cv, y, classifier=classes)
    folds = folds_of(splitter, X, y, own)
    name = f"cv={cv!r}"
    require_whole_groups(folds, own, name)
    if classes:
        require_classes(folds, np.unique(y, return_inverse=True)[1], name)
    return folds


def _found(family: Family, X: Any, y: Any, stop: Stop, files: Any, **how: Any) -> dict[str, Any]:
    """Search a grid that grows; return what a selection says of it."""
    searches, edges_left = grown(family.estimator, family.axes, X, y, stop=stop, journal=files, **how)
    search = best_of(searches)
    score = float(search.best_score_)
    return {
        "parameters": dict(search.best_params_),
        "score": score,
        "standard_error": standard_error(search),
        "ties": [_short(one) for other in searches if other.best_score_ >= score - ROUNDING for one in other.ties_],
        "candidates": sum(len(one.cv_results_["params"]) for one in searches),
        "edges": {_name(name): edge for name, edge in edges_left.items()},
        "reports": tuple(one.work_report_ for one in searches),
    }


def journal_files(journal: Path) -> list[Path]:
    """Return all files that a search may write, whose journal is this one.

    Examples
    --------
    >>> [path.name for path in journal_files(Path("study.jsonl"))][:2]
    ['study.jsonl', 'study.2.jsonl']
    """
    return [_numbered(journal, number, family=family) for family in range(2) for number in range(MOST_STEPS + 1)]


def _numbered(journal: Path, number: int, *, family: int) -> Path:
    if number == family == 0:
        return journal
    which = f".kernel-{family + 1}" if family else ""
    return journal.with_name(f"{journal.stem}{which}{f'.{number + 1}' if number else ''}{journal.suffix}")


def _name(parameter: str) -> str:
    """Return a parameter of the model, or of its kernel, by its own name."""
    return parameter.rpartition("__")[2].replace("sigmas", "sigma")


def _short(parameters: Mapping[str, Any]) -> dict[str, float]:
    """Parameters of the model by their own names."""
    return {_name(name): float(value) for name, value in parameters.items()}
