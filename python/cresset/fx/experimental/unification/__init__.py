"""Unification: values for variables that make two terms equal."""

from .core import reify, unify
from .more import unifiable
from .variable import Var, isvar, var, variables, vars

__all__ = ["Var", "var", "vars", "variables", "isvar", "unify", "reify", "unifiable"]
