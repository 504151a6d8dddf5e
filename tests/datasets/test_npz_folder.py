"""The folder of benchmark data sets."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

from widemargin import datasets
from widemargin.datasets import load_npz


def test_folder_from_argument_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    assert datasets.data_folder() == tmp_path
    (tmp_path / "inner").mkdir()
    assert datasets.data_folder(tmp_path / "inner") == tmp_path / "inner"
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=r"environment variable WIDEMARGIN_DATA names '.*absent', which is not"):
        datasets.data_folder()
    with pytest.raises(FileNotFoundError, match=r"The data folder names '.*other', which is not a folder"):
        datasets.data_folder(tmp_path / "other")
    for unset in (lambda: monkeypatch.setenv("WIDEMARGIN_DATA", ""), lambda: monkeypatch.delenv("WIDEMARGIN_DATA")):
        unset()
        with pytest.raises(FileNotFoundError, match=r"No data folder is known; .* WIDEMARGIN_DATA"):
            load_npz("iris")


@pytest.mark.parametrize(
    ("stored", "loaded"),
    [("uint8", "float32"), ("int16", "float32"), ("int32", "float64"), ("float32", "float32"), ("float64", "float64")],
)
def test_dense(tmp_path: Path, stored: str, loaded: str) -> None:
    X = np.array([[1, 2], [3, 250]], dtype=stored)
    np.savez(
        tmp_path / "tiny.npz",
        X=X,
        y=[0, 1],
        n_train=1,
        class_names=["a", "b"],
        meta=json.dumps({"task": "classification"}),
    )
    for name in ("tiny", "tiny.npz"):
        values, y, extra = load_npz(name, tmp_path)
        assert values.dtype == loaded
        np.testing.assert_array_equal(values, X)
        assert y.tolist() == [0, 1]
        assert extra.keys() == {"n_train", "class_names", "meta"}
        assert extra["n_train"] == 1
        assert extra["meta"] == {"task": "classification"}
        assert extra["class_names"].tolist() == ["a", "b"]


def test_sparse(tmp_path: Path) -> None:
    X = csr_matrix(np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 3.0]]))
    np.savez(tmp_path / "tiny.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=[1, -1])
    values, y, extra = load_npz("tiny", tmp_path)
    assert issparse(values)
    assert values.format == "csr"
    assert values.shape == (2, 3)
    np.testing.assert_array_equal(values.toarray(), X.toarray())
    assert y.tolist() == [1, -1]
    assert extra == {}


def test_errors(tmp_path: Path) -> None:
    np.savez(tmp_path / "spambase.npz", X=np.eye(2), y=[0, 1])
    np.savez(tmp_path / "no_labels.npz", X=np.eye(2))
    np.savez(tmp_path / "uneven.npz", X=np.eye(2), y=[0, 1, 0])
    with pytest.raises(FileNotFoundError, match="has no data set 'spambas'; did you mean spambase"):
        load_npz("spambas", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"has no data set 'mnist'; it holds 3 data sets \(\.npz\)"):
        load_npz("mnist", tmp_path)
    with pytest.raises(ValueError, match=r"no_labels\.npz has no array 'y'"):
        load_npz("no_labels", tmp_path)
    with pytest.raises(ValueError, match=r"uneven\.npz holds 2 samples in X but 3 in y"):
        load_npz("uneven", tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04rubbish", b"\x93NUMPY"])
def test_files_of_another_kind(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.npz").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"^other\.npz is not an archive of plain arrays, as numpy\.savez writes it\.$"
    ):
        load_npz("other", tmp_path)


def test_pickled_objects_are_not_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", X=np.array([[None], [1]]), y=[0, 1])
    with pytest.raises(ValueError, match=r"^objects\.npz is not an archive of plain arrays"):
        load_npz("objects", tmp_path)


def test_benchmark_sets(data_folder: Path) -> None:
    X, y, extra = load_npz("a9a", data_folder)
    assert issparse(X)
    assert X.shape == (48842, 123)
    assert y.shape == (48842,)
    assert extra["n_train"] == 32561
    assert set(np.unique(y).tolist()) == {-1, 1}
    X, y, extra = load_npz("pendigits", data_folder)
    assert isinstance(X, np.ndarray)
    assert X.shape == (10992, 16)
    assert X.dtype == np.float32
    assert extra["meta"]["name"] == "pendigits"
