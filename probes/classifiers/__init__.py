"""Classifiers and their solver: features and labels in, weights or predictions out; no file is read or written."""
