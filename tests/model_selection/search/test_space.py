"""What a model search looks for, and what it refuses before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_searches import Downhill, polarization, same_searches, search, two_classes
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process.kernels import RBF, RationalQuadratic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, ModelSearch, NuSVC, OneClassSVM, kernels
from widemargin.objectives import Polarization


class Own(SVC):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X[::2], y[::2])


def test_a_space_of_some_parameters() -> None:
    X, y = two_classes()
    found = search(SVC(C=3.0), space={"gamma": (0.01, 0.05)}).fit(X, y)
    assert found.best_params_.keys() == {"gamma"}
    assert found.best_params_["gamma"] == pytest.approx(0.05)
    assert found.edges_ == {"gamma": "largest"}
    assert found.best_estimator_.C == 3.0
    assert set(found.trace_["stage"]) == {"search"}
    only_c = search(SVC(gamma=0.1), space={"C": (0.5, 8.0)}).fit(X, y)
    assert only_c.best_params_["gamma"] == 0.1
    assert 0.5 <= only_c.best_params_["C"] <= 8.0
    assert only_c.n_evaluations_ == 1
    assert only_c.ended_ == "the kernel has no parameters to search"
    assert only_c.trace_["C"][only_c.trace_["stage"] == "C"].tolist() == [0.5, 2.0, 8.0]


def test_a_space_of_nested_names_and_vectors() -> None:
    X, y = two_classes()
    machine = SVC(kernel=kernels.Gaussian(gamma=0.3) + kernels.DiagonalGaussian(gammas=0.2))
    space = {"k2__gammas": (0.1, 0.4)}
    found = search(machine, space=space).fit(X, y)
    assert found.trace_.names == tuple(f"k2__gammas[{k}]" for k in range(4))
    assert found.best_params_["kernel"].k1.gamma == 0.3
    gammas = found.best_params_["kernel"].k2.gammas
    assert ((gammas > 0.0999) & (gammas < 0.4001)).all()
    best = int(np.argmax(found.trace_["value"]))
    assert [found.trace_[best][name] for name in found.trace_.names] == pytest.approx(gammas, rel=1e-14)
    assert found.best_value_ == pytest.approx(polarization(found.best_params_["kernel"], X, y), rel=1e-12)
    assert len(set(gammas)) > 1
    same_searches(search(machine, space={"kernel__k2__gammas": (0.1, 0.4)}).fit(X, y), found)
    # Bounds of the kernel as it was given are kept.
    assert found.best_params_["kernel"].k2.gammas_bounds == kernels.DiagonalGaussian().gammas_bounds


def test_a_space_of_kernels_of_scikit_learn() -> None:
    X, y = two_classes()
    found = search(SVC(kernel=RBF(0.8)), space={"length_scale": (0.5, 0.9)}).fit(X, y)
    assert 0.5 <= found.best_params_["kernel"].kernel.length_scale <= 0.9 * (1.0 + 1e-15)
    assert found.trace_[0]["length_scale"] == pytest.approx(0.8, rel=1e-15)
    part = search(SVC(kernel=RationalQuadratic(0.8, alpha=0.3)), space={"length_scale": (0.5, 0.9)}).fit(X, y)
    assert part.best_params_["kernel"].kernel.alpha == 0.3


def test_a_space_behind_a_pipeline() -> None:
    X, y = two_classes()
    pipeline = make_pipeline(StandardScaler(), SVC())
    found = search(pipeline, space={"svc__gamma": (0.01, 1.0), "svc__C": (0.5, 8.0)}).fit(X, y)
    assert list(found.best_params_) == ["svc__C", "svc__gamma"]
    with pytest.raises(ValueError, match=r"names 'gamma'.*'svc__C', 'svc__gamma'"):
        search(pipeline, space={"gamma": (0.01, 1.0)}).fit(X, y)


def test_a_part_of_the_parameters_has_its_part_of_the_gradient() -> None:
    X, y = two_classes()
    machine = SVC(kernel=kernels.Gaussian(gamma=0.3) + kernels.Gaussian(gamma=0.01))
    parts = [search(machine, space={name: (1e-3, 1.0)}).fit(X, y).trace_[0] for name in ("k1__gamma", "k2__gamma")]
    whole = search(machine).fit(X, y).trace_[0]
    assert parts[0]["gradient_norm"] != parts[1]["gradient_norm"]
    assert np.hypot(*(one["gradient_norm"] for one in parts)) == pytest.approx(whole["gradient_norm"])


@pytest.mark.parametrize("kernel", ["poly", kernels.Polynomial(coef0=1.0), kernels.Polynomial() + kernels.Gaussian()])
def test_a_space_of_whole_numbers(kernel: Any) -> None:
    X, y = two_classes()
    own, nested = {"coef0": 1.0, "gamma": 0.1} if kernel == "poly" else {}, isinstance(kernel, kernels.Sum)
    machine = SVC(kernel=kernel, C=2.0, **own)
    name = "k1__degree" if nested else "degree"
    found = ModelSearch(machine, objective="span", strategy="tabu", space={name: (1, 5)}).fit(X, y)
    values = {row[name]: row["value"] for row in found.trace_}
    assert sorted(values) == [1.0, 2.0, 3.0, 4.0, 5.0]
    best = min(values, key=values.__getitem__)
    chosen = found.best_estimator_.get_params()[name if kernel == "poly" else f"kernel__{name}"]
    assert (chosen, type(chosen), found.best_value_) == (best, int, values[best])
    assert found.edges_ == ({} if 1 < best < 5 else {name: "smallest" if best == 1 else "largest"})
    # Together with others, and C last; a start outside of the range is its nearest number.
    both = ModelSearch(machine, objective="span", strategy="tabu", space={"C": (1.0, 4.0), name: (4, 5)}).fit(X, y)
    assert both.trace_.names == (name, "C")
    assert set(both.trace_[name]) == {4.0, 5.0}
    assert both.trace_[name][0] == 4.0
    np.testing.assert_allclose(sorted(set(both.trace_["C"])), [1.0, 2.0**0.5, 2.0, 8.0**0.5, 4.0])
    one = both.best_estimator_
    np.testing.assert_array_equal(one.predict(X), SVC(**one.get_params(deep=False)).fit(X, y).predict(X))


def test_whole_numbers_behind_a_pipeline_and_along_a_path_of_c() -> None:
    X, y = two_classes()
    pipeline = make_pipeline(StandardScaler(), SVC(kernel="poly", coef0=1.0))
    space = {"svc__degree": (1, 4), "svc__C": (0.5, 8.0)}
    found = ModelSearch(pipeline, objective="polarization", strategy="tabu", space=space).fit(X, y)
    assert set(found.best_params_) == {"svc__degree", "svc__C", "svc__gamma", "svc__coef0"}
    assert found.best_estimator_[-1].degree == found.best_params_["svc__degree"]


@pytest.mark.parametrize(
    ("bounds", "strategy", "words"),
    [
        ((1, 3), "rprop", "strategy='rprop' takes no whole numbers, and 'degree' is one; strategy='tabu' does"),
        ((1, 3), "cma-es", "strategy='cma-es' takes no whole numbers"),
        ((1.0, 3.0), "tabu", r"space\['degree'\] must be two whole numbers, the smaller one first; got \(1.0, 3.0\)"),
        ((3, 3), "tabu", r"space\['degree'\] must be two whole numbers, the smaller one first"),
        ((0, 3), "tabu", "degree of Polynomial is 0; it must be a whole number from 1 to"),
        ((1, 2**40), "tabu", "degree of Polynomial is 1099511627776; it must be"),
    ],
)
def test_whole_numbers_that_make_no_sense(bounds: Any, strategy: str, words: str) -> None:
    X, y = two_classes()
    machine = SVC(kernel="poly", coef0=1.0)
    with pytest.raises(ValueError, match=words):
        ModelSearch(machine, objective="span", strategy=strategy, space={"degree": bounds}).fit(X, y)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"degree": (1, 2)}, "space names 'degree', which cannot be searched here; what can is 'C', 'gamma'"),
        ({"gamma": 3.0}, r"space\['gamma'\] must be two numbers above 0, the smaller one first; got 3.0"),
        ({"gamma": (1.0, 0.1)}, r"space\['gamma'\] must be two numbers"),
        ({"C": (0.0, 1.0)}, r"space\['C'\] must be two numbers above 0"),
        ({"C": (1.0, np.inf)}, r"space\['C'\] must be two numbers above 0"),
        ({"C": "ab"}, r"space\['C'\] must be two numbers above 0"),
    ],
)
def test_spaces_that_make_no_sense(space: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        search(space=space).fit(*two_classes())


def test_more_spaces_that_make_no_sense() -> None:
    X, y = two_classes()
    for space in ([("C", (1.0, 2.0))], {}):
        with pytest.raises(TypeError, match="space must be None or bounds by name"):
            search(space=space).fit(X, y)
    with pytest.raises(ValueError, match="names 'C', which cannot be searched here; what can is 'gamma'"):
        search(SVC(C=np.inf), space={"C": (1.0, 2.0)}).fit(X, y)
    with pytest.raises(ValueError, match="nothing to search"):
        search(SVC(C=np.inf, kernel="linear")).fit(X, y)


def test_hard_margins_keep_their_price() -> None:
    X, y = two_classes()
    found = search(SVC(C=np.inf, kernel=kernels.Gaussian()), objective="radius-margin", strategy="rprop").fit(X, y)
    assert list(found.best_params_) == ["kernel"]
    assert np.isinf(found.best_estimator_.C)


# What is refused before anything is computed.


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"objective": "beauty"}, ValueError, "objective must be one of .*'polarization'.*; got 'beauty'"),
        ({"objective": Polarization}, ValueError, "objective must be one of"),
        ({"strategy": "luck"}, ValueError, "strategy must be .*'rprop'.*'luck'"),
        ({"estimator": NuSVC()}, TypeError, "SVC and SVR, alone or at the end of a pipeline; got NuSVC"),
        ({"estimator": OneClassSVM()}, TypeError, "got OneClassSVM"),
        ({"estimator": Own()}, TypeError, "got Own, a subclass whose methods may be its own"),
        ({"space": {"gamma": (0.1, 1.0), "kernel__gamma": (0.1, 1.0)}}, ValueError, "'kernel__gamma' in two ways"),
        ({"estimator": SVC(C=-1.0)}, ValueError, "C must be a number above 0"),
        ({"estimator": SVC(kernel="sigmoid")}, ValueError, "kernel='sigmoid'"),
        ({"estimator": SVC(kernel="precomputed")}, ValueError, "kernel='precomputed'"),
        ({"estimator": SVC(kernel=lambda A, B: A @ B.T)}, TypeError, "is not a kernel"),
        ({"estimator": SVC(gamma=0.0)}, ValueError, "gamma of Gaussian is 0.0; it must be positive"),
        ({"objective": "radius-margin"}, ValueError, "pass loss='squared_hinge' or C=inf"),
        ({"objective": "support-vectors"}, ValueError, "needs a gradient, and objective='support-vectors' has none"),
        (
            {"objective": "likelihood", "strategy": "rprop"},
            ValueError,
            "'rprop' needs a deterministic objective, and objective='likelihood' is random",
        ),
        ({"objective": "span", "strategy": "newton"}, ValueError, "'newton' searches along one parameter"),
        ({"strategy": "newton", "space": {"gamma": (0.1, 1.0)}}, ValueError, "'newton' needs second derivatives"),
        (
            {"objective": "posterior", "strategy": "newton", "space": {"gamma": (0.1, 1.0)}},
            ValueError,
            "needs a deterministic objective",
        ),
        (
            {"objective": "cross-validation", "strategy": "newton", "space": {"gamma": (0.1, 1.0)}},
            ValueError,
            "'newton' needs a gradient",
        ),
        ({"max_time": 0.0}, ValueError, "max_time must be a number above 0"),
        ({"max_evaluations": 0.5}, ValueError, "max_evaluations must be a whole number of at least 1"),
        ({"scoring": "beauty"}, ValueError, "scoring must be .*get_scorer_names.*; got 'beauty'"),
        ({"refit": "accuracy"}, ValueError, "refit must be True or False; got 'accuracy'"),
        ({"scoring": ["accuracy"]}, ValueError, "scoring must be None, the name of a scorer or a callable"),
        ({"progress": "loud"}, ValueError, "progress must be"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be"),
        ({"cv": 1}, ValueError, "n_splits=1"),
        ({"random_state": "seven"}, ValueError, "seed"),
    ],
)
def test_refusals(how: dict[str, Any], error: type[Exception], words: str) -> None:
    how = {"estimator": SVC(), "objective": "polarization", "strategy": Downhill(), **how}
    with pytest.raises(error, match=words) as caught:
        ModelSearch(**how).fit(*two_classes())
    assert "\n" not in str(caught.value)


def test_steps_that_learn_from_labels() -> None:
    X, y = two_classes()
    pipeline = make_pipeline(SelectKBest(k=2), SVC())
    search(pipeline).fit(X, y)
    with pytest.raises(ValueError, match="Steps before the model learn from y"):
        search(pipeline, objective="span", strategy="rprop").fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        search(pipeline, objective="span", strategy="rprop").fit(np.full_like(X, np.nan), y)


def test_fit_parameters_of_nobody() -> None:
    X, y = two_classes()
    with pytest.raises(ValueError, match="no fit parameters except weights; got colour"):
        search().fit(X, y, colour=np.ones(len(y)))
