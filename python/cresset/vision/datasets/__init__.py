"""torchvision.datasets: images with classes, of local files. Nothing is downloaded.

>>> data = torch.vision.datasets.FakeData(8, (1, 4, 4), transform=torch.vision.transforms.ToTensor())
>>> [images.shape[0] for images, targets in torch.utils.data.DataLoader(data, batch_size=3)]
[3, 3, 2]
"""

from . import _gather, folder, mnist  # noqa: F401
from .cifar import CIFAR10, CIFAR100
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .mnist import EMNIST, KMNIST, MNIST, QMNIST, FashionMNIST
from .vision import VisionDataset

__all__ = ["CIFAR10", "CIFAR100", "DatasetFolder", "EMNIST", "FakeData", "FashionMNIST", "ImageFolder", "KMNIST", "MNIST", "QMNIST", "VisionDataset"]
