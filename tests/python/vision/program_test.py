"""A program written for PyTorch and torchvision, unchanged under `python -m cresset`."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = """
import torch
import torchvision
import torchvision.transforms as transforms
from torch import nn, optim
from torchvision import datasets, models, utils
from torchvision.transforms import functional as TF

torch.manual_seed(0)
augment = transforms.Compose([
    transforms.ToTensor(),
    transforms.RandomHorizontalFlip(),
    transforms.RandomResizedCrop(32, scale=(0.5, 1.0)),
    transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
])
data = datasets.FakeData(8, (3, 40, 40), 4, transform=augment)
loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True, num_workers=2)

if __name__ == "__main__":
    model = models.resnet18(weights=None)
    model.fc = nn.Linear(model.fc.in_features, 4)
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "net.pth")
    again = models.resnet18(num_classes=4)
    print(again.load_state_dict(torch.load("net.pth")), loss.isfinite().item(), images.shape)
    utils.save_image(utils.make_grid(images, nrow=2, normalize=True), "grid.png")
    print(TF.resize(images[0], 8).shape, torchvision.__name__)
"""


class Program(unittest.TestCase):
    def test_it_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "train.py").write_text(PROGRAM)
            done = subprocess.run([sys.executable, "-m", "cresset", "train.py"], cwd=folder, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout, "<All keys matched successfully> True torch.Size([4, 3, 32, 32])\ntorch.Size([3, 8, 8]) cresset.vision\n")
            self.assertEqual(Path(folder, "grid.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    unittest.main()
