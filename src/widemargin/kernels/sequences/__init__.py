"""Kernels of sequences of letters, such as DNA: their alphabets, how texts become oligomers, and the kernels.

Imports the compiled core, ``runtime``, and the kernel objects beside it.
"""

from widemargin.kernels.sequences.base import SequenceKernel, letters_left_out
from widemargin.kernels.sequences.combined import CombinedOligo, WeightedOligo
from widemargin.kernels.sequences.oligo import Oligo, OligoKernel
from widemargin.kernels.sequences.spectrum import CountingKernel, Gapped, Spectrum
from widemargin.kernels.sequences.strands import BothStrands
from widemargin.kernels.sequences.texts import Sequences
from widemargin.kernels.sequences.triplet import TripletOligo

__all__ = [
    "BothStrands",
    "CombinedOligo",
    "CountingKernel",
    "Gapped",
    "Oligo",
    "OligoKernel",
    "SequenceKernel",
    "Sequences",
    "Spectrum",
    "TripletOligo",
    "WeightedOligo",
    "letters_left_out",
]
