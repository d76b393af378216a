"""Helpers for the tests of libraries."""
