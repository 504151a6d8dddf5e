"""Documents of models: what is missing, of another type or at odds with the rest is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .damaged import archive_of, opened, outcome, require_sentence


def changed(document: dict[str, Any], where: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copied = json.loads(json.dumps(document))
    inner = copied
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    return copied


def places(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [(*prefix, key) for key in keys] + [p for key in keys for p in places(value[key], (*prefix, key))]


MODEL, SCALER = ("steps", 1), ("steps", 0)


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("format",), "tables", "format of model.json is 'tables', expected 'widemargin model'."),
        (("version",), 2, "it is in version 2 of the format, and this widemargin ("),
        (("version",), "1", "version of model.json is '1', expected a whole number of at least 1."),
        (("version",), True, "version of model.json is True, expected"),
        (("steps",), [], "steps of model.json is [], expected at least an estimator."),
        (("steps",), {}, "steps of model.json is {}, expected a list."),
        (("library_version",), None, "library_version of model.json is None, expected a string."),
        (("feature_names",), ["a"], "feature_names holds 1 names for 4 features."),
        (("feature_names", 0), "b", "expected a list of different strings."),
        (("encoded",), {"c": ["z"]}, "c of encoded of model.json is ['z'], expected values that feature_names holds"),
        (("encoded",), {"c": []}, "expected values that feature_names holds"),
        ((*MODEL, "class"), "os.system", "class of step 1 is 'os.system', expected one of SVC, NuSVC, SVR, NuSVR,"),
        ((*MODEL, "class"), "SVR", "parameter 'break_ties' is unknown to SVR"),
        ((*SCALER, "class"), "SVC", "class of step 0 is 'SVC', expected one of StandardScaler, MinMaxScaler."),
        ((*SCALER, "class"), "MinMaxScaler", "parameter 'with_mean' is unknown to MinMaxScaler"),
        ((*SCALER, "parameters", "with_std"), "x", "StandardScaler refuses its parameters."),
        ((*SCALER, "arrays"), ["var_"], "arrays of step 0 is ['var_'], expected a list of"),
        ((*SCALER, "arrays"), ["mean_", "scale_", "../../x"], "arrays of step 0 is"),
        ((*SCALER, "n_samples_seen"), -1, "n_samples_seen of step 0 is -1, expected a finite number of at least 0."),
        ((*SCALER, "n_features"), 5, "array 0/mean is of shape (4,), expected (5,)."),
        ((*MODEL, "n_features"), -4, "n_features of step 1 is -4, expected a whole number of at least 1."),
        ((*MODEL, "n_features"), 4.0, "n_features of step 1 is 4.0, expected a whole number"),
        ((*MODEL, "n_vectors"), -1, "n_vectors of step 1 is -1, expected a whole number of at least 0."),
        ((*MODEL, "n_vectors"), 10**15, "array 1/support is of shape"),
        ((*MODEL, "n_vectors"), 10**400, "n_vectors of step 1 is 1"),
        ((*MODEL, "vectors"), "csc_matrix", "vectors of step 1 is 'csc_matrix', expected one of dense, csr_matrix,"),
        ((*MODEL, "shape_fit"), [3, 4], "array support of step 1 holds a number outside of the 3 training samples."),
        ((*MODEL, "shape_fit"), [50], "shape_fit of step 1 is [50], expected a number of samples and 4 features."),
        (
            (*MODEL, "kernel", "gamma"),
            -1.0,
            "gamma of kernel of step 1 is -1.0, expected a finite number of at least 0",
        ),
        ((*MODEL, "kernel", "gamma"), {"$float": "nan"}, "gamma of kernel of step 1 is {'$float': 'nan'}, expected"),
        ((*MODEL, "kernel", "degree"), 2**31, "degree of kernel of step 1 is 2147483648, expected a whole number"),
        ((*MODEL, "parameters", "kernel"), "evil", "SVC refuses its parameters (kernel must be one of"),
        (
            (*MODEL, "parameters", "kernel"),
            "precomputed",
            "array support of step 1 holds a number outside of the 4 training",
        ),
        ((*MODEL, "parameters", "C"), {"$pairs": 3}, "expected pairs, found {'$pairs': 3}."),
        ((*MODEL, "parameters", "C"), {"a": 3}, "parameter C of SVC is a mapping, expected a number or a string."),
        ((*MODEL, "parameters", "C"), "x", "SVC refuses its parameters (C must be a number above 0; got 'x')."),
        ((*MODEL, "parameters", "n_jobs"), 5000, "n_jobs is 5000, expected at most 1024."),
        ((*MODEL, "parameters", "n_jobs"), 10**9, "SVC refuses its parameters (n_jobs must be at most 16384"),
        ((*MODEL, "parameters", "later"), 1, "parameter 'later' is unknown to SVC in this version of its library."),
        ((*MODEL, "parameters", "class_weight"), 3, "class_weight is 3, expected weights of labels."),
        (
            (*MODEL, "parameters", "class_weight"),
            {"a": -1},
            "a of class_weight is -1, expected a finite number of at",
        ),
        ((*MODEL, "parameters", "random_state"), "x", "random_state is 'x', expected a whole number."),
        ((*MODEL, "classes", "values"), [0], "values of classes of step 1 is [0], expected at least two different"),
        ((*MODEL, "classes", "values"), [0, 1, 1], "expected at least two different labels of type int64."),
        ((*MODEL, "classes", "values"), [0, 1, True], "expected at least two different labels of type int64."),
        ((*MODEL, "classes", "values"), [0, 1, 2**70], "expected at least two different labels of type int64."),
        ((*MODEL, "classes", "values"), [[0], [1], [2]], "expected at least two different labels of type int64."),
        (
            (*MODEL, "classes", "values"),
            list(range(1000)),
            "array 1/class_weight is of shape (3,), expected (1000,).",
        ),
        ((*MODEL, "classes", "type"), "U99999999", "type of classes of step 1 is 'U99999999', expected one of bool,"),
        ((*MODEL, "report"), [], "report of step 1 is [], expected an entry for each problem that was solved."),
        ((*MODEL, "report", 0), 3, "report of step 1 is 3, expected named entries."),
        ((*MODEL, "report", 0, "iterations"), -1, "iterations of report of step 1 is -1, expected a whole number"),
        (
            (*MODEL, "report", 0, "classes"),
            [1],
            "classes of report of step 1 is [1], expected a pair of labels or null.",
        ),
        ((*MODEL, "name"), None, "the names of the steps must be different strings without '__'."),
        ((*MODEL, "name"), "standardscaler", "the names of the steps must be different strings without '__'."),
        ((*MODEL, "named"), 1, "named of step 1 is 1, expected true or false."),
        ((*MODEL, "predict_in_double"), None, "predict_in_double of step 1 is None, expected true or false."),
    ],
)
def test_documents_that_say_nonsense(
    intact: bytes, where: tuple[Any, ...], value: Any, message: str, tmp_path: Path
) -> None:
    members, path = opened(intact), tmp_path / "model.wm"
    members["model.json"] = json.dumps(changed(json.loads(members["model.json"]), where, value)).encode()
    result = outcome(path, archive_of(members))
    require_sentence(result, path)
    assert message in result


FUZZ = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(["$float", "$pairs"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(data=st.data())
@FUZZ
def test_any_document_is_read_or_refused(intact: bytes, data: st.DataObject, tmp_path: Path) -> None:
    members, path = opened(intact), tmp_path / "model.wm"
    document = json.loads(members["model.json"])
    for _ in range(data.draw(st.integers(1, 2))):
        value = data.draw(
            JSON | st.sampled_from([0, 1, -1, 2**31, 2**63, 1e308, "", "rbf", "linear", "SVR", {"$float": "inf"}])
        )
        document = changed(document, data.draw(st.sampled_from(places(document))), value)
    members["model.json"] = json.dumps(document).encode()
    result = outcome(path, archive_of(members))
    if isinstance(result, str):
        require_sentence(result, path)
