"""What a model file keeps of a compact model: what predictions need, and how the model was judged."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from widemargin.estimators.svc import SVC
from widemargin.model_selection.compact import CompactSVC
from widemargin.model_selection.compact.samples import FeatureScale
from widemargin.model_selection.compact.search import CompactModel
from widemargin.persistence.archive import Fields, ModelArchive, ModelFileError, from_json, shortened, to_json
from widemargin.persistence.steps import (
    DOUBLE,
    MOST_THREADS,
    Arrays,
    describe_estimator,
    describe_labels,
    restore_estimator,
    restore_labels,
)
from widemargin.strategies import TabuSearch

#: Parameters that are about the search and cannot be kept, or mean nothing elsewhere.
NOT_KEPT = ("journal", "progress", "random_state", "strategy")

#: Features that a model may have: what is kept of each, all of them zeros but for some, must fit into memory.
MOST_FEATURES = 2**28

#: Numbers of a decision function; those that may be NaN end in "?".
NUMBERS = ("C", "sigma", "quality", "validation_rate", "test_rate?", "feature_cost")


def describe_compact(estimator: CompactSVC, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Take a fitted compact model apart into what JSON holds and arrays, whose names begin with `prefix`."""
    if not hasattr(estimator, "models_"):
        raise ModelFileError("CompactSVC is not fitted yet.")
    chosen = estimator.selected_features_
    arrays: Arrays = {
        f"{prefix}selected": chosen.astype(np.int64),
        f"{prefix}means": estimator.scale_.means[chosen],
        f"{prefix}factors": estimator.scale_.factors[chosen],
    }
    models = []
    for number, one in enumerate(estimator.models_):
        own = f"{prefix}{number}/"
        description, found = describe_estimator(one.model, own)
        arrays |= found | {f"{own}features": one.features.astype(np.int64)}
        numbers = {name.rstrip("?"): to_json(getattr(one, name.rstrip("?")), name) for name in NUMBERS}
        models.append(
            {"level": one.level, "sigmoid": list(one.sigmoid), "ended": one.ended, **numbers, "model": description}
        )
    kept = {name: value for name, value in estimator.get_params(deep=False).items() if name not in NOT_KEPT}
    if kept["feature_costs"] is not None:
        kept["feature_costs"] = np.asarray(kept["feature_costs"], dtype=np.float64)
    strategy = None if estimator.strategy is None else asdict(estimator.strategy)
    description = {
        "class": type(estimator).__name__,
        "parameters": {name: to_json(value, f"parameter {name}") for name, value in kept.items()},
        "strategy": None if strategy is None else to_json(strategy, "strategy"),
        "n_features": int(estimator.n_features_in_),
        "n_selected": len(chosen),
        "classes": describe_labels(estimator.classes_),
        "recognition_rate": to_json(estimator.recognition_rate_, "recognition_rate_"),
        "models": models,
    }
    return description, arrays


def restore_compact(archive: ModelArchive, step: Fields, prefix: str) -> CompactSVC:
    """Put a compact model together again; its search is not part of the file."""
    estimator = CompactSVC(**_parameters(step))
    estimator.classes_ = restore_labels(step.fields("classes"))
    d = estimator.n_features_in_ = step.whole("n_features", least=1, most=MOST_FEATURES)
    chosen = archive.array(f"{prefix}selected", ("<i8",), (step.whole("n_selected", least=1, most=d),))
    _require_columns(chosen, d, f"{prefix}selected")
    means, factors = np.zeros(d), np.zeros(d)
    means[chosen] = archive.array(f"{prefix}means", DOUBLE, chosen.shape)
    factors[chosen] = archive.array(f"{prefix}factors", DOUBLE, chosen.shape)
    if not (factors[chosen] > 0).all():
        raise ModelFileError(f"array {prefix}factors holds a number that is not above 0.")
    varies = np.zeros(d, dtype=np.bool_)
    varies[chosen] = True
    estimator.scale_ = FeatureScale(means, factors, varies)
    found = [Fields(one, f"model {number} of {step.where}") for number, one in enumerate(step.entries("models"))]
    n_classes = len(estimator.classes_)
    if len(found) != (1 if n_classes == 2 else n_classes):
        step.refuse("models", f"the decision functions of {n_classes} classes")
    labels = estimator.classes_[1:] if n_classes == 2 else estimator.classes_
    models = [
        _restore_model(archive, one, f"{prefix}{number}/", label, chosen)
        for number, (one, label) in enumerate(zip(found, labels, strict=True))
    ]
    estimator._hold(models)
    if not np.array_equal(estimator.selected_features_, chosen):
        raise ModelFileError(f"array {prefix}selected holds a column that no decision function uses.")
    estimator.recognition_rate_ = step.number("recognition_rate", finite=False)
    return estimator


def _parameters(step: Fields) -> dict[str, Any]:
    given = {name: from_json(value) for name, value in step.fields("parameters").values.items()}
    unknown = sorted(set(given) - set(CompactSVC().get_params()) | set(given) & set(NOT_KEPT))
    if unknown:
        raise ModelFileError(f"parameter {unknown[0]!r} is unknown to CompactSVC in this version of its library.")
    strategy = step.fields("strategy").values if step.has("strategy") else None
    try:
        if strategy is not None:
            given["strategy"] = TabuSearch(**strategy)
        CompactSVC(**given)._checked_options()
    except (ValueError, TypeError, OverflowError) as problem:
        raise ModelFileError(f"CompactSVC refuses its parameters ({shortened(str(problem)).rstrip('.')}).") from None
    if given.get("n_jobs") is not None and abs(given["n_jobs"]) > MOST_THREADS:
        raise ModelFileError(f"n_jobs is {given['n_jobs']}, expected at most {MOST_THREADS}.")
    return given


def _restore_model(archive: ModelArchive, one: Fields, prefix: str, label: Any, chosen: Any) -> CompactModel:
    own = one.fields("model")
    own.choice("class", ("SVC",))
    model = restore_estimator(archive, own, prefix)
    assert isinstance(model, SVC)
    features = archive.array(f"{prefix}features", ("<i8",), (model.n_features_in_,))
    _require_columns(features, int(chosen.max()) + 1, f"{prefix}features")
    if not np.isin(features, chosen).all():
        raise ModelFileError(f"array {prefix}features holds a column that is not selected.")
    if model.kernel != "rbf" or model.classes_.tolist() != [False, True]:
        raise ModelFileError(f"model of {one.where} is not one of two classes with a Gaussian kernel.")
    if len(one.entries("sigmoid")) != 2:
        one.refuse("sigmoid", "a slope and an offset")
    sigmoid = Fields(dict(zip(("slope", "offset"), one.entries("sigmoid"), strict=True)), f"sigmoid of {one.where}")
    numbers = {name.rstrip("?"): one.number(name.rstrip("?"), finite=not name.endswith("?")) for name in NUMBERS}
    return CompactModel(
        label=label,
        model=model,
        features=features,
        level=one.whole("level"),
        sigmoid=(sigmoid.number("slope", least=0), sigmoid.number("offset")),
        trace=None,
        ended=one.text("ended"),
        **numbers,
    )


def _require_columns(columns: Any, n_features: int, name: str) -> None:
    """Refuse columns that are not there, twice there, or out of order."""
    if (np.diff(columns) <= 0).any() or columns[0] < 0 or columns[-1] >= n_features:
        raise ModelFileError(f"array {name} must hold different columns in order, below {n_features}.")
