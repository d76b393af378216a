"""torchvision.datasets.vision: what datasets of images have in common."""

import os

import cresset as torch
from cresset import vision
from cresset.utils.data import Dataset

__all__ = ["StandardTransform", "VisionDataset"]


class StandardTransform:
    """A transform of the input and one of the target, of pairs.

    >>> torch.vision.datasets.vision.StandardTransform(None, lambda y: y + 1)(5, 1)
    (5, 2)
    """

    def __init__(self, transform=None, target_transform=None):
        self.transform, self.target_transform = transform, target_transform

    def __call__(self, input, target):
        return input if self.transform is None else self.transform(input), target if self.target_transform is None else self.target_transform(target)

    def __repr__(self):
        parts = (("Transform", self.transform), ("Target transform", self.target_transform))
        return "\n".join(["StandardTransform", *(f"{name}: {str(what)}" for name, what in parts if what is not None)])


class VisionDataset(Dataset):
    """A dataset with a folder and transforms: either `transforms` of pairs, or one of the input and one of the target.

    >>> try:
    ...     torch.vision.datasets.VisionDataset(".", transforms=print, transform=print)
    ... except ValueError as error:
    ...     print(error)
    VisionDataset: either transforms or transform and target_transform are given, got both
    """

    def __init__(self, root=None, transforms=None, transform=None, target_transform=None):
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError(f"{type(self).__name__}: either transforms or transform and target_transform are given, got both")
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform, self.target_transform = transform, target_transform
        either = transform is not None or target_transform is not None
        self.transforms = StandardTransform(transform, target_transform) if either else transforms

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__}: __getitem__ is the subclass's")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__}: __len__ is the subclass's")

    def _given(self, image, target):
        """A pair as it is handed out: through the transforms."""
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __repr__(self):
        lines = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"Root location: {self.root}")
        lines += self.extra_repr().splitlines()
        if self.transforms is not None:
            lines += repr(self.transforms).splitlines()
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in lines)])

    def extra_repr(self):
        """More lines for `repr`."""
        return ""


def as_image(array):
    """An array (H, W) or (H, W, C) of bytes as an image: of PIL, or a tensor (C, H, W), as `get_image_backend` says.

    >>> import numpy as np
    >>> from cresset.vision.datasets.vision import as_image
    >>> torch.vision.transforms.ToTensor()(as_image(np.zeros((2, 3), np.uint8))).shape
    torch.Size([1, 2, 3])
    """
    if vision.get_image_backend() == "PIL":
        from PIL import Image

        return Image.fromarray(array)
    tensor = torch.from_numpy(array)
    return tensor[None] if tensor.dim() == 2 else tensor.permute(2, 0, 1)
