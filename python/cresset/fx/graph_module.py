"""GraphModule, a module whose `forward` is the code of a graph.

>>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
>>> print(traced.code.strip())
def forward(self, x):
    add = x + 1;  x = None
    return add
"""

import contextlib
import copy
import itertools
import linecache
import os
import pathlib
import sys
import traceback
import warnings

import cresset as torch
from cresset import nn

from ._compatibility import compatibility
from .graph import Graph, _BoxedCodeGen, _custom_builtins, _is_from_torch, _PyTreeCodeGen


__all__ = ["reduce_graph_module", "GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _EvalCacheLoader:
    """The source of generated code, for tracebacks and debuggers."""

    def __init__(self):
        self.eval_cache, self.next_id = {}, itertools.count()

    def cache(self, src, globals_, co_fields=None):
        """Keeps a source and returns the name of its file."""
        key = f"<eval_with_key>.{next(self.next_id)}"
        if co_fields:
            key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
        self.eval_cache[key] = src
        globals_["__loader__"], globals_["__name__"] = self, key
        linecache.lazycache(key, globals_)
        return key

    def get_source(self, module_name):
        """The source of a file that `cache` has named; None for others."""
        return self.eval_cache.get(module_name)


_loader = _EvalCacheLoader()


def _exec_with_source(src, globals_, co_fields=None):
    key = _loader.cache(src, globals_, co_fields)
    exec(compile(src, key, "exec", dont_inherit=True), globals_)


def _forward_from_src(src, globals_, co_fields=None):
    return _method_from_src("forward", src, globals_, co_fields)


def _method_from_src(method_name, src, globals_, co_fields=None):
    space = dict(globals_)
    _exec_with_source(src, space, co_fields)
    return space.pop(method_name)


def _format_import_statement(name, obj):
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if _is_from_torch(obj) and name == "torch":
        return "import cresset as torch"
    module, title = obj.__module__, obj.__qualname__ if hasattr(obj, "__qualname__") else obj.__name__
    return f"from {module} import {title} as {name}" if "." not in title else f"import {module}; {name} = {module}.{title}"


def _format_import_block(globals_):
    return "\n".join(sorted({_format_import_statement(name, obj) for name, obj in globals_.items() if not isinstance(obj, type(...))}))


class _Forward:
    """The `forward` of a class, compiled when it is asked for: most graphs are changed and compiled again before they run."""

    def __init__(self, made, co_fields):
        self.made, self.co_fields = made, co_fields

    def __get__(self, instance, owner):
        function = _forward_from_src(self.made.src, self.made.globals, self.co_fields)
        for cls in owner.__mro__:
            if cls.__dict__.get("forward") is self:
                cls.forward = function
        return function if instance is None else function.__get__(instance, owner)


# ---- attributes by path ---------------------------------------------------------------------------------------------------


def _get_attr(model, attr_name):
    """The attribute of a module at a path."""
    for part in attr_name.split("."):
        model = getattr(model, part)
    return model


def _has_attr(model, attr_name):
    """Whether a module has an attribute at a path."""
    for part in attr_name.split("."):
        if not hasattr(model, part):
            return False
        model = getattr(model, part)
    return True


def _del_attr(model, attr_name):
    """Delete the attribute of a module at a path."""
    *prefix, last = attr_name.split(".")
    delattr(_get_attr(model, ".".join(prefix)) if prefix else model, last)


def _holder(module, prefix):
    """The module at a path, made with those on the way where they are not there."""
    for part in prefix:
        child = getattr(module, part, None)
        if child is None:
            child = nn.Module()
            setattr(module, part, child)
        module = child
    return module


def _copy_attr(from_module, to_module, target):
    """Give a module the attribute that another has at a path; what it has there already stays, as do attributes that are not there."""
    *prefix, field = target.split(".")
    for part in prefix:
        below = getattr(from_module, part, None)
        if below is None:
            return
        present = getattr(to_module, part, None)
        if present is below:
            return
        if present is None:
            present = nn.Module()
            setattr(to_module, part, present)
        from_module, to_module = below, present
    original = getattr(from_module, field)
    if isinstance(original, torch.Tensor) and not isinstance(original, nn.Parameter):
        persistent = field not in getattr(from_module, "_non_persistent_buffers_set", ())
        to_module.register_buffer(field, original, persistent=persistent)
    else:
        setattr(to_module, field, original)


def _assign_attr(from_obj, to_module, target):
    """Give a module an object as its attribute at a path; tensors become buffers."""
    *prefix, field = target.split(".")
    holder = _holder(to_module, prefix)
    if isinstance(from_obj, torch.Tensor) and not isinstance(from_obj, nn.Parameter):
        holder.register_buffer(field, from_obj)
    else:
        setattr(holder, field, from_obj)


# ---- pickling ---------------------------------------------------------------------------------------------------------------


@compatibility(is_backward_compatible=True)
def reduce_graph_module(body, steps):
    """The GraphModule of a pickle, of its attributes and its nodes as data. A pickle holds no code: it is written anew from the nodes.

    Errors: pickle.UnpicklingError for nodes that no graph can have.

    >>> function, (body, steps) = torch.fx.symbolic_trace(lambda x: x + 1).__reduce__()
    >>> torch.fx.graph_module.reduce_graph_module(body, steps)(1)
    2
    """
    from ._records import graph_of

    graph = graph_of(steps)
    made = GraphModule.__new__(GraphModule)
    nn.Module.__init__(made)
    made.__dict__.update(body)
    for hooks in _HOOKS:
        made.__dict__[hooks] = []
    made.__class__.__name__ = "GraphModule"
    made.graph = graph
    return made


# ---- the module -------------------------------------------------------------------------------------------------------------


class _WrappedCall:
    """Calls a GraphModule and tells, when its code fails, on which line."""

    def __init__(self, cls, cls_call):
        self.cls, self.cls_call = cls, cls_call

    @staticmethod
    def _generate_error_message(frame_summary):
        line = frame_summary.lineno
        source = linecache.getlines(frame_summary.filename)
        before, here = "".join(source[max(0, line - 4) : line]), len(source[line - 1]) if 0 < line <= len(source) else 1
        return "\n".join(
            [
                f"\nCall using an FX-traced Module, line {line} of the traced Module's generated forward function:",
                before,
                "~" * here + " <--- HERE",
                "".join(source[line : line + 2]),
            ]
        )

    def __call__(self, obj, *args, **kwargs):
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)
        except Exception as error:
            frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), limit=None, lookup_lines=False)
            if frames and "eval_with_key" in frames[-1].filename:
                print(_WrappedCall._generate_error_message(frames[-1]), file=sys.stderr)
            raise


