"""How a trained machine changes: with its kernel, with C, and when one of its samples is left out.

Imports the other machines and what lies below them; none of these imports it.
"""

from widemargin.machines.derivatives.free_system import FreeSystem
from widemargin.machines.derivatives.kernel_part import Evaluate, KernelPart
from widemargin.machines.derivatives.leave_one_out import LeftOut, leave_one_out
from widemargin.machines.derivatives.sensitivity import Adjoint, Machine, PairProblem, Sensitivity, train

__all__ = [
    "Adjoint",
    "Evaluate",
    "FreeSystem",
    "KernelPart",
    "LeftOut",
    "Machine",
    "PairProblem",
    "Sensitivity",
    "leave_one_out",
    "train",
]
