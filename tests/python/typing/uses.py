"""Correct and wrong uses, as a type checker sees them: lines marked `# wrong` must be errors, all others must not."""

from collections.abc import Iterator

from cresset.utils.data import DataLoader, Dataset, TensorDataset, nodes, random_split
from cresset.utils.data.stateful_dataloader import StatefulDataLoader
from cresset.utils.tensorboard import SummaryWriter

import cresset as torch
from cresset import Tensor, lightning, nn, vision
from cresset.nn import functional as F
from cresset.optim import lr_scheduler

# Making tensors.
a: Tensor = torch.ones(2, 3)
a = torch.zeros((2, 3), dtype=torch.float64, device="cpu", requires_grad=True)
a = torch.tensor([[1, 2.5], [3, 4]])
a = torch.arange(0, 10, 2, dtype=torch.int64)
a = torch.full((2, 2), 7.5, dtype=torch.half)
a = torch.randn(4, generator=torch.Generator().manual_seed(0))
a = torch.empty(2, 3, memory_format=torch.contiguous_format)
a = torch.rand_like(a, dtype=torch.float)
torch.ones("2")  # wrong
torch.zeros(2, dtype="float32")  # wrong
torch.full((2, 2))  # wrong
torch.arange()  # wrong
torch.randn(4, generator=0)  # wrong
torch.empty(2, memory_format=torch.strided)  # wrong
torch.no_such_function(a)  # wrong

# Operators, in place and with out=.
b = a + 1
b = 2.5 * a - a / 3
b = a @ a.T
b = -(a**2)
b = (a > 0) & (a != 1) | ~(a <= 2)
b = 1 - a
b += a
b //= 2
c = torch.add(a, b, alpha=2)
c = torch.add(a, 1)
c = torch.mul(a, b, out=c)
c = a.add(b).mul_(2).clamp_(min=0)
c = torch.clamp(a, -1, 1)
c = torch.where(a > 0, a, 0)
c = torch.addmm(a, a, b, beta=0.5, alpha=2)
a + "1"  # wrong
a @ 2  # wrong
torch.add(a)  # wrong
torch.add(a, b, beta=2)  # wrong
torch.mul(a, b, out=1)  # wrong
a.mul_("2")  # wrong
torch.clamp(a, "0")  # wrong
a.no_such_method()  # wrong

# Reductions and results with names.
s: Tensor = a.sum()
s = a.sum(0)
s = a.sum((0, 1), keepdim=True, dtype=torch.float64)
s = torch.mean(a, dim=-1)
values: Tensor = a.max(0).values
largest, where = torch.max(a, 1)
best, positions = a.topk(2, largest=False)
ordered = torch.sort(a, dim=0, descending=True)
ordered.values.sum()
everything: bool = torch.allclose(a, b)
a.sum("rows")  # wrong
torch.mean(a, keepdims=True, axis="x")  # wrong
a.max(0).maximum  # wrong
torch.sort(a, descending="yes")  # wrong
flag: str = torch.allclose(a, b)  # wrong

# Shapes and subscripts.
n: int = a.size(0)
size: torch.Size = a.shape
rows, columns = a.shape
a = a.reshape(2, -1)
a = a.view((3, 2)).permute(1, 0).transpose(0, 1).unsqueeze(-1)
a = a.expand(-1, 4).contiguous()
parts: tuple[Tensor, ...] = a.split(2)
parts = torch.split(a, [1, 2], dim=1)
parts = a.unbind()
a = torch.cat([a, b], dim=1)
a = torch.stack((a, b))
a = a[0, :, None, ...]
a = a[a > 0]
a[0] = 1
a[:, [0, 1]] = b
for row in a:
    row.sum()
a.reshape("2")  # wrong
a.permute(1.5)  # wrong
torch.cat(a, b)  # wrong
torch.stack([1, 2])  # wrong
a["x"].sum()  # wrong
m: int = a.shape  # wrong

# Dtypes, devices, conversions.
dtype: torch.dtype = a.dtype
single: bool = a.dtype == torch.float32 and dtype.is_floating_point
a = a.to(torch.float64).to("cpu").to(b)
a = a.to(device=torch.device("cpu"), dtype=torch.float32, copy=True)
a = a.float().long().bool().type(torch.int32)
number: int = a.numel()
element = a.item()
text: str = a.type()
info: float = torch.finfo(torch.float32).eps
integer: int = torch.iinfo(torch.int8).max
a.to(5.5)  # wrong
torch.finfo("float32")  # wrong
a.dtype = torch.float32  # wrong
a.shape.rows  # wrong

# Modes and state.
torch.manual_seed(0)
with torch.no_grad():
    a = a * 2
with torch.inference_mode(), torch.set_grad_enabled(False):
    a = a * 2


@torch.no_grad()
def evaluate(x: Tensor) -> Tensor:
    return x * 2


a = evaluate(a)
evaluate("x")  # wrong
torch.set_num_threads(2)
threads: int = torch.get_num_threads()
torch.set_default_dtype(torch.float64)
torch.set_default_dtype("float64")  # wrong
torch.manual_seed("0")  # wrong

# Gradients.
x = torch.ones(3, requires_grad=True)
(x * x).sum().backward()
gradient: Tensor | None = x.grad
handle = x.register_hook(lambda g: g * 2)
x.requires_grad_(False).detach()
x.backward(gradient="1")  # wrong
x.grad + 1  # wrong
x.requires_grad_("yes")  # wrong


# Modules.
class Net(nn.Module):
    def __init__(self, hidden: int = 8) -> None:
        super().__init__()
        self.first = nn.Linear(4, hidden)
        self.body = nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.LayerNorm(hidden))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(self.body(self.first(x)) * self.scale, dim=-1)


