"""Other people's code on top of widemargin: scikit-learn's own tests, and packages that use support vector machines.

``python -m benchmarks.outside`` runs both and ends with status 1 if anything differs that is not listed with a reason.
"""
