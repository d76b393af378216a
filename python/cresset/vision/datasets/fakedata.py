"""torchvision.datasets.FakeData: images of noise."""

import cresset as torch

from .vision import VisionDataset, as_image

__all__ = ["FakeData"]


class FakeData(VisionDataset):
    """Images of normal noise with random classes, the same at every visit.

    Args:
        size: how many there are.
        image_size: (C, H, W).
        num_classes: how many classes there are.
        transform, target_transform: of images and classes.
        random_offset: added to an image's index makes the seed of its noise.

    Images are PIL's, or tensors (C, H, W) of bytes where PIL is not there, or `vision.set_image_backend("tensor")` said so.

    >>> data = torch.vision.datasets.FakeData(4, (3, 8, 8), 10, torch.vision.transforms.ToTensor())
    >>> data[0][0].shape, len(data), bool((data[1][0] == data[1][0]).all())
    (torch.Size([3, 8, 8]), 4, True)
    """

    def __init__(self, size=1000, image_size=(3, 224, 224), num_classes=10, transform=None, target_transform=None, random_offset=0):
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.size, self.num_classes, self.image_size, self.random_offset = size, num_classes, image_size, random_offset

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"FakeData: index {index} is not within 0 to {len(self) - 1}")
        before = torch.get_rng_state()
        torch.manual_seed(index + self.random_offset)
        noise = torch.randn(*self.image_size)
        target = torch.randint(0, self.num_classes, size=(1,), dtype=torch.long)[0]
        torch.set_rng_state(before)
        array = noise.mul(255).to(torch.int64).bitwise_and(255).to(torch.uint8).permute(1, 2, 0).contiguous().numpy()
        image = as_image(array[:, :, 0] if array.shape[2] == 1 else array)
        return self._given(image, target.item())

    def __len__(self):
        return self.size
