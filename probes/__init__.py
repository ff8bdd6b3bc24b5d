"""Classifiers on frozen encoder states, with their baselines."""
