"""Model files: trained estimators on the disk, in a form that other programs can read and no program has to trust.

A model file is a zip archive whose members are stored without compression: ``model.json`` says what the model is, and
files in NumPy's ``.npy`` format, a folder a step, hold its arrays. Nothing in it is ever run or imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from widemargin.datasets.columns import ColumnEncoder, have_names
from widemargin.model_selection.compact import CompactSVC
from widemargin.persistence.archive import (
    Fields,
    ModelArchive,
    ModelFileError,
    from_json,
    read_archive,
    to_json,
    write_archive,
)
from widemargin.persistence.compact import describe_compact, restore_compact
from widemargin.persistence.steps import (
    ESTIMATORS,
    SCALERS,
    Arrays,
    describe_estimator,
    describe_scaler,
    restore_estimator,
    restore_scaler,
)
from widemargin.runtime.files import replaced_file

__all__ = ["ModelFileError", "SavedModel", "load_model", "open_model", "save_model"]

FORMAT = "widemargin model"
VERSION = 1

#: Steps of a model with an encoder, whose own step had no name.
ENCODER_STEP, MODEL_STEP = "encoder", "model"

#: What may be the last step of a model, by the name of its class.
MODELS: dict[str, type] = {**ESTIMATORS, CompactSVC.__name__: CompactSVC}


@dataclass(frozen=True)
class SavedModel:
    """A model and what its file says about it.

    Attributes
    ----------
    model : estimator
        SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, OnlineSVC, CompactSVC, or a Pipeline of scalers and one of these;
        where columns of text were encoded, a Pipeline that begins with a ColumnEncoder.
    n_features : int or None
        Features that the model takes, behind its encoder if it has one; None if it takes sequences.
    feature_names : list of str or None
        Their names; of a model of sequences, the name of their column.
    target : str or None
        The name of what is predicted.
    encoded : dict
        The values of each text column that `feature_names` holds as "column=value".
    selection : object
        What was said about how the model was chosen; None if nothing was.
    library_version : str
        The version of widemargin that wrote the file.
    """

    model: Any
    n_features: int | None
    feature_names: list[str] | None
    target: str | None
    encoded: dict[str, tuple[str, ...]]
    selection: Any
    library_version: str

    @property
    def behind_encoder(self) -> Any:
        """The model without its encoder, if it has one: it takes features."""
        return self.model[1:] if self.encoded else self.model


def save_model(
    model: Any,
    path: str | PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    target: str | None = None,
    encoded: Mapping[str, Sequence[str]] | None = None,
    selection: Any = None,
) -> None:
    """Write a trained model to a file.

    The file appears whole or not at all: its content is read back before, written beside its place, and renamed. What
    a later fit with ``warm_start=True`` would start from is not kept, nor is the `memory` of a pipeline.

    An OnlineSVC goes on with its stream after loading: its kept samples, coefficients, gradients, ids and counts are in
    the file. Kernel values are not; they are computed again when they are needed, and may differ from those before in
    their last digit. So what it learns from then on agrees with what the model itself would have learnt within
    rounding, not to the last bit. A compressed one only predicts.

    Parameters
    ----------
    model : estimator
        A fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD or OnlineSVC whose kernel has a name or is a kernel object
        (of ``widemargin.kernels``, or one of those of scikit-learn that consist of numbers), or a CompactSVC, of
        which the search is not kept; alone or at the end of a Pipeline whose other steps are StandardScaler or
        MinMaxScaler, perhaps with the encoder in front that a loaded model has.
    path : str or path-like
        The file; an older one is replaced.
    feature_names : sequence of str or None, default=None
        Names of the features; None takes those that the model was trained with, if it was trained with names. The
        model that is loaded knows them: it has ``feature_names_in_``, and refuses data frames whose columns are others,
        or in another order. For a model of sequences, one name: that of their column.
    target : str or None, default=None
        The name of what is predicted.
    encoded : mapping or None, default=None
        The values of each text column that `feature_names` holds as "column=value", one name a value. The model that
        is loaded is a Pipeline whose first step encodes these columns: it takes data frames with the columns as they
        were, in any order.
    selection : object, default=None
        How the model was chosen: numbers, strings, lists and mappings of these.

    Raises
    ------
    ModelFileError
        If the model is of another kind, or something about it cannot be kept.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC
    >>> from widemargin.persistence.model_file import load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    >>> save_model(model, "iris.wm")
    >>> loaded = load_model("iris.wm")
    >>> bool((loaded.decision_function(X) == model.decision_function(X)).all())
    True
    """
    encoder, model = _taken_apart(model)
    own_values = None if encoder is None else _plain(encoder.encoded)
    values = own_values if encoded is None else _plain(encoded)
    if own_values is not None and values != own_values:
        raise ModelFileError("encoded differs from the values that the model encodes.")
    steps, arrays = _describe_steps(model)
    own_names = _own_names(_estimators(model)) if encoder is None else [str(name) for name in encoder.names]
    names = own_names if feature_names is None else [str(name) for name in feature_names]
    if own_names is not None and names != own_names:
        raise ModelFileError("feature_names differs from the names that the model was trained with.")
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library_version": version("widemargin"),
        "feature_names": names,
        "target": target,
        "encoded": to_json(values or {}, "encoded"),
        "selection": to_json(selection, "selection"),
        "steps": steps,
    }
    content = BytesIO()
    write_archive(content, document, arrays)
    with read_archive(content, "The model cannot be kept") as archive:
        _restore(archive)
    with replaced_file(path) as file:
        file.write(content.getbuffer())


def load_model(path: str | PathLike[str]) -> Any:
    """Read a model from a file that :func:`save_model` wrote; its predictions are the same to the last bit.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        The fitted estimator, or the pipeline that it belongs to.

    Raises
    ------
    ModelFileError
        In one sentence, if the file is damaged, of an unknown version, or no model file.
    OSError
        If the file cannot be read.
    """
    return open_model(path).model


def open_model(path: str | PathLike[str]) -> SavedModel:
    """Read a model with what its file says about it; as :func:`load_model` otherwise."""
    with Path(path).open("rb") as file, read_archive(file, f"{fspath(path)} cannot be used as a model") as archive:
        return _restore(archive)


def is_model_file(path: str | PathLike[str]) -> bool:
    """Tell by its content whether a file is one that :func:`save_model` wrote, in whatever version."""
    try:
        with Path(path).open("rb") as file, read_archive(file, "") as archive:
            return bool(archive.document().values.get("format") == FORMAT)
    except (OSError, ModelFileError):
        return False


def is_sparse(estimator: Any) -> bool:
    """Tell whether an estimator is one of sparse samples; a compact one has vectors for each decision function."""
    vectors = estimator.support_vectors_
    return any(map(sp.issparse, vectors)) if isinstance(vectors, list) else bool(sp.issparse(vectors))


def _restore(archive: ModelArchive) -> SavedModel:
    document = archive.document()
    if document.values.get("format") != FORMAT:
        document.refuse("format", repr(FORMAT))
    if document.whole("version", least=1) != VERSION:
        raise ModelFileError(
            f"it is in version {document.values['version']} of the format, and this widemargin "
            f"({version('widemargin')}) reads version {VERSION}."
        )
    names = document.strings("feature_names") if document.has("feature_names") else None
    model = _restore_model(archive, document, names)
    n_features = _n_features(model)
    if names is not None and len(names) != (1 if n_features is None else n_features):
        wanted = "one column of sequences" if n_features is None else f"{n_features} features"
        raise ModelFileError(f"feature_names holds {len(names)} names for {wanted}.")
    encoded = _restore_encoding(document.fields("encoded"), names)
    if encoded and n_features is None:
        document.refuse("encoded", "no columns, since the model takes sequences")
    if encoded:
        assert names is not None
        model = _with_encoder(model, names, encoded)
    elif names is not None and n_features is not None and have_names(names):
        first = model.steps[0][1] if type(model) is Pipeline else model
        first.feature_names_in_ = np.array(names, dtype=object)
    return SavedModel(
        model=model,
        n_features=n_features,
        feature_names=names,
        target=document.text("target") if document.has("target") else None,
        encoded=encoded,
        selection=from_json(document.values.get("selection")),
        library_version=document.text("library_version"),
    )


def _taken_apart(model: Any) -> tuple[ColumnEncoder | None, Any]:
    """Return the encoder that a model begins with, if there is one, and the rest of it."""
    if type(model) is Pipeline and len(model.steps) > 1 and type(model.steps[0][1]) is ColumnEncoder:
        return model.steps[0][1], model[1:]
    return None, model


def _plain(encoded: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {column: list(values) for column, values in encoded.items()}


def _with_encoder(model: Any, names: list[str], encoded: dict[str, tuple[str, ...]]) -> Pipeline:
    """Put an encoder in front of a model, which then gets arrays."""
    steps = list(model.steps) if type(model) is Pipeline else [(MODEL_STEP, model)]
    for _, estimator in steps:
        estimator.__dict__.pop("feature_names_in_", None)
    name = ENCODER_STEP
    while name in dict(steps):
        name += "_"
    return Pipeline([(name, ColumnEncoder(names, encoded).fit()), *steps])


def _n_features(estimator: Any) -> int | None:
    """Return the number of features that an estimator takes, None if it takes sequences."""
    found: int | None = getattr(estimator, "n_features_in_", None)
    return found


def _estimators(model: Any) -> list[tuple[str | None, Any]]:
    """Names and estimators of a model; an estimator alone has no name."""
    accepted = f"{', '.join(MODELS)}, alone or behind {' or '.join(SCALERS)} in a Pipeline"
    if type(model) is not Pipeline:
        if type(model) is MODELS.get(type(model).__name__):
            return [(None, model)]
        if hasattr(model, "best_estimator_"):
            raise ModelFileError(f"{type(model).__name__} is a search; save its best_estimator_.")
        raise ModelFileError(
            f"{type(model).__module__}.{type(model).__name__} cannot be stored in a model file; it stores {accepted}."
        )
    *scalers, (last, estimator) = model.steps
    for name, step in scalers:
        if type(step) is not SCALERS.get(type(step).__name__):
            raise ModelFileError(f"step {name!r} of the Pipeline is {step!r}; accepted are {accepted}.")
    if type(estimator) is not MODELS.get(type(estimator).__name__):
        raise ModelFileError(f"the last step, {last!r}, of the Pipeline is {estimator!r}; accepted are {accepted}.")
    return list(model.steps)


def _describe_steps(model: Any) -> tuple[list[dict[str, Any]], Arrays]:
    steps: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for number, (name, estimator) in enumerate(_estimators(model)):
        description, found = _describe(estimator, f"{number}/")
        steps.append({"name": name, "named": hasattr(estimator, "feature_names_in_"), **description})
        arrays |= found
    return steps, arrays


def _describe(estimator: Any, prefix: str) -> tuple[dict[str, Any], Arrays]:
    if isinstance(estimator, CompactSVC):
        return describe_compact(estimator, prefix)
    describe = describe_estimator if type(estimator).__name__ in ESTIMATORS else describe_scaler
    return describe(estimator, prefix)


def _restored(archive: ModelArchive, step: Fields, prefix: str, last: bool) -> Any:
    name = step.choice("class", tuple(MODELS if last else SCALERS))
    if name == CompactSVC.__name__:
        return restore_compact(archive, step, prefix)
    return (restore_estimator if last else restore_scaler)(archive, step, prefix)


def _own_names(estimators: Sequence[tuple[str | None, Any]]) -> list[str] | None:
    """Names that the model was trained with, the same at every step that has any."""
    found = [getattr(estimator, "feature_names_in_", None) for _, estimator in estimators]
    names = [[str(name) for name in given] for given in found if given is not None]
    if any(other != names[0] for other in names):
        raise ModelFileError("feature_names_in_ differs between the steps of the Pipeline.")
    return names[0] if names else None


def _restore_model(archive: ModelArchive, document: Fields, names: list[str] | None) -> Any:
    found = [Fields(step, f"step {number}") for number, step in enumerate(document.entries("steps"))]
    if not found:
        document.refuse("steps", "at least an estimator")
    steps: list[tuple[str | None, Any]] = []
    for number, step in enumerate(found):
        estimator = _restored(archive, step, f"{number}/", last=number == len(found) - 1)
        if step.flag("named"):
            if names is None or len(names) != _n_features(estimator):
                step.refuse("named", "false, for lack of names")
            estimator.feature_names_in_ = np.array(names, dtype=object)
        steps.append((step.text("name") if step.has("name") else None, estimator))
    if len({_n_features(estimator) for _, estimator in steps}) > 1:
        raise ModelFileError("n_features differs between the steps.")
    if is_sparse(steps[-1][1]) and any(getattr(scaler, "with_mean", True) for _, scaler in steps[:-1]):
        raise ModelFileError("a model of sparse samples follows a scaler that takes only dense ones.")
    step_names = [name for name, _ in steps]
    if step_names == [None]:
        return steps[0][1]
    if None in step_names or len(set(step_names)) < len(steps) or any("__" in str(name) for name in step_names):
        raise ModelFileError("the names of the steps must be different strings without '__'.")
    return Pipeline(steps)


def _restore_encoding(encoded: Fields, names: list[str] | None) -> dict[str, tuple[str, ...]]:
    known = set(names or ())
    values = {column: tuple(encoded.strings(column)) for column in encoded.values}
    for column, texts in values.items():
        if not texts or not known.issuperset(f"{column}={text}" for text in texts):
            encoded.refuse(column, "values that feature_names holds as column=value")
    return values
