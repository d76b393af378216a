"""GraphModule, a module whose `forward` is the code of a graph.

>>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
>>> print(traced.code.strip())
def forward(self, x):
    add = x + 1;  x = None
    return add
"""

import contextlib
import copy
import functools
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
from ._paths import _assign_attr, _copy_attr, _del_attr, _get_attr, _has_attr, below  # noqa: F401  names of this module in PyTorch
from .graph import Graph, _BoxedCodeGen, _custom_builtins, _is_from_torch, _PyTreeCodeGen

__all__ = ["reduce_graph_module", "GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # of `meta`, for exporters; copies keep all attributes


class _EvalCacheLoader:
    """The source of generated code, for tracebacks and debuggers."""

    def __init__(self):
        self.eval_cache, self.next_id = {}, itertools.count()

    def cache(self, src, globals_, co_fields=None):
        """Keeps a source and returns the name of its file."""
        origin = " from {co_filename}:{co_firstlineno} in {co_name}".format_map(co_fields) if co_fields else ""
        key = f"<eval_with_key>.{next(self.next_id)}{origin}"
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
    if (known := _custom_builtins.get(name)) is not None:
        return known.import_str
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
                f"\nline {line} of the generated forward function of a traced module failed:",
                before,
                "~" * here + " <--- HERE",
                "".join(source[line : line + 2]),
            ]
        )

    def __call__(self, obj, *args, **kwargs):
        try:
            call = functools.partial(self.cls_call, obj) if self.cls_call else super(self.cls, obj).__call__
            return call(*args, **kwargs)
        except Exception as error:
            frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), limit=None, lookup_lines=False)
            if frames and "eval_with_key" in frames[-1].filename:
                print(_WrappedCall._generate_error_message(frames[-1]), file=sys.stderr)
            raise


_EVENTS = {"replace_node": "_replace_hooks", "create_node": "_create_node_hooks", "erase_node": "_erase_node_hooks", "deepcopy": "_deepcopy_hooks"}
_HOOKS = tuple(_EVENTS.values())


#: The entry of `GraphModule.meta` with what a copy takes along: a dictionary of attributes.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(nn.Module):
    """A module that is a dictionary of attributes and nothing else, as the root of a graph module that is made of another's parts."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


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
        base = next(c for c in cls.__mro__ if "GraphModuleImpl" not in c.__qualname__)

        class GraphModuleImpl(base):
            pass

        return super().__new__(GraphModuleImpl)

    @compatibility(is_backward_compatible=True)
    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        if not isinstance(root, (nn.Module, dict)):
            raise RuntimeError(f"Unsupported type {type(root)} passed for root of a GraphModule: expected a Module or a dict")
        named = {node.target: node for node in graph.nodes.of("get_attr", "call_module")}
        if isinstance(root, dict):
            self._take_from_dict(root, named)
        else:
            self.training = getattr(root, "training", True)
            for path in named:
                _copy_attr(root, self, path)
        self.graph = graph
        tracer_cls = graph._tracer_cls
        self._tracer_cls = None if tracer_cls is None or "<locals>" in tracer_cls.__qualname__ else tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta, self.shape_env = {}, None
        self.__dict__.update((hooks, []) for hooks in _HOOKS)

    def _take_from_dict(self, root, named):
        for path in sorted(named, key=lambda p: p.count(".")):
            if path not in root:
                raise RuntimeError(f"Node {named[path]} refers to {path!r}, which is no key of the dictionary that was given for the root")
            _assign_attr(root[path], self, path)

    __jit_unused_properties__ = ["graph"]

    @property
    def graph(self):
        """The graph. A new one that is assigned is compiled."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"GraphModule.graph: expected a Graph, got {type(g).__name__}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The code of the graph as text. Errors: RuntimeError where there is none yet."""
        if "_code" not in self.__dict__:
            raise RuntimeError("GraphModule.code: there is none yet, since no graph has been assigned")
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
        if not isinstance(vars(cls).get("_wrapped_call"), _WrappedCall):
            told = cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))
            cls.__call__ = lambda self, *args, **kwargs: told(self, *args, **kwargs)
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
        place, _, name = target.rpartition(".")
        holder = self
        for part in filter(None, place.split(".")):
            holder = below(holder, part)
            if not isinstance(holder, nn.Module):
                return False
        holder.add_module(name, m)
        return True

    @compatibility(is_backward_compatible=False)
    def delete_submodule(self, target):
        """Delete the module at a path; returns whether there was one."""
        try:
            self.get_submodule(target)
        except AttributeError:
            return False
        _del_attr(self, target)
        return True

    @compatibility(is_backward_compatible=False)
    def delete_all_unused_submodules(self):
        """Delete the modules that no node calls or takes an attribute of."""
        nodes = self.graph.nodes
        named = {path for node in nodes.of("get_attr", "call_module") for path in itertools.accumulate(node.target.split("."), "{}.{}".format)}
        called = tuple(f"{node.target}." for node in nodes.of("call_module"))
        for path, _ in list(self.named_modules()):
            if path and path not in named and not path.startswith(called):
                self.delete_submodule(path)

    # ---- text and files -----------------------------------------------------------------------------------------------------

    def __str__(self):
        return "\n".join([super().__repr__(), self._code, "# print_readable() shows the code with the lines of the program and, where they are known, shapes"])

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
        state_file = folder / "state_dict.pt"
        torch.save(self.state_dict(), state_file)
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
        lines.append(f"        self.load_state_dict(torch.load({os.fspath(state_file)!r}))")
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
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
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
        with contextlib.ExitStack() as stack:
            self._register_replace_node_hook(f)
            stack.callback(self._unregister_replace_node_hook, f)
            yield


def _add_hook_methods(event, attribute):
    """`_register_..._hook` and `_unregister_..._hook` of an event."""

    def register(self, f):
        if not callable(f):
            raise AssertionError(f"hook of {event}: expected a function, got {type(f).__name__}")
        self.__dict__[attribute].append(f)

    def unregister(self, f):
        self.__dict__[attribute].remove(f)

    for method in (register, unregister):
        method.__name__ = f"_{method.__name__}_{event}_hook"
        setattr(GraphModule, method.__name__, method)


for _event in _EVENTS.items():
    _add_hook_methods(*_event)


def _print_readable(module, module_name, include_stride=False, include_device=False, colored=False, expanded_def=False, additional_meta=None):
    """The readable code of a module and of the graph modules within it."""
    graph = module.graph
    if not isinstance(graph, Graph):
        raise AssertionError(f"print_readable: expected a module whose graph is a Graph, got one with a {type(graph).__name__}")
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
