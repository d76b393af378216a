"""Tracing of functions whose source is changed first, so that asserts and annotations of variables become nodes."""

import ast
import copy
import inspect
import types

import cresset as torch

from .._symbolic_trace import Tracer
from ..annotate import annotate

__all__ = ["AST_Rewriter", "RewritingTracer"]

_HELPERS = {"__fx_assert": torch._assert, "__fx_annotate": annotate}


class AST_Rewriter(ast.NodeTransformer):  # noqa: N801  PyTorch's name
    """Changes the source of a function: `assert` calls `torch._assert`, and `x: T = value` calls `torch.fx.annotate.annotate`.

    >>> import ast
    >>> rewriter = torch.fx.experimental.rewriter.AST_Rewriter()
    >>> ast.unparse(rewriter.visit(ast.parse("assert x > 0, 'small'")))
    "__fx_assert(x > 0, 'small')"
    """

    def rewrite(self, fn):
        """The changed function; it has the globals, defaults and outer variables of the given one. Errors: OSError where there is no source."""
        source = inspect.getsource(fn)
        tree = ast.parse(f"if True:\n{source}" if source[:1].isspace() else source)  # lines of texts within keep their beginnings
        if source[:1].isspace():
            tree.body = tree.body[0].body
        (definition,) = tree.body
        definition.decorator_list = []
        outer = fn.__code__.co_freevars
        if outer:
            # A function around it gives its outer variables a place, as they have in the source.
            around = ast.parse(f"def around({', '.join(outer)}):\n    pass").body[0]
            around.body = [definition]
            tree.body = [around]
        code = compile(ast.fix_missing_locations(self.visit(tree)), inspect.getsourcefile(fn) or "<rewritten>", "exec")
        while code.co_name != fn.__name__:
            code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name in ("around", fn.__name__))
        cells = dict(zip(outer, fn.__closure__ or ()))
        made = types.FunctionType(code, {**fn.__globals__, **_HELPERS}, fn.__name__, fn.__defaults__, tuple(cells[name] for name in code.co_freevars))
        made.__kwdefaults__, made.__annotations__ = fn.__kwdefaults__, dict(fn.__annotations__)
        return made

    def visit_Assert(self, node):  # noqa: N802
        """The statement that calls `torch._assert`."""
        message = node.msg or ast.Constant("")
        return ast.copy_location(ast.Expr(_call("__fx_assert", self.visit(node.test), message)), node)

    def visit_AnnAssign(self, node):  # noqa: N802
        """The assignment of the annotated value. A declaration without a value stays."""
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign([node.target], _call("__fx_annotate", self.visit(node.value), node.annotation)), node)


def _call(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


class RewritingTracer(Tracer):
    """A tracer that changes the source of functions, and of the `forward` of modules that are no leaves, by AST_Rewriter.

    >>> def positive(x):
    ...     assert x > 0
    ...     return x
    >>> issubclass(torch.fx.experimental.rewriter.RewritingTracer, torch.fx.Tracer)
    True
    """

    def trace(self, root, concrete_args=None):
        """The graph of a function or module."""
        return super().trace(self._rewritten(root, "") if isinstance(root, torch.nn.Module) else AST_Rewriter().rewrite(root), concrete_args)

    def _rewritten(self, module, path):
        """A module with the parameters of another, of a class with another forward."""
        made = copy.copy(module)
        children = {name: (child, f"{path}.{name}".lstrip(".")) for name, child in module.named_children()}
        made._modules = {**module._modules, **{n: c if self.is_leaf_module(c, p) else self._rewritten(c, p) for n, (c, p) in children.items()}}
        forward = type(module).forward
        if isinstance(forward, types.FunctionType) and not forward.__module__.startswith("cresset."):
            cls = type(module)
            made.__class__ = type(cls.__name__, (cls,), {"forward": AST_Rewriter().rewrite(forward), "__module__": cls.__module__})
        return made


def _rewrite(fn):
    """A function or module whose source is changed."""
    return RewritingTracer()._rewritten(fn, "") if isinstance(fn, torch.nn.Module) else AST_Rewriter().rewrite(fn)
