"""Models in files that hold numbers and names only.

Imports from ``estimators`` and what lies below them; loading a file never runs code from it.
"""

from widemargin.persistence.model_file import ModelFileError, SavedModel, load_model, open_model, save_model

__all__ = ["ModelFileError", "SavedModel", "load_model", "open_model", "save_model"]
