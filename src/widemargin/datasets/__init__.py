"""Data: generators whose Bayes error is known, readers of common text formats, and the folder of benchmark sets.

Stands alone: imports nothing of the package.
"""

from widemargin.datasets.bayes import bayes_error
from widemargin.datasets.breiman import ringnorm, twonorm, waveform
from widemargin.datasets.fasta import Sequences, read_fasta
from widemargin.datasets.genbank import GenBankRecord, read_genbank
from widemargin.datasets.glasmachers import chess_board, noisy_chess_board, sparse_coordinates
from widemargin.datasets.initiation_sites import InitiationSites, translation_initiation_sites
from widemargin.datasets.libsvm_file import read_libsvm
from widemargin.datasets.npz_folder import data_folder, load_npz
from widemargin.datasets.tables import (
    Features,
    Table,
    TableError,
    read_csv,
    read_features,
    read_sequences,
    read_table,
)

__all__ = [
    "Features",
    "GenBankRecord",
    "InitiationSites",
    "Sequences",
    "Table",
    "TableError",
    "bayes_error",
    "chess_board",
    "data_folder",
    "load_npz",
    "noisy_chess_board",
    "read_csv",
    "read_fasta",
    "read_features",
    "read_genbank",
    "read_libsvm",
    "read_sequences",
    "read_table",
    "ringnorm",
    "sparse_coordinates",
    "translation_initiation_sites",
    "twonorm",
    "waveform",
]
