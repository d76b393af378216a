"""The tags of operators, as `OpOverload.tags` gives them."""

import functools

import _cresset

from .aten_names import TAGS
from .tag import Tag

_NAMES = {tag: frozenset(names) for tag, names in TAGS.items()}


@functools.cache
def of(overload):
    """The tags of an overload of `torch.ops`."""
    if overload.namespace != "aten":
        return [Tag(number) for number in _cresset._op_tags(overload._entry)] if overload._entry else []
    base = getattr(overload, "base", None)
    if base is not None:  # generated: what calls do is said of the overload that computes
        return sorted(
            {Tag.generated, Tag.out, Tag.pt2_compliant_tag, *(tag for tag in of(base) if tag in (Tag.nondeterministic_seeded, Tag.view_copy))},
            key=lambda t: t.value,
        )
    name = overload._opname
    full = name if overload._overloadname == "default" else f"{name}.{overload._overloadname}"
    found = [tag for tag, names in _NAMES.items() if full in names or name + ".*" in names]
    if name.endswith("_") and not name.endswith("__"):
        found.append("inplace")
    if any(a.is_out for a in overload._schema.arguments):
        found.append("out")
    return [Tag[tag] for tag in sorted((*found, "pt2_compliant_tag"), key=lambda t: Tag[t].value)]
