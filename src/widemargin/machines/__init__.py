"""Machines: each builds dual problems and reads their solutions back."""