net = Net().train().to("cpu")
weights: Iterator[nn.Parameter] = net.parameters()
shape: torch.Size = net.first.weight.shape
loss = nn.CrossEntropyLoss(label_smoothing=0.1)
conv = nn.Conv2d(3, 8, kernel_size=3, padding="same", bias=False)
pool = nn.MaxPool2d((2, 2), stride=2)
lstm = nn.LSTM(4, 8, num_layers=2, batch_first=True, bidirectional=True)
layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
state = net.state_dict()
net.load_state_dict(state, strict=False)
y = F.cross_entropy(a, b.long(), reduction="sum")
y = F.conv2d(a, b, None, stride=1, padding=1)
y = F.relu(a, inplace=True) + F.gelu(a, approximate="tanh")
nn.Linear(4)  # wrong
nn.Linear("4", 8)  # wrong
nn.Linear(4, 8, biass=False)  # wrong
nn.Conv2d(3, 8)  # wrong
nn.Sequential(1, 2)  # wrong
nn.Dropout("0.5")  # wrong
nn.NoSuchLayer()  # wrong
F.relu()  # wrong
F.cross_entropy(a, b, reduce="mean")  # wrong
F.conv2d(a, 3)  # wrong
F.no_such_function(a)  # wrong
net.train("yes")  # wrong

# Optimizers and data.
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
sgd = torch.optim.SGD([{"params": net.first.parameters(), "lr": 0.1}], momentum=0.9, nesterov=True)
schedule = lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
optimizer.zero_grad()
optimizer.step()
schedule.step()
rates: list[float] = schedule.get_last_lr()
data = TensorDataset(torch.zeros(10, 4), torch.zeros(10))
train, test = random_split(data, [8, 2])
loader = DataLoader(train, batch_size=4, shuffle=True, num_workers=0)
loader.load_state_dict(loader.state_dict())
squares = nodes.ParallelMapper(nodes.IterableWrapper(range(3)), lambda x: x * 1.5, num_workers=2)
pairs: list[list[float]] = list(nodes.Loader(nodes.Batcher(squares, 2)))
for batch, target in loader:
    batch.sum()


class Squares(Dataset[int]):
    def __getitem__(self, index: int) -> int:
        return index * index

    def __len__(self) -> int:
        return 5


square: int = Squares()[2]
torch.optim.AdamW(lr=1e-3)  # wrong
torch.optim.SGD(net.parameters(), lr="fast")  # wrong
lr_scheduler.StepLR(optimizer)  # wrong
lr_scheduler.StepLR(net, 3)  # wrong
DataLoader(train, batch_size="4")  # wrong
nodes.Batcher([1, 2], 2)  # wrong
TensorDataset([1, 2])  # wrong
optimizer.step(1)  # wrong

# Files, special functions, linear algebra.
torch.save(net.state_dict(), "net.pt")
restored = torch.load("net.pt", weights_only=True)
length = torch.linalg.vector_norm(a, 2, dim=0)
e = torch.special.expit(a)
torch.special.expit(1)  # wrong
torch.linalg.vector_norm(a, dims=0)  # wrong

# Distributions.
law = torch.distributions.Normal(torch.zeros(2), 1.0)
density: torch.Tensor = law.log_prob(law.rsample((3,))) + law.entropy()
wide: torch.distributions.Normal = law.expand((4, 2))
chain = torch.distributions.TransformedDistribution(law, [torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.0, 2.0)])
inside: torch.Tensor = torch.distributions.constraints.positive.check(chain.sample())
distance: torch.Tensor = torch.distributions.kl_divergence(law, torch.distributions.Laplace(0.0, 1.0))
torch.distributions.Normal("a", 1.0)  # wrong
torch.distributions.Categorical(0.5)  # wrong
torch.distributions.kl_divergence(law, 1.0)  # wrong
law.log_prob(1.0)  # wrong
torch.distributions.transform_to("positive")  # wrong

# Images, and what training tells.
picture: torch.Tensor = vision.io.read_image("a.png", vision.io.ImageReadMode.RGB)
preprocess = vision.transforms.Compose([vision.transforms.Resize(256), vision.transforms.ToTensor(), vision.transforms.Normalize([0.5], [0.5])])
digits = vision.datasets.MNIST("data", train=False, transform=preprocess)
loader = DataLoader(digits, batch_size=64)
many = StatefulDataLoader(digits, batch_size=64, snapshot_every_n_steps=2)
resnet: vision.models.ResNet = vision.models.resnet18(num_classes=10)
grid: torch.Tensor = vision.utils.make_grid([picture, picture], nrow=2)
vision.utils.save_image(grid, "grid.png")
boxed: torch.Tensor = vision.utils.draw_bounding_boxes(picture, torch.tensor([[0, 0, 1, 1]]), colors="red")
with SummaryWriter("runs") as writer:
    writer.add_scalar("loss", 0.5, 1)
vision.datasets.MNIST("data", training=True)  # wrong
vision.utils.make_grid(picture, columns=2)  # wrong
vision.io.read_image(3)  # wrong
vision.models.resnet18(10)  # wrong
writer.add_scalar(1, "loss")  # wrong
many.load_state_dict([1])  # wrong


class Lit(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1, 1)

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        x, y = batch
        loss = F.mse_loss(self.layer(x), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


stop = lightning.callbacks.EarlyStopping("val_loss", patience=2)
trainer = lightning.Trainer(max_epochs=3, callbacks=[stop], logger=lightning.loggers.CSVLogger("logs"))
trainer.fit(Lit(), loader)
scores: list[dict[str, float]] = trainer.validate(Lit(), loader)
lightning.Trainer(epochs=3)  # wrong
trainer.fit(loader)  # wrong
lightning.callbacks.EarlyStopping()  # wrong
