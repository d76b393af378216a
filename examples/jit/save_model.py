"""Python compiles a model with a branch and a loop and saves it: python3 save_model.py model.pt"""

import sys

import cresset as torch
from cresset import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(8, 10)

    def forward(self, images: torch.Tensor, rounds: int = 1) -> torch.Tensor:
        total = torch.zeros([images.size(0), 10])
        for _ in range(rounds):
            total = total + torch.softmax(self.head(self.features(images)), 1)
        return total / rounds if rounds > 1 else total


torch.manual_seed(0)
model = torch.jit.optimize_for_inference(torch.jit.script(Classifier().eval()))
model.save(sys.argv[1])
print(f"sum {model(torch.ones(2, 1, 8, 8), 3).sum().item():.4f}")
