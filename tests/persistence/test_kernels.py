"""Model files of models with kernel objects."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.gaussian_process import kernels as theirs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVDD, SVR
from widemargin.kernels import (
    DiagonalGaussian,
    Gaussian,
    GeneralGaussian,
    Linear,
    Mahalanobis,
    MaskedGaussian,
    Polynomial,
    Scaled,
    normalized,
)
from widemargin.persistence.model_file import ModelFileError, load_model, save_model

X, y = load_iris(return_X_y=True)
KERNELS = [
    Gaussian(),
    Gaussian(gamma=0.1, gamma_bounds="fixed"),
    DiagonalGaussian([0.1, 0.2, 0.3, 1 / 3]),
    MaskedGaussian(),
    MaskedGaussian([True, False, True, False], gamma=1 / 3),
    MaskedGaussian(np.array([True, False, True, True]), gamma_bounds=(0.1, 1.0)) + Linear(),
    GeneralGaussian(fixed="size"),
    GeneralGaussian(np.eye(4) + 0.1, fixed=("shape", "orientation")),
    Mahalanobis(),
    Mahalanobis(covariance="full", delta=0.1),
    Linear(),
    Polynomial(degree=2),
    0.5 * Gaussian() + Polynomial(degree=2),
    normalized((Mahalanobis() + 1.0) ** 2 * Linear()),
    theirs.RBF([1.0, 2.0, 3.0, 4.0]),
    theirs.Matern(nu=2.5) + theirs.ConstantKernel(2.0) * theirs.RationalQuadratic(),
    Gaussian() * theirs.ExpSineSquared(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_what_is_loaded_predicts_the_same(kernel, tmp_path):
    model = SVC(kernel=kernel).fit(X, y)
    save_model(model, tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.kernel_ == model.kernel_
    assert repr(loaded.kernel_) == repr(model.kernel_)
    assert loaded.kernel == model.kernel
    assert loaded.fit(X, y).kernel_ == model.kernel_


def test_other_machines_and_rows(tmp_path):
    thin = sp.csr_array(np.where(X > 1.5, X, 0.0))
    for model, rows in (
        (SVR(kernel=Mahalanobis()).fit(thin, y), thin),
        (SVDD(kernel=Polynomial(degree=2)).fit(X), X),
        (make_pipeline(StandardScaler(), SVC(kernel=GeneralGaussian())).fit(X, y), X),
    ):
        save_model(model, tmp_path / "model.wm")
        assert np.array_equal(load_model(tmp_path / "model.wm").predict(rows), model.predict(rows))


class Own(Gaussian):
    """A kernel that no file knows."""


def test_what_cannot_be_kept(tmp_path):
    for kernel in (Own(), 2.0 * Own(), theirs.PairwiseKernel(metric="rbf")):
        model = SVC(kernel=kernel).fit(X, y)
        with pytest.raises(ModelFileError, match="which a model file cannot store; it stores kernels of these types"):
            save_model(model, tmp_path / "model.wm")
    model = SVC(kernel="rbf").fit(X, y).set_params(kernel=Gaussian())
    with pytest.raises(ModelFileError, match="was set after the fit"):
        save_model(model, tmp_path / "model.wm")
    model = SVC(kernel=Gaussian()).fit(X, y).set_params(kernel="rbf")
    with pytest.raises(ModelFileError, match="was set after the fit"):
        save_model(model, tmp_path / "model.wm")


def altered(path, change):
    """Write a file anew with something else in its document."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    document = json.loads(members["model.json"])
    change(document["steps"][0])
    members["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as new:
        for name, content in members.items():
            new.writestr(name, content)


def nest(step):
    inner = step["kernel"]["object"]
    for _ in range(100):
        inner = {"class": "Normalized", "parameters": {"kernel": inner}}
    step["kernel"]["object"] = inner


@pytest.mark.parametrize("features", [[True] * 3, [0, 0, 0, 0], [2, 1, 1, 1], ["a", "b", "c", "d"], 1.0, None])
def test_masks_that_somebody_changed(features, tmp_path):
    path = tmp_path / "model.wm"
    save_model(SVC(kernel=MaskedGaussian([True, True, False, True])).fit(X, y), path)
    altered(path, lambda step: step["kernel"]["object"]["parameters"].update(features=features))
    with pytest.raises(ModelFileError, match=r"cannot be used as a model: .*\.$"):
        load_model(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda step: step["kernel"].pop("object"),
        lambda step: step["kernel"].update(object="Gaussian"),
        lambda step: step["kernel"]["object"].update({"class": "os.system"}),
        lambda step: step["kernel"]["object"].update({"class": "DiagonalGaussian"}),
        lambda step: step["kernel"]["object"]["parameters"].update(matrix=[1.0, 2.0]),
        lambda step: step["kernel"]["object"]["parameters"].update(matrix=[1.0, 2.0, 3.0, -1.0]),
        lambda step: step["kernel"]["object"]["parameters"].update(matrix=["a", "b", "c", "d"]),
        lambda step: step["kernel"]["object"]["parameters"].update(matrix={"$float": "nan"}),
        lambda step: step["kernel"]["object"]["parameters"].update(matrix=[1.0, 2.0, 3.0, 10**400]),
        lambda step: step["kernel"]["object"]["parameters"].update(delta=10**400),
        lambda step: step["parameters"]["kernel"]["parameters"].update(matrix=[1.0, 2.0, 3.0, -(10**400)]),
        lambda step: step["parameters"]["kernel"]["parameters"].update(delta_bounds=[[1.0, 2.0], 3.0]),
        lambda step: step["kernel"]["object"]["parameters"].update(delta=-1.0),
        lambda step: step["kernel"]["object"]["parameters"].update(delta="1"),
        lambda step: step["kernel"]["object"]["parameters"].update(delta=None),
        lambda step: step["kernel"]["object"]["parameters"].update(width=1.0),
        lambda step: step["kernel"]["object"].pop("parameters"),
        lambda step: step["parameters"].update(kernel={"class": "Gaussian"}),
        lambda step: step["parameters"].update(kernel={"class": "Gaussian", "parameters": {}}),
        lambda step: step["parameters"].update(kernel={}),
        nest,
    ],
)
def test_files_that_somebody_changed(change, tmp_path):
    path = tmp_path / "model.wm"
    save_model(SVC(kernel=Mahalanobis()).fit(X, y), path)
    altered(path, change)
    with pytest.raises(ModelFileError, match=r"cannot be used as a model: .*\.$"):
        load_model(path)


def test_bounds_and_scales_survive(tmp_path):
    kernel = Scaled(0.5, DiagonalGaussian([1.0, 2.0, 3.0, 4.0], gammas_bounds=(0.1, 10.0)), scale_bounds="fixed")
    save_model(SVC(kernel=kernel).fit(X, y), tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    assert loaded.kernel_.bounds == pytest.approx(kernel.bounds)
    assert loaded.kernel_.theta == pytest.approx(kernel.theta)
