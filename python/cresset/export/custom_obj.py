"""Objects of custom classes in exported programs."""

import dataclasses

__all__ = ["ScriptObjectMeta"]


@dataclasses.dataclass
class ScriptObjectMeta:
    """An object of a custom class, as its node has it: the name among the constants, and the class.

    >>> torch.export.custom_obj.ScriptObjectMeta("table", "shop::Table").class_fqn
    'shop::Table'
    """

    constant_name: str
    class_fqn: str
