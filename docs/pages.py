"""Writes a page for each public module into a folder of sources: pages.py FOLDER."""

import importlib
import inspect
import pkgutil
import sys
import types
from pathlib import Path

from conf import restructured

import cresset as torch


def modules():
    """Public modules, the shortest names first: a thing that several have is described where its name is shortest."""
    names = [info.name for info in pkgutil.walk_packages(torch.__path__, "cresset.") if not any(p.startswith("_") for p in info.name.split("."))]
    return [torch, *(importlib.import_module(name) for name in sorted(names, key=lambda n: (n.count("."), n)))]


def public(module):
    for name in sorted(getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]):
        thing = getattr(module, name)
        ours = str(getattr(thing, "__module__", "")).partition(".")[0] in ("cresset", "_cresset", "torch")
        if callable(thing) and ours and not isinstance(thing, types.ModuleType):
            yield name, thing


def is_operator(thing):
    return type(thing).__name__ in ("Op", "OpMethod")


def indented(lines, by="   "):
    return [by + line if line else "" for line in lines]


def described(kind, name, thing):
    """An entry written out: signatures and text of something that autodoc takes no signature from."""
    head, _, text = (thing.__doc__ or "").partition("\n\n")
    if not is_operator(thing):
        head, text = f"{name}(...)", thing.__doc__ or ""
    signatures = [s.replace("\\", "\\\\") for s in head.split("\n")]
    lines = [f".. py:{kind}:: {signatures[0]}", *(" " * len(f".. py:{kind}:: ") + s for s in signatures[1:])]
    return [*lines, "", *indented(restructured(text.split("\n"))), ""]


def entry(module, name, thing):
    full = f"{module.__name__}.{name}"
    if inspect.isclass(thing):
        if thing is torch.Tensor:
            return ["See :doc:`Tensor <tensor>`.", ""]
        return [f".. autoclass:: {full}", "   :members:", ""]
    if inspect.isfunction(thing):
        return [f".. autofunction:: {full}", ""]
    return described("function", name, thing)


def title(text, mark="="):
    return [text, mark * len(text), ""]


def module_page(module, seen):
    """The page, or None where everything is described elsewhere."""
    own = []
    for name, thing in public(module):
        if id(thing) not in seen:
            seen.add(id(thing))
            own.append((name, thing))
    if not own:
        return None
    shown = module.__name__.replace("cresset", "torch", 1)
    parent, _, last = module.__name__.rpartition(".")
    hidden = parent and getattr(sys.modules[parent], last, module) is not module  # a function has taken the module's name
    lines = [
        *title(shown),
        f".. py:module:: {module.__name__}",
        *(["   :no-index:"] if hidden else []),
        "",
        *restructured(inspect.cleandoc(module.__doc__ or "").split("\n")),
        "",
    ]
    for heading, wanted in (("Classes", inspect.isclass), ("Functions", lambda t: not inspect.isclass(t))):
        chosen = [(name, thing) for name, thing in own if wanted(thing)]
        if chosen:
            lines += title(heading, "-")
            for name, thing in chosen:
                lines += entry(module, name, thing)
    return "\n".join(lines)


def tensor_page():
    lines = [*title("torch.Tensor"), ".. py:currentmodule:: cresset", "", *described("class", "Tensor", torch.Tensor)[:-1], ""]
    properties = [n for n, v in vars(torch.Tensor).items() if not n.startswith("_") and not callable(v)]
    body = []
    for name in sorted(properties):
        text = inspect.getdoc(vars(torch.Tensor)[name]) or ""
        body += [f".. py:attribute:: {name}", "", *indented(restructured(text.split("\n"))), ""]
    for name, value in sorted(vars(torch.Tensor).items()):
        if name.startswith("_") or name in properties:
            continue
        if is_operator(value):
            body += described("method", name, value)
        else:
            text = inspect.getdoc(value) or ""
            try:
                signature = str(inspect.signature(value)).replace("(self, ", "(").replace("(self)", "()")
            except (TypeError, ValueError):
                signature = "(...)"
            body += [f".. py:method:: {name}{signature}", "", *indented(restructured(text.split("\n"))), ""]
    return "\n".join([*lines, *indented(body)])


def main():
    folder = Path(sys.argv[1]) / "api"
    folder.mkdir()
    seen, names = set(), []
    (folder / "tensor.rst").write_text(tensor_page())
    for module in modules():
        text = module_page(module, seen)
        if text:
            name = module.__name__.replace("cresset", "torch", 1)
            (folder / f"{name}.rst").write_text(text)
            names.append(name)
    index = [*title("Python API"), "Names are PyTorch's: what is described as ``cresset.x`` here is ``torch.x`` in a program that imports Cresset as ``torch``.", "",
             ".. toctree::", "   :maxdepth: 1", "", "   tensor", *(f"   {name}" for name in sorted(names)), ""]  # fmt: skip
    (folder / "index.rst").write_text("\n".join(index))
    print(f"{len(names)} modules, {len(seen)} names")


if __name__ == "__main__":
    main()
