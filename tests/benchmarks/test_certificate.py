import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, OneClassSVM

from benchmarks.peers import certificate
from benchmarks.peers.certificate import (
    Machine,
    certify,
    certify_one_class,
    certify_regression,
    kernel_error,
    pair_problems,
    spread,
)
from benchmarks.peers.peers import EstimatorPeer

C, GAMMA = 2.0, 0.3


def blobs(centers):
    return make_blobs(n_samples=90, centers=centers, cluster_std=4.0, random_state=3)


def machine_of(model):
    return Machine(model.support_.astype(np.intp), model.dual_coef_, model.classes_)


def naive_certificate(X, y, alpha):
    """Objective and violation of one pair, straight from the definition."""
    K = rbf_kernel(X, gamma=GAMMA)
    gradient = y - K @ alpha
    up = [g for g, a, label in zip(gradient, alpha, y, strict=True) if a < max(0, label * C)]
    down = [g for g, a, label in zip(gradient, alpha, y, strict=True) if a > min(0, label * C)]
    return y @ alpha - alpha @ K @ alpha / 2, max(up) - min(down)


@pytest.mark.parametrize("block_bytes", [8, 2**12, certificate.BLOCK_BYTES])
def test_two_classes_agree_with_the_definition(block_bytes, monkeypatch):
    monkeypatch.setattr(certificate, "BLOCK_BYTES", block_bytes)
    X, y = blobs(2)
    model = SVC(C=C, gamma=GAMMA, tol=0.1).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    objective, violation = naive_certificate(X, np.where(y == 1, 1.0, -1.0), alpha)
    found = certify(machine_of(model), X, y, C=C, gamma=GAMMA)
    assert found.objective == pytest.approx(objective, rel=1e-12)
    assert found.violation == pytest.approx(violation, rel=1e-9)
    assert 1e-3 < found.violation <= 0.11
    assert found.imbalance < 1e-12
    assert found.n_support == len(model.support_)


@pytest.mark.parametrize("centers", [2, 3])
def test_linear_kernels_agree_with_scikit_learn_on_their_kernel_matrix(centers):
    X, y = blobs(centers)
    model = SVC(C=C, kernel="linear").fit(X, y)
    found = certify(machine_of(model), X, y, C=C, gamma=GAMMA, kernel="linear")
    assert found.violation < 1.1e-3
    assert certify(machine_of(model), X, y, C=C, gamma=GAMMA).violation > 0.1
    if centers == 2:
        alpha = model.dual_coef_[0]
        vectors = X[model.support_]
        assert found.objective == pytest.approx(np.abs(alpha).sum() - np.square(alpha @ vectors).sum() / 2, rel=1e-9)


def test_pairs_of_classes_agree_with_separate_machines():
    X, y = blobs(4)
    found = certify(machine_of(SVC(C=C, gamma=GAMMA).fit(X, y)), X, y, C=C, gamma=GAMMA)
    objectives, violations = [], []
    for first in range(4):
        for second in range(first + 1, 4):
            rows = (y == first) | (y == second)
            pair = SVC(C=C, gamma=GAMMA).fit(X[rows], y[rows])
            certified = certify(machine_of(pair), X[rows], y[rows], C=C, gamma=GAMMA)
            objectives.append(certified.objective)
            violations.append(certified.violation)
    assert found.objective == pytest.approx(sum(objectives), rel=1e-5)
    assert found.violation == pytest.approx(max(violations), abs=1e-4)


@pytest.mark.parametrize("centers", [2, 3])
def test_order_of_classes_and_of_support_vectors_does_not_matter(centers):
    X, y = blobs(centers)
    machine = machine_of(SVC(C=C, gamma=GAMMA).fit(X, y))
    order = np.random.default_rng(0).permutation(len(machine.support))
    mixed = Machine(machine.support[order], machine.coef[:, order], machine.classes)
    expected = certify(machine, X, y, C=C, gamma=GAMMA)
    assert certify(mixed, X, y, C=C, gamma=GAMMA).objective == pytest.approx(expected.objective, rel=1e-12)
    if centers == 2:
        flipped = Machine(machine.support, -machine.coef, machine.classes[::-1])
        assert certify(flipped, X, y, C=C, gamma=GAMMA).violation == pytest.approx(expected.violation, rel=1e-9)


def test_a_spoilt_machine_is_found_out():
    X, y = blobs(2)
    machine = machine_of(SVC(C=C, gamma=GAMMA).fit(X, y))
    honest = certify(machine, X, y, C=C, gamma=GAMMA)
    halved = certify(Machine(machine.support, machine.coef / 2, machine.classes), X, y, C=C, gamma=GAMMA)
    assert halved.violation > 100 * honest.violation
    assert halved.objective < honest.objective


def test_float32_coefficients_at_their_bound_count_as_bounded():
    X, y = blobs(2)
    machine = machine_of(SVC(C=C, gamma=GAMMA).fit(X, y))
    coef = machine.coef.astype(np.float32)
    bounded = np.abs(coef) >= C
    assert bounded.any()
    coef[bounded] *= np.float32(1 - 2**-23)
    rounded = Machine(machine.support, coef, machine.classes)
    assert certify(rounded, X, y, C=C, gamma=GAMMA).violation < 2e-3
    as_if_double = Machine(machine.support, coef.astype(np.float64), machine.classes)
    assert certify(as_if_double, X, y, C=C, gamma=GAMMA).violation > 0.1


