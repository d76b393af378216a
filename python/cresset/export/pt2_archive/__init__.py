"""Archives of exported programs, `.pt2` files: several programs under names, with other files beside them.

>>> import io
>>> from cresset.export.pt2_archive._package import load_pt2, package_pt2
>>> programs = {name: torch.export.export(layer, (torch.ones(2),)) for name, layer in (("up", nn.ReLU()), ("down", nn.Tanh()))}
>>> buffer = package_pt2(io.BytesIO(), exported_programs=programs, extra_files={"note": "two layers"})
>>> contents = load_pt2(buffer)
>>> sorted(contents.exported_programs), contents.extra_files
(['down', 'up'], {'note': 'two layers'})
>>> contents.exported_programs["up"].module()(torch.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""

from . import constants
from ._files import PT2ArchiveReader, PT2ArchiveWriter, is_pt2_package

__all__ = ["PT2ArchiveReader", "PT2ArchiveWriter", "constants", "is_pt2_package"]
