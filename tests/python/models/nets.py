"""The networks of the sample models, as a user would write them. Weights have the names that the files have.

Nothing here is ours alone: the same text runs with PyTorch in place of the first import, which is how the tests compare the two.
"""

import cresset as torch
from cresset import nn
from cresset.nn import functional as F


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut without parameters, which drops every second pixel and pads channels with zeros."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride, self.extra = stride, (outputs - inputs) // 2

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.extra, self.extra))
        return F.relu(y + shortcut)


class ResNet20(nn.Module):
    """For CIFAR-10 (He et al. 2015, section 4.2)."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(*[BasicBlock(16, 16, 1) for _ in range(3)])
        self.layer2 = nn.Sequential(BasicBlock(16, 32, 2), BasicBlock(32, 32, 1), BasicBlock(32, 32, 1))
        self.layer3 = nn.Sequential(BasicBlock(32, 64, 2), BasicBlock(64, 64, 1), BasicBlock(64, 64, 1))
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean((2, 3)))


class MnistNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3), nn.Conv2d(16, 24, 3)
        self.norm1 = nn.BatchNorm2d(24)
        self.fc1, self.fc2 = nn.Linear(11616, 32), nn.Linear(32, 10)
        self.norm2 = nn.BatchNorm1d(10)

    def forward(self, x):
        x = F.relu(self.conv3(F.relu(self.conv2(F.relu(self.conv1(x))))))
        x = self.norm1(x).flatten(1)
        return self.norm2(self.fc2(F.relu(self.fc1(x))))


class SileroVAD(nn.Module):
    """Probability of speech in each chunk of 512 samples at 16 kHz; 64 samples before a chunk are its context."""

    def __init__(self):
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        self.conv1 = nn.Conv1d(129, 128, 3, 1, 1)
        self.conv2 = nn.Conv1d(128, 64, 3, 2, 1)
        self.conv3 = nn.Conv1d(64, 64, 3, 2, 1)
        self.conv4 = nn.Conv1d(64, 128, 3, 1, 1)
        self.lstm_cell = nn.LSTMCell(128, 128)
        self.final_conv = nn.Conv1d(128, 1, 1)

    def chunk(self, x, state):
        spectrum = self.stft_conv(F.pad(x, (0, 64), mode="reflect").unsqueeze(1))
        real, imaginary = spectrum.chunk(2, 1)
        x = (real**2 + imaginary**2).sqrt()
        for conv in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = F.relu(conv(x))
        h, c = self.lstm_cell(x.squeeze(-1), state)
        return torch.sigmoid(self.final_conv(F.relu(h).unsqueeze(-1))).mean((1, 2)), (h, c)

    def forward(self, audio):
        state, context, result = None, torch.zeros(1, 64), []
        for chunk in F.pad(audio, (0, -audio.numel() % 512)).view(-1, 1, 512):
            x = torch.cat([context, chunk], 1)
            probability, state = self.chunk(x, state)
            context = x[:, -64:]
            result.append(probability)
        return torch.cat(result)


def separable(inputs, outputs, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False), nn.BatchNorm2d(inputs), nn.ReLU(),
        nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
    )  # fmt: skip


def head(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs), nn.ReLU(), nn.Conv2d(inputs, outputs, 1))


class UltraFace(nn.Module):
    """A single-shot detector of faces in 320 x 240 pixels: scores and boxes (corners, as parts of the picture) of 4,420 priors."""

    sizes = ((10, 16, 24), (32, 48), (64, 96), (128, 192, 256))

    def __init__(self):
        super().__init__()
        widths = [16, 32, 32, 32, 64, 64, 64, 64, 128, 128, 128, 256, 256]
        strides = [2, 1, 2, 1, 2, 1, 1, 1, 2, 1, 1, 2, 1]
        first = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.base_net = nn.Sequential(first, *[separable(a, b, s) for a, b, s in zip(widths, widths[1:], strides[1:])])
        self.extras = nn.ModuleList([nn.Sequential(nn.Conv2d(256, 64, 1), nn.ReLU(), head(64, 256, 2), nn.ReLU())])
        self.classification_headers, self.regression_headers = nn.ModuleList(), nn.ModuleList()
        for headers, values in ((self.classification_headers, 2), (self.regression_headers, 4)):
            headers.extend([head(64, 3 * values), head(128, 2 * values), head(256, 2 * values), nn.Conv2d(256, 3 * values, 3, 1, 1)])

    def forward(self, x):
        height, width = x.shape[2:]
        features = [self.base_net[:8](x)]
        for part in (self.base_net[8:11], self.base_net[11:], self.extras[0]):
            features.append(part(features[-1]))
        scores = [h(x).permute(0, 2, 3, 1).flatten(1).view(len(x), -1, 2) for h, x in zip(self.classification_headers, features)]
        places = [h(x).permute(0, 2, 3, 1).flatten(1).view(len(x), -1, 4) for h, x in zip(self.regression_headers, features)]
        prior = torch.cat([self.priors(x.shape[2:], sizes, width, height) for x, sizes in zip(features, self.sizes)])
        place = torch.cat(places, 1)
        centre = place[..., :2] * 0.1 * prior[:, 2:] + prior[:, :2]
        size = torch.exp(place[..., 2:] * 0.2) * prior[:, 2:]
        return F.softmax(torch.cat(scores, 1), 2), torch.cat([centre - size / 2, centre + size / 2], 2)

    @staticmethod
    def priors(cells, sizes, width, height):
        y, x = torch.meshgrid((torch.arange(cells[0]) + 0.5) / cells[0], (torch.arange(cells[1]) + 0.5) / cells[1], indexing="ij")
        columns = [torch.stack([x, y, torch.full_like(x, s / width), torch.full_like(x, s / height)], -1) for s in sizes]
        return torch.stack(columns, 2).view(-1, 4).clamp(0, 1)


class ConvDP(nn.Module):
    """A 1 x 1 and a depthwise 3 x 3 convolution."""

    def __init__(self, inputs, outputs, norm=True):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, groups=outputs)
        if norm:
            self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        x = self.conv2(self.conv1(x))
        return F.relu(self.bn(x)) if hasattr(self, "bn") else x


class Stem(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.conv2 = nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), ConvDP(16, 16)

    def forward(self, x):
        return self.conv2(F.relu(self.bn1(self.conv1(x))))


class Stage(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv1, self.conv2 = ConvDP(inputs, inputs), ConvDP(inputs, outputs)

    def forward(self, x):
        return self.conv2(self.conv1(x))


class YuNet(nn.Module):
    """Classes, objectness, boxes and five points of faces at three scales."""

    def __init__(self):
        super().__init__()
        stages = {f"model{i + 1}": Stage(16 if i == 0 else 64, 64) for i in range(5)}
        self.backbone = nn.ModuleDict({"model0": Stem(), **stages})
        self.neck = nn.ModuleDict({"lateral_convs": nn.ModuleList([ConvDP(64, 64) for _ in range(3)])})
        parts = {"share_convs": None, "cls": 1, "bbox": 4, "obj": 1, "kps": 10}
        self.bbox_head = nn.ModuleDict(
            {
                f"multi_level_{name}": nn.ModuleList([nn.Sequential(ConvDP(64, 64)) if n is None else ConvDP(64, n, norm=False) for _ in range(3)])
                for name, n in parts.items()
            }
        )

    def forward(self, x):
        features = []
        for i, stage in enumerate(self.backbone.values()):
            x = stage(F.max_pool2d(x, 2) if i in (1, 3, 4, 5) else x)
            features.append(x)
        features, lateral = features[3:], self.neck["lateral_convs"]
        for i in (2, 1, 0):
            above = F.interpolate(features[i + 1], scale_factor=2.0, mode="nearest") if i < 2 else 0
            features[i] = lateral[i](features[i] + above)
        parts, result = self.bbox_head, {}
        for i, x in enumerate(features):
            x = parts["multi_level_share_convs"][i](x)
            for name in ("cls", "obj", "bbox", "kps"):
                y = parts[f"multi_level_{name}"][i](x).permute(0, 2, 3, 1).flatten(1, 2)
                result[f"{name}_{8 << i}"] = torch.sigmoid(y) if name in ("cls", "obj") else y
        return result


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.width = heads, kv_heads, dim // heads
        self.wq, self.wo = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.wk, self.wv = (nn.Linear(dim, kv_heads * self.width, bias=False) for _ in range(2))

    def forward(self, x, turn, past):
        b, n, _ = x.shape
        q = rotated(self.wq(x).view(b, n, self.heads, self.width), turn).transpose(1, 2)
        k = rotated(self.wk(x).view(b, n, self.kv_heads, self.width), turn).transpose(1, 2)
        v = self.wv(x).view(b, n, self.kv_heads, self.width).transpose(1, 2)
        if past:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        past[:] = [k, v]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=n > 1, enable_gqa=True)
        return self.wo(y.transpose(1, 2).reshape(b, n, -1))


def rotated(x, turn):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn[:, None]).flatten(-2).to(x.dtype)


class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, dim, bias=False), nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, dim, heads, kv_heads, hidden):
        super().__init__()
        self.attention, self.feed_forward = Attention(dim, heads, kv_heads), FeedForward(dim, hidden)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)

    def forward(self, x, turn, past):
        x = x + self.attention(self.attention_norm(x), turn, past)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self, dim, n_layers, n_heads, n_kv_heads, vocab_size, hidden, max_seq_len):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.layers = nn.ModuleList([Layer(dim, n_heads, n_kv_heads, hidden) for _ in range(n_layers)])
        self.norm, self.output = nn.RMSNorm(dim, eps=1e-5), nn.Linear(dim, vocab_size, bias=False)
        width = dim // n_heads
        angles = torch.outer(torch.arange(max_seq_len), 1e4 ** (-torch.arange(0, width, 2) / width))
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def forward(self, tokens, start=0, past=None):
        past = past or [[] for _ in self.layers]
        x, turn = self.tok_embeddings(tokens), self.turns[start : start + tokens.shape[1]]
        for layer, kept in zip(self.layers, past):
            x = layer(x, turn, kept)
        return self.output(self.norm(x))

    def greedy(self, first, steps):
        tokens, past = [first], [[] for _ in self.layers]
        for i in range(steps):
            logits = self(torch.tensor([tokens[-1:]]), i, past)
            tokens.append(logits[0, -1].argmax().item())
        return tokens[1:]
