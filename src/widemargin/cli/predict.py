"""``widemargin predict``: predictions of a saved model for the samples of a table."""

import argparse
import csv
import io
import sys
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.cli.messages import MISUSED, CommandError, note
from widemargin.cli.options import add_table_options, layout_of, n_jobs
from widemargin.cli.places import add_force, require_other_output, require_place
from widemargin.datasets import read_features, read_sequences
from widemargin.kernels.rows import count, take
from widemargin.kernels.sequences.base import kernels_in
from widemargin.model_selection.compact import CompactSVC
from widemargin.model_selection.selection import is_text
from widemargin.persistence.model_file import SavedModel, is_sparse, open_model
from widemargin.runtime.files import replaced_file


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model file, as written by widemargin select")
    add_table_options(parser, "the samples to predict")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the predictions to this file (default: standard output)"
    )
    parser.add_argument(
        "--scores", action="store_true", help="add decision values: the larger, the more likely the class"
    )
    parser.add_argument(
        "--n-jobs", type=n_jobs, default=-1, metavar="N", help="threads; -1 uses all cores (default: %(default)s)"
    )
    add_force(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Predict, and write one line per sample."""
    read = arguments.model, arguments.table
    require_other_output(*read)
    require_place("--output", arguments.output, *read, force=arguments.force)
    saved = open_model(arguments.model)
    estimator = _estimator(saved)
    if arguments.scores and not hasattr(estimator, "decision_function"):
        raise CommandError(f"--scores requires a classifier, but {arguments.model} holds a regression model.", MISUSED)
    estimator.n_jobs = arguments.n_jobs
    X, ids = new_samples(arguments, saved)
    content = predictions(saved, X, scores=arguments.scores, ids=ids).encode("utf-8")
    if arguments.output is None:
        sys.stdout.buffer.write(content)
        return 0
    with replaced_file(arguments.output) as file:
        file.write(content)
    note(f"Predictions of {count(X):,} samples written to {arguments.output}.")
    return 0


def new_samples(arguments: argparse.Namespace, saved: SavedModel) -> tuple[Any, list[str] | None]:
    """Read the samples of a table that a model is to predict, with the columns in the model's order; and their names.

    Records of a FASTA file have names, rows of other tables have none. Columns that a compact model has not selected
    may be missing, and are zeros.
    """
    layout, selected, small = layout_of(arguments), None, _estimator(saved)
    if isinstance(small, CompactSVC) and len(small.selected_features_) < small.n_features_in_:
        selected = small.selected_features_
    if saved.n_features is None:
        del layout["zero_based"]
        column = None if saved.feature_names is None else saved.feature_names[0]
        features = read_sequences(arguments.table, column=column, target=saved.target, **layout)
    else:
        features = read_features(
            arguments.table,
            n_features=saved.n_features,
            names=saved.feature_names,
            encoded=saved.encoded,
            selected=None if selected is None else selected.tolist(),
            target=saved.target,
            **layout,
        )
    for sentence in features.notes:
        note(sentence)
    X: Any = features.X
    sparse_model = is_sparse(_estimator(saved))
    # A scaler that centres takes no sparse samples, and a model of sparse samples was trained without one.
    X = X.toarray() if sp.issparse(X) and not sparse_model else X
    return (X if selected is None else _spread(X, selected, small.n_features_in_)), features.ids


def _spread(X: Any, columns: Any, n_features: int) -> Any:
    """Put columns into their places among zeros."""
    if sp.issparse(X):
        return sp.csr_array((X.data, columns[X.indices], X.indptr), shape=(X.shape[0], n_features))
    spread = np.zeros((len(X), n_features))
    spread[:, columns] = X
    return spread


def predictions(saved: SavedModel, X: Any, *, scores: bool, ids: list[str] | None = None) -> str:
    """Predict the samples of `X`; return a table in CSV format, with a column of names if there are any."""
    try:
        with warnings.catch_warnings():
            # The columns were put into the model's order by their names.
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            known = comparable(saved, X, ids)
            some = X if known.all() else take(X, np.flatnonzero(known))
            columns = [np.asarray(saved.behind_encoder.predict(some)).tolist()]
            if scores:
                values = np.asarray(saved.behind_encoder.decision_function(some))
                columns += np.atleast_2d(values.T).tolist()
    except ValueError as problem:
        raise CommandError(f"the model cannot predict these samples: {problem}") from None
    columns = [_spread_out(column, known) for column in columns]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ["prediction", *(score_names(_estimator(saved)) if scores else [])]
    writer.writerow(names if ids is None else ["name", *names])
    writer.writerows(zip(*(columns if ids is None else [ids, *columns]), strict=True))
    return text.getvalue()


def comparable(saved: SavedModel, X: Any, ids: list[str] | None) -> Any:
    """Tell which samples can be predicted; name those that cannot: sequences that hold nothing to compare."""
    kernel = _estimator(saved).kernel_ if is_text(X) else None
    known = np.ones(count(X), dtype=np.bool_) if kernel is None else kernel.measurable(X)
    left_out = np.flatnonzero(~known)
    if len(left_out) == len(known) > 0:
        raise CommandError(f"all sequences are too short, or hold too few letters of the alphabet {_alphabets(kernel)}")
    if len(left_out):
        names = [repr(ids[i]) if ids is not None else f"row {i + 1}" for i in left_out[:3]]
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        note(
            f"{len(left_out):,} of {len(known):,} sequences have no prediction, too short or with too few letters of "
            f"the alphabet {_alphabets(kernel)} in a row: {', '.join(names)}{more}."
        )
    return known


def _alphabets(kernel: Any) -> str:
    return " and ".join(dict.fromkeys(repr(one.alphabet) for one in kernels_in(kernel)))


def _spread_out(values: list[Any], known: Any) -> list[Any]:
    """Put values into their places among empty cells."""
    found = iter(values)
    return [next(found) if there else "" for there in known]


def score_names(estimator: Any) -> list[str]:
    """Name the columns of decision values: by the class that they grow with, or by the pair of classes.

    Examples
    --------
    >>> from widemargin import SVC
    >>> score_names(SVC().fit([[0.0], [1.0]], ["no", "yes"]))
    ['score_yes']
    """
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return ["score"]
    labels = classes.tolist()
    if len(labels) == 2:
        return [f"score_{labels[1]}"]
    if getattr(estimator, "decision_function_shape", "ovr") == "ovo":
        return [f"score_{first}_over_{second}" for first, second in combinations(labels, 2)]
    return [f"score_{label}" for label in labels]


def _estimator(saved: SavedModel) -> Any:
    return saved.model.steps[-1][1] if hasattr(saved.model, "steps") else saved.model
