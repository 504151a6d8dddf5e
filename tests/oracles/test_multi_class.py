"""The votes against scikit-learn's."""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from oracles.multi_class import predict_one_versus_one, vote_one_versus_one
from widemargin.testing import many_class_points


def test_votes_agree_with_scikit_learn() -> None:
    X, y = many_class_points(5, 20)
    model = SVC(gamma=0.5, decision_function_shape="ovo").fit(X, y)
    values = model.decision_function(X)
    assert np.array_equal(predict_one_versus_one(values, 5, break_ties=False), model.predict(X))
    votes, confidences = vote_one_versus_one(values, 5)
    # scikit-learn squeezes the confidences into less than half a vote and adds them.
    combined = model.set_params(decision_function_shape="ovr").decision_function(X)
    np.testing.assert_allclose(combined, votes + confidences / (3 * (np.abs(confidences) + 1)), rtol=1e-10)
    assert np.array_equal(predict_one_versus_one(values, 5), combined.argmax(axis=1))
