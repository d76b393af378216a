"""Images in memory, read and transformed in whole batches, where each transform does to a batch what it does to its images."""

import cresset as torch
from cresset.nn.modules import module
from cresset.utils.data._utils.gather import Gatherer, register

from ..transforms import transforms as T
from .cifar import CIFAR10, CIFAR100
from .mnist import EMNIST, KMNIST, MNIST, FashionMNIST
from .vision import StandardTransform


def _steps(transform):
    """The transforms after `ToTensor`, None where a step is not one of images of any number."""
    steps = transform.transforms if type(transform) is T.Compose else [transform]
    if not isinstance(steps, (list, tuple)) or not steps or type(steps[0]) is not T.ToTensor:
        return None
    plain = all(type(step) in (T.Normalize, T.ConvertImageDtype) and not _watched(step) for step in steps[1:])
    return list(steps[1:]) if plain else None


def _watched(step):
    """Whether there is a hook on the step, or on all modules, or has replaced its forward."""
    hooks = [*(value for name, value in vars(step).items() if name.endswith("_hooks")), module._global_forward_hooks, module._global_forward_pre_hooks]
    return any(hooks) or "forward" in vars(step)


class Images(Gatherer):
    """Batches of `data` and `targets`, through `transform`."""

    def ready(self):
        return self._transforms() is not None

    def _transforms(self):
        """The steps after `ToTensor`, None where images have to be looked at one by one."""
        dataset, given = self.dataset, self.dataset.transforms
        if (
            type(given) is not StandardTransform
            or given.transform is not dataset.transform
            or dataset.target_transform is not None
            or given.target_transform is not None
        ):
            return None
        return _steps(given.transform)

    def read(self, rows, take):
        dataset, steps = self.dataset, self._transforms()
        if steps is None:
            return None
        data, targets = torch.as_tensor(dataset.data), dataset.targets
        if data.dtype != torch.uint8 or data.dim() not in (3, 4):
            return None
        images = data[rows.tensor()]
        images = images[:, None] if data.dim() == 3 else images.permute(0, 3, 1, 2).contiguous()
        images = images.to(torch.get_default_dtype()).div_(255)
        for step in steps:
            images = step(images)
        if isinstance(targets, torch.Tensor):
            return [images, targets[rows.tensor()].long()] if targets.dim() == 1 else None
        return [images, torch.tensor([targets[i] for i in rows.index])]


register(Images, MNIST, FashionMNIST, KMNIST, EMNIST, CIFAR10, CIFAR100)
