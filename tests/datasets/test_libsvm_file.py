"""The LIBSVM reader: agreement with scikit-learn, numbering, compression, and errors naming the line."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from widemargin.datasets import read_libsvm

SHAPES = st.tuples(st.integers(1, 8), st.integers(1, 6))
VALUES = st.one_of(st.just(0.0), st.floats(-1e6, 1e6, allow_subnormal=False))


@given(dense=arrays(np.float64, SHAPES, elements=VALUES), zero_based=st.booleans(), data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(dense: np.ndarray, zero_based: bool, data: st.DataObject, tmp_path: Path) -> None:
    y = data.draw(arrays(np.int64, len(dense), elements=st.integers(-3, 3)))
    path = tmp_path / "data.libsvm"
    dump_svmlight_file(dense, y, str(path), zero_based=zero_based)
    X, labels = read_libsvm(path, n_features=dense.shape[1], zero_based=zero_based)
    assert X.format == "csr"
    assert X.dtype == np.float64
    assert X.indices.dtype == np.int32
    np.testing.assert_allclose(X.toarray(), dense, rtol=1e-14)
    np.testing.assert_array_equal(labels, y)
    assert labels.dtype == np.int64


def test_agrees_with_scikit_learn(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    dense = generator.standard_normal((200, 30)) * (generator.random((200, 30)) < 0.2)
    path = tmp_path / "data.libsvm"
    dump_svmlight_file(
        csr_matrix(dense), generator.standard_normal(200), str(path), zero_based=False, comment="made up"
    )
    X, y = read_libsvm(path)
    X_theirs, y_theirs = load_svmlight_file(str(path))
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, y_theirs)
    assert X.shape == X_theirs.shape
    assert abs(X - X_theirs).max() == 0.0


def test_comments_blank_lines_empty_rows_and_signs(tmp_path: Path) -> None:
    path = tmp_path / "data.libsvm"
    path.write_text("# heading\n+1 2:1.5 # remark\n\n-1\r\n+1 1:-2e-1 3:4\n")
    X, y = read_libsvm(path)
    assert X.toarray().tolist() == [[0.0, 1.5, 0.0], [0.0, 0.0, 0.0], [-0.2, 0.0, 4.0]]
    assert y.tolist() == [1, -1, 1]


def test_first_index(tmp_path: Path) -> None:
    from_zero, from_one = tmp_path / "zero", tmp_path / "one"
    from_zero.write_text("1 0:5 2:6\n")
    from_one.write_text("1 1:5 3:6\n")
    for path in (from_zero, from_one):
        assert read_libsvm(path)[0].toarray().tolist() == [[5.0, 0.0, 6.0]]
    assert read_libsvm(from_one, zero_based=True)[0].toarray().tolist() == [[0.0, 5.0, 0.0, 6.0]]
    assert read_libsvm(from_one, n_features=5)[0].shape == (1, 5)
    with pytest.raises(ValueError, match="line 1: feature index 0 found, but zero_based=False accepts 1 and above"):
        read_libsvm(from_zero, zero_based=False)
    with pytest.raises(ValueError, match="zero_based must be True, False or \"auto\", got 'yes'"):
        read_libsvm(from_one, zero_based="yes")


def test_whole_labels_beyond_exact_counting_stay_floats(tmp_path: Path) -> None:
    path = tmp_path / "data.libsvm"
    path.write_text("1e300 1:1\n2 1:1\n")
    assert read_libsvm(path)[1].tolist() == [1e300, 2.0]


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_files(tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"data.{ending}"
    path.write_bytes(compress(b"-1 1:2\n1 2:3\n"))
    X, y = read_libsvm(path)
    assert X.toarray().tolist() == [[2.0, 0.0], [0.0, 3.0]]
    assert y.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("one 1:2", "the label is 'one', which is not a number"),
        ("nan 1:2", "the label is 'nan', but it must be finite"),
        ("1,2 1:2", "the label is '1,2', which is not a number"),
        ("1 1:2 3", "'3' found where index:value was expected"),
        ("1 x:2", "feature index 'x' is not a whole number"),
        ("1 qid:2 1:3", "feature index 'qid' is not a whole number"),
        ("1 1:2:3 2", "the value of feature 1 is '2:3', which is not a number"),
        ("1 1:", "the value of feature 1 is '', which is not a number"),
        ("1 2:inf", "the value of feature 2 is 'inf', but it must be finite"),
        ("1 1:1 2:nan", "the value of feature 2 is 'nan', but it must be finite"),
        ("1 2:1 1:1", "feature index 1 follows 2, but indices must increase along a line"),
        ("1 2:1 2:1", "feature index 2 follows 2, but indices must increase along a line"),
        ("1 -1:1", "feature index -1 is negative"),
        (f"1 {2**64}:1", f"feature index {2**64} is above {2**62}, the largest accepted"),
        ("1 9:1", "feature index 9 found, but n_features=4 accepts 1 to 4"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "broken.libsvm"
    path.write_text(f"1 1:1 4:1\n\n{line}\n1 1:1\n")
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        read_libsvm(path, n_features=4)
    assert str(caught.value) == f"{path}, line 3: {message}."


def test_file_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "empty.libsvm"
    path.write_text("# nothing here\n\n")
    with pytest.raises(ValueError, match=r"empty\.libsvm holds no rows"):
        read_libsvm(path)
    with pytest.raises(FileNotFoundError, match="absent"):
        read_libsvm(tmp_path / "absent")
