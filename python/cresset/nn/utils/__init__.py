"""Utilities around modules and their parameters."""