_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")


@compatibility(is_backward_compatible=True)
class GraphModule(nn.Module):
    """A module with a `graph`, and with the code of that graph as its `forward`.

    Args:
        root: a module, or a dictionary of paths and values, from which come the modules, parameters and other attributes that the graph names.
        graph: the graph; after a change of its nodes call `recompile`.
        class_name: the name of the class in texts.

    Errors: RuntimeError for another root, and for a dictionary that lacks what the graph names.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_method("neg", (x,)))
    >>> torch.fx.GraphModule({}, graph)(torch.ones(1))
    tensor([-1.])
    """

    def __new__(cls, *args, **kwargs):
        # Each has a class of its own, to hold its forward.
        for base in cls.__mro__:
            if "GraphModuleImpl" not in base.__qualname__:
                cls = base
                break

        class GraphModuleImpl(cls):
            pass

        return super().__new__(GraphModuleImpl)

    @compatibility(is_backward_compatible=True)
    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, nn.Module):
            self._take_from_module(root, graph)
        elif isinstance(root, dict):
            self._take_from_dict(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {type(root)} passed for root of a GraphModule: expected a Module or a dict")
        self.graph = graph
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta = {}
        self.shape_env = None
        for hooks in _HOOKS:
            self.__dict__[hooks] = []

    def _take_from_module(self, root, graph):
        if hasattr(root, "training"):
            self.training = root.training
        for target in {n.target: None for n in graph.nodes if n.op in ("get_attr", "call_module")}:
            _copy_attr(root, self, target)

    def _take_from_dict(self, root, graph):
        targets = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in ``root``!")
                targets.append(node.target)
        for target in sorted(targets, key=lambda t: t.count(".")):
            _assign_attr(root[target], self, target)

    __jit_unused_properties__ = ["graph"]

    @property
    def graph(self):
        """The graph. A new one that is assigned is compiled."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The code of the graph as text. Errors: RuntimeError where there is none yet."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    @compatibility(is_backward_compatible=True)
    def recompile(self):
        """Make `code` and `forward` anew from the graph; returns the `PythonCode`. Call it after nodes have been changed."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info is not None:
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        made = self._graph.python_code(root_module="self")
        self._code, self._lineno_map, self._prologue_start = made.src, made._lineno_map, made._prologue_start
        cls = type(self)
        cls.forward = _Forward(made, self._graph._co_fields)
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, cls.__dict__.get("__call__"))

            def call_wrapped(self, *args, **kwargs):
                return self._wrapped_call(self, *args, **kwargs)

            cls.__call__ = call_wrapped
        return made

    def _recompile_submodules(self):
        return [(name, module.recompile()) for name, module in self.named_modules() if isinstance(module, GraphModule)]

    def _boxed_call(self, args_list):
        if not isinstance(self._graph._codegen, _BoxedCodeGen):
            raise AssertionError("_boxed_call: the graph's code takes no list of arguments")
        return type(self).forward(self, args_list)

    # ---- submodules -------------------------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=False)
    def add_submodule(self, target, m):
        """Add a module at a path, with empty modules on the way; returns whether it could be added, which other attributes on the way prevent."""
        *prefix, field = target.split(".")
        module = self
        for part in prefix:
            child = getattr(module, part, None)
            if child is None:
                child = nn.Module()
                setattr(module, part, child)
            if not isinstance(child, nn.Module):
                return False
            module = child
        module.add_module(field, m)
        return True

    @compatibility(is_backward_compatible=False)
    def delete_submodule(self, target):
        """Delete the module at a path; returns whether there was one."""
        *prefix, field = target.split(".")
        module = self
        for part in prefix:
            if not hasattr(module, part) or not isinstance(getattr(module, part), nn.Module):
                return False
            module = getattr(module, part)
        if not hasattr(module, field) or not isinstance(getattr(module, field), nn.Module):
            return False
        delattr(module, field)
        return True

    @compatibility(is_backward_compatible=False)
    def delete_all_unused_submodules(self):
        """Delete the modules that no node calls or takes an attribute of."""
        used = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")
            used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
            if node.op == "call_module":
                try:
                    called = self.get_submodule(node.target)
                except AttributeError:
                    continue
                used.update(f"{node.target}.{name}" for name, _ in called.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- text and files -----------------------------------------------------------------------------------------------------

    def __str__(self):
        return "\n".join([super().__repr__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"])

    @compatibility(is_backward_compatible=False)
    def print_readable(
        self, print_output=True, include_stride=False, include_device=False, colored=False, *, fast_sympy_print=False, expanded_def=False, additional_meta=None
    ):
        """Print the code with the lines of the program that it comes from, and return it.

        Args:
            print_output: print it, or only return it.
            include_stride, include_device: tell strides and devices of tensors that `meta` knows.
            colored: with colours for terminals.
            expanded_def: a line for each parameter.
            additional_meta: names of entries of `meta` that comments are to tell.
        """
        text = _print_readable(self, self._get_name(), include_stride, include_device, colored, expanded_def, additional_meta)
        if print_output:
            print(text)
        return text

    @compatibility(is_backward_compatible=False)
    def to_folder(self, folder, module_name="FxModule"):
        """Write the module as Python code, with its state, into a folder that can be imported.

        Args:
            folder: a path, which is made where it is not there.
            module_name: the name of the class.
        """
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        lines = [
            "import cresset as torch",
            "from cresset.nn import *",
            "",
            "",
            f"class {module_name}(torch.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
        ]
        plain = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
        blobs = []
        for name, module in self.named_children():
            if type(module) in plain:
                lines.append(f"        self.{name} = {module!r}")
                continue
            file = folder / f"{name}.pt"
            torch.save(module, file)
            blobs.append(name)
            lines.append(f"        self.{name} = torch.load({os.fspath(file)!r}, weights_only=False)  # {type(module).__name__}")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                lines.append(f"        self.register_buffer({name!r}, torch.empty({list(buffer.shape)}, dtype={str(buffer.dtype)}))")
        for name, parameter in self._parameters.items():
            if parameter is not None:
                lines.append(f"        self.{name} = torch.nn.Parameter(torch.empty({list(parameter.shape)}, dtype={str(parameter.dtype)}))")
        lines.append(f"        self.load_state_dict(torch.load({os.fspath(folder / 'state_dict.pt')!r}))")
        made = self._graph.python_code(root_module="self")
        body = "\n".join("    " + line if line.strip() else "" for line in made.src.strip("\n").split("\n"))
        imports = "\n".join(line for line in _format_import_block(made.globals).split("\n") if line)
        (folder / "module.py").write_text(imports + "\n" + "\n".join(lines) + "\n\n" + body.rstrip() + "\n")
        (folder / "__init__.py").write_text("from .module import *\n")
        if blobs:
            warnings.warn(f"to_folder: the following modules were saved as pickles, since their text does not tell how to make them: {blobs}", stacklevel=2)

    # ---- copies ---------------------------------------------------------------------------------------------------------------

    def __reduce__(self):
        from ._records import steps_of

        left_out = ("_graph", "_code", "_lineno_map", "_prologue_start", "_in_spec", "_out_spec", *_HOOKS)
        body = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return reduce_graph_module, (body, steps_of(self._graph))

    def _deepcopy_init(self):
        return GraphModule.__init__

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        hooks = {name: self.__dict__.get(name, []) for name in _HOOKS}
        left_out = (*_HOOKS, "_graph")
        # The graph first, whose memo says which nodes became which.
        graph = copy.deepcopy(self._graph, memo)
        body = {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items() if name not in left_out}
        made.__dict__.update(body)
        made.__class__.__name__ = type(self).__name__
        for name, value in hooks.items():
            made.__dict__[name] = list(value)
        made.graph = graph
        for hook in made._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self):
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    # ---- hooks ------------------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _set_replace_hook(self, f):
        """Call a function with (old, new, user) whenever a node replaces another, within a `with` block."""
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _add_hook(self, hooks, f):
        if not callable(f):
            raise AssertionError(f"{hooks}: expected a function, got {type(f).__name__}")
        self.__dict__[hooks].append(f)

    def _register_replace_node_hook(self, f):
        self._add_hook("_replace_hooks", f)

    def _unregister_replace_node_hook(self, f):
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f):
        self._add_hook("_create_node_hooks", f)

    def _unregister_create_node_hook(self, f):
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f):
        self._add_hook("_erase_node_hooks", f)

    def _unregister_erase_node_hook(self, f):
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f):
        self._add_hook("_deepcopy_hooks", f)

    def _unregister_deepcopy_hook(self, f):
        self._deepcopy_hooks.remove(f)


def _print_readable(module, module_name, include_stride=False, include_device=False, colored=False, expanded_def=False, additional_meta=None):
    """The readable code of a module and of the graph modules within it."""
    graph = module.graph
    if not isinstance(graph, Graph):
        raise AssertionError("print_readable must be used on a module with a graph")
    source = graph.python_code(
        "self", verbose=True, include_stride=include_stride, include_device=include_device, colored=colored, expanded_def=expanded_def,
        additional_meta=additional_meta,
    ).src.lstrip("\n")  # fmt: skip
    text = f"class {module_name}(torch.nn.Module):\n" + "\n".join("    " + line if line.strip() else "" for line in source.rstrip(" ").split("\n"))
    inner = [
        _print_readable(child, name, include_stride, include_device, colored)
        for name, child in module.named_children()
        if hasattr(child, "graph") and isinstance(child.graph, Graph)
    ]
    for part in inner:
        text += "\n" + "\n".join("    " + line if line.strip() else "" for line in part.split("\n"))
    return text
