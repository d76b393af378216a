"""Calls that must be refused, on tensors with and without data, for each row."""

CALLS = {}
