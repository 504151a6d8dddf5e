"""A model file to damage."""

from __future__ import annotations

import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.persistence.model_file import save_model


@pytest.fixture(scope="package", params=["dense", "sparse"])
def intact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("models") / "model.wm"
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    rows = X if request.param == "dense" else sp.csr_matrix(X)
    model = make_pipeline(StandardScaler(with_mean=request.param == "dense"), SVC()).fit(rows, y)
    save_model(model, path, feature_names=["a", "b", "c=x", "c=y"], encoded={"c": ["x", "y"]}, selection={"score": 1})
    return path.read_bytes()
