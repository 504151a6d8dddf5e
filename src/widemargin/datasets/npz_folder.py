"""The folder of benchmark data sets: ``.npz`` files kept outside the package."""

import difflib
import json
import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from widemargin.datasets.text_file import FilePath

DATA_VARIABLE = "WIDEMARGIN_DATA"


def data_folder(path: FilePath | None = None) -> Path:
    """Return the folder that holds the benchmark data sets.

    Parameters
    ----------
    path : str, path-like or None, default=None
        The folder; None takes the environment variable WIDEMARGIN_DATA.

    Returns
    -------
    folder : pathlib.Path
        An existing folder.

    Raises
    ------
    FileNotFoundError
        If neither is given, or if there is no such folder.

    Examples
    --------
    >>> from widemargin.datasets import data_folder
    >>> data_folder(".").is_dir()
    True
    """
    given = os.environ.get(DATA_VARIABLE) if path is None else path
    if not given:
        raise FileNotFoundError(
            "No data folder is known; give one (--data on a command line) or set the environment variable"
            f" {DATA_VARIABLE}."
        )
    folder = Path(given).expanduser()
    if not folder.is_dir():
        origin = f"the environment variable {DATA_VARIABLE}" if path is None else "the data folder"
        raise FileNotFoundError(f"{origin[0].upper()}{origin[1:]} names {str(folder)!r}, which is not a folder.")
    return folder


def load_npz(
    name: str, folder: FilePath | None = None
) -> tuple[npt.NDArray[np.floating[Any]] | csr_matrix, npt.NDArray[Any], dict[str, Any]]:
    """Load one benchmark data set.

    A file holds ``y`` and either ``X`` or the four parts of a sparse matrix (``data``, ``indices``, ``indptr`` and
    ``shape``); whatever else it holds is handed on.

    Parameters
    ----------
    name : str
        The data set: the file's name with or without ``.npz``.
    folder : str, path-like or None, default=None
        The folder, as for :func:`data_folder`.

    Returns
    -------
    X : ndarray or csr_matrix of shape (n_samples, n_features)
        float32 or float64. Integers, such as pixels, are stored compactly and come back as the smaller of the two
        that holds them exactly.
    y : ndarray
        As stored.
    extra : dict
        The other arrays of the file by name (``n_train``, ``train``, ``class_names``, ...); single numbers and strings
        as plain Python values, the description ``meta`` as a dict.

    Raises
    ------
    FileNotFoundError
        If there is no folder or no such file in it.
    ValueError
        If the file is not a data set of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.datasets import load_npz
    >>> np.savez("tiny.npz", X=np.eye(2, dtype=np.uint8), y=[0, 1], n_train=1)
    >>> X, y, extra = load_npz("tiny", folder=".")
    >>> X.dtype.name, y.tolist(), extra
    ('float32', [0, 1], {'n_train': 1})
    """
    path = _data_file(name, data_folder(folder))
    arrays = _arrays(path)
    try:
        y = arrays.pop("y")
        if "indptr" in arrays:
            data, indices, indptr, shape = (arrays.pop(key) for key in ("data", "indices", "indptr", "shape"))
            X: Any = csr_matrix((_as_float(data), indices, indptr), shape=tuple(shape.tolist()))
        else:
            X = _as_float(arrays.pop("X"))
    except KeyError as missing:
        raise ValueError(
            f"{path.name} has no array {missing}; a data set holds y and X, or y and the parts of a CSR matrix."
        ) from None
    if X.shape[0] != len(y):
        raise ValueError(f"{path.name} holds {X.shape[0]} samples in X but {len(y)} in y.")
    return X, y, {key: _plain(key, value) for key, value in arrays.items()}


def _data_file(name: str, folder: Path) -> Path:
    path = folder / f"{name.removesuffix('.npz')}.npz"
    if path.is_file():
        return path
    present = sorted(file.stem for file in folder.glob("*.npz"))
    near = difflib.get_close_matches(path.stem, present, n=3)
    hint = f"did you mean {' or '.join(near)}" if near else f"it holds {len(present)} data sets (.npz)"
    raise FileNotFoundError(f"The data folder {str(folder)!r} has no data set {path.stem!r}; {hint}.")


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with ZipFile(path):  # numpy.load takes any other content for a pickle
            pass
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (BadZipFile, ValueError):
        raise ValueError(f"{path.name} is not an archive of plain arrays, as numpy.savez writes it.") from None


def _as_float(stored: npt.NDArray[Any]) -> npt.NDArray[np.floating[Any]]:
    if np.issubdtype(stored.dtype, np.floating):
        return stored
    # float32 represents every integer up to 2^24, so 8- and 16-bit storage loses nothing.
    return stored.astype(np.float32 if stored.dtype.itemsize <= 2 else np.float64)


def _plain(key: str, value: npt.NDArray[Any]) -> Any:
    if key == "meta":
        return json.loads(str(value))
    return value.item() if value.ndim == 0 else value