def test_squared_slack_is_a_hard_margin_with_a_ridge():
    X, y = blobs(2)
    K = rbf_kernel(X, gamma=GAMMA) + np.eye(len(y)) / (2 * C)
    model = SVC(kernel="precomputed", C=1e9, tol=1e-6).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    labels = np.where(y == 1, 1.0, -1.0)
    found = certify(machine_of(model), X, y, C=np.inf, gamma=GAMMA, ridge=1 / (2 * C))
    assert found.objective == pytest.approx(labels @ alpha - alpha @ K @ alpha / 2, rel=1e-12)
    assert found.violation < 1e-5
    assert certify(machine_of(model), X, y, C=np.inf, gamma=GAMMA).violation > 0.1


def test_regression_agrees_with_the_definition():
    X, _ = blobs(2)
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    model = SVR(C=C, gamma=GAMMA, epsilon=0.2, tol=0.05).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    K = rbf_kernel(X, gamma=GAMMA)
    slope = y - K @ beta
    up = [*(slope - 0.2)[(beta >= 0) & (beta < C)], *(slope + 0.2)[beta < 0]]
    down = [*(slope - 0.2)[beta > 0], *(slope + 0.2)[(beta <= 0) & (beta > -C)]]
    machine = Machine(model.support_.astype(np.intp), model.dual_coef_)
    found = certify_regression(machine, X, y, C=C, epsilon=0.2, gamma=GAMMA)
    assert found.objective == pytest.approx(y @ beta - 0.2 * np.abs(beta).sum() - beta @ K @ beta / 2, rel=1e-12)
    assert found.violation == pytest.approx(max(up) - min(down), rel=1e-9)
    assert 1e-3 < found.violation < 0.06
    assert found.imbalance < 1e-12
    halved = Machine(machine.support, machine.coef / 2)
    assert certify_regression(halved, X, y, C=C, epsilon=0.2, gamma=GAMMA).objective < found.objective


@pytest.mark.parametrize("is_ball", [False, True])
def test_one_class_machines_and_balls_share_their_objective(is_ball):
    X, _ = blobs(2)
    nu = 0.3
    model = OneClassSVM(nu=nu, gamma=GAMMA, tol=0.01).fit(X)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    total = nu * len(X)
    similarity = rbf_kernel(X, gamma=GAMMA) @ alpha
    violation = similarity[alpha > 0].max() - similarity[alpha < 1].min()
    machine = Machine(model.support_.astype(np.intp), model.dual_coef_ / (total if is_ball else 1))
    found = certify_one_class(machine, X, nu=nu, gamma=GAMMA, is_ball=is_ball)
    assert found.objective == pytest.approx(-alpha @ similarity / 2 / total**2, rel=1e-12)
    unit = 2 / (total * spread(X, GAMMA)) if is_ball else 1
    assert violation > 1e-4
    assert found.violation == pytest.approx(violation * unit, rel=1e-6)
    assert found.imbalance < 1e-12


def test_spread_is_the_mean_squared_distance_from_the_mean():
    X, _ = blobs(2)
    assert spread(X, GAMMA) == pytest.approx(1 - rbf_kernel(X, gamma=GAMMA).mean(), rel=1e-12)
    assert spread(np.repeat(X, 20, axis=0), GAMMA, n_rows=450) == pytest.approx(spread(X, GAMMA), rel=0.05)


def test_a_machine_without_classes_has_no_pairs():
    machine = Machine(np.array([0]), np.array([[1.0]]))
    with pytest.raises(ValueError, match="no classes; expected a classifier"):
        list(pair_problems(machine, np.array([0, 1])))


def test_mixed_signs_are_refused():
    X, y = blobs(2)
    machine = machine_of(SVC(C=C, gamma=GAMMA).fit(X, y))
    coef = machine.coef.copy()
    coef[0, 0] *= -1e-3
    with pytest.raises(ValueError, match="classes 0 and 1 have mixed signs"):
        list(pair_problems(Machine(machine.support, coef, machine.classes), y))


def test_kernel_error_sees_a_wrong_entry():
    X = np.random.default_rng(0).normal(size=(40, 3))
    matrix = rbf_kernel(X, gamma=GAMMA)
    assert kernel_error(matrix, X, GAMMA) < 1e-14
    matrix[7, 11] += 1e-3
    assert kernel_error(matrix, X, GAMMA) == pytest.approx(1e-3, rel=1e-6)


def test_libsvm_and_scikit_learn_give_the_same_certificate():
    pytest.importorskip("libsvm", reason="libsvm-official is not installed")
    from benchmarks.peers.peers import PEERS, Settings

    X, y = blobs(3)
    y = y[::-1].copy()  # LIBSVM numbers classes by first appearance
    settings = Settings({"C": C}, GAMMA, 1e-3, 1, 200)
    found = {}
    for name in ("sklearn", "libsvm"):
        peer = PEERS[name]
        machine = peer.machine(peer.fit(peer.prepare(X), y, settings))
        found[name] = certify(machine, X, y, C=C, gamma=GAMMA)
    assert isinstance(PEERS["sklearn"], EstimatorPeer)
    assert found["libsvm"].objective == pytest.approx(found["sklearn"].objective, rel=1e-6)
    assert found["libsvm"].violation < 2e-3
