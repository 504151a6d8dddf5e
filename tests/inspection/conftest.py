"""Decision values of four rows, two of them on the wrong side."""

import numpy as np
import pytest

from widemargin.inspection import DecisionValues


@pytest.fixture(name="values")
def decision_values() -> DecisionValues:
    return DecisionValues(
        title="four rows",
        values=np.array([-2.0, 0.5, -0.5, 2.0]),
        spread=np.arange(4.0),
        spread_name="row",
        positive=np.array([False, False, True, True]),
        class_names=("no", "yes"),
    )
