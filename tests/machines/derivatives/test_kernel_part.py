"""A part of the kernel matrix is enough where no more is needed."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.machines.derivatives import PairProblem, Sensitivity, train

from .settings import HELD, N, setting, trained


@pytest.mark.parametrize("squared", [False, True])
def test_a_part_of_the_kernel_is_enough(squared):
    X, y, kernel, C, generator = setting(4)
    K, single = kernel(X), kernel(X).astype(np.float32)
    machine = train(single, PairProblem(y, np.full(N, C), squared).held_out(HELD))
    whole = Sensitivity(K, machine, single)
    part = Sensitivity(lambda rows, columns: K[np.ix_(rows, columns)], machine, single, rows=HELD)
    np.testing.assert_allclose(part.machine.values[HELD], whole.machine.values[HELD], rtol=1e-12)
    of_values = np.zeros(N)
    of_values[HELD] = generator.normal(size=len(HELD))
    np.testing.assert_allclose(part.adjoint(of_values).left, whole.adjoint(of_values).left, atol=1e-12)
    assert part.adjoint(of_values).c_slope == pytest.approx(whole.adjoint(of_values).c_slope)
    with pytest.raises(ValueError, match="no row in the kernel"):
        part.adjoint(np.ones(N))


@pytest.mark.parametrize("C", [1e-3, 5.0])
def test_some_rows_suffice(C):
    X, y, kernel, _, generator = setting(1)
    whole = trained(X, y, kernel, C, False, True)
    machine = train(kernel(X).astype(np.float32), whole.machine.problem)
    asked = []

    def evaluate(rows, columns):
        asked.append((len(rows), len(columns)))
        return kernel(X[rows], X[columns])

    some = Sensitivity(evaluate, machine, kernel(X).astype(np.float32), rows=HELD)
    np.testing.assert_allclose(some.machine.values[HELD], whole.machine.values[HELD], atol=1e-12)
    of_values = np.zeros(N)
    of_values[HELD] = generator.normal(size=len(HELD))
    one, other = some.adjoint(of_values), whole.adjoint(of_values)
    np.testing.assert_allclose(one.left, other.left, atol=1e-12)
    assert one.c_slope == pytest.approx(other.c_slope, rel=1e-9)
    assert len(asked) == 1
    assert asked[0][0] <= len(HELD) + 2 + len(some.free)
    assert asked[0][1] == len(machine.support)
