"""Twenty training programs, the same as in training_*.cpp: `python training.py [--threads N] [--only NAME]` prints every loss exactly.

Each line is `name step loss` with the loss as a hexadecimal float. tests/python/training_programs_test.py compares both languages.
"""

import argparse

import cresset as torch
from cresset import nn, optim
from cresset.nn import functional as F

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def batches(count, *shape):
    return [torch.randn(*shape) for _ in range(count)]


@program
def mlp():
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    for x in batches(8, 64, 784):
        y = torch.randint(0, 10, (64,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        yield loss


@program
def convnet():
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, stride=2, padding=1, groups=2),
        nn.BatchNorm2d(32), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.5)
    for x in batches(8, 16, 3, 20, 20):
        y = torch.randint(0, 10, (16,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        yield loss
    model.eval()
    with torch.no_grad():
        yield F.cross_entropy(model(x), y)


@program
def lstm():
    network = nn.LSTM(8, 24, num_layers=2, dropout=0.3, bidirectional=True)
    head = nn.Linear(48, 4)
    optimizer = optim.Adam([*network.parameters(), *head.parameters()], lr=5e-3, amsgrad=True)
    for _ in range(6):
        sequences = [torch.randn(n, 8) for n in (5, 9, 2, 7)]
        y = torch.randint(0, 4, (4,))
        optimizer.zero_grad()
        output, _ = network(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
        padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        mean = padded.sum(1) / lengths.unsqueeze(1).to(torch.float32)
        loss = F.nll_loss(F.log_softmax(head(mean), 1), y)
        loss.backward()
        optimizer.step()
        yield loss


@program
def gru():
    embedding, network, head = nn.Embedding(30, 16), nn.GRU(16, 32, batch_first=True), nn.Linear(32, 30)
    parameters = [*embedding.parameters(), *network.parameters(), *head.parameters()]
    optimizer = optim.RMSprop(parameters, lr=1e-3, momentum=0.5, centered=True)
    state = None
    for _ in range(6):
        text = torch.randint(0, 30, (8, 13))
        optimizer.zero_grad()
        output, state = network(embedding(text[:, :-1]), state)
        state = state.detach()
        loss = F.cross_entropy(head(output).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
        yield loss


@program
def transformer():
    layer = nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.1, activation="gelu")
    model = nn.TransformerEncoder(layer, 2)
    torch.manual_seed(6)  # LibTorch's copies of the layer draw, Python's do not
    head = nn.Linear(32, 12)
    optimizer = optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-2)
    schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min((epoch + 1) / 3, 3 / (epoch + 1)))
    for x in batches(6, 10, 8, 32):
        y = torch.randint(0, 12, (80,))
        optimizer.zero_grad()
        loss = F.cross_entropy(head(model(x)).flatten(0, 1), y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        schedule.step()
        yield loss


@program
def vae():
    encoder, mean, spread = nn.Linear(100, 40), nn.Linear(40, 6), nn.Linear(40, 6)
    decoder = nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 100), nn.Sigmoid())
    optimizer = optim.Adam([p for m in (encoder, mean, spread, decoder) for p in m.parameters()], lr=3e-3)
    for _ in range(6):
        x = torch.rand(32, 100)
        hidden = F.relu(encoder(x))
        mu, log_variance = mean(hidden), spread(hidden)
        z = mu + torch.randn_like(mu) * torch.exp(log_variance * 0.5)
        loss = F.binary_cross_entropy(decoder(z), x, reduction="sum") - 0.5 * torch.sum(1 + log_variance - mu.square() - log_variance.exp())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss


@program
def gan():
    generator = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10), nn.Tanh())
    first = nn.utils.spectral_norm(nn.Linear(10, 32))
    critic = nn.Sequential(first, nn.LeakyReLU(0.2), nn.Linear(32, 1))
    for_generator, for_critic = (optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999)) for m in (generator, critic))
    for real in batches(5, 24, 10):
        fake = generator(torch.randn(24, 4))
        for_critic.zero_grad()
        good = F.binary_cross_entropy_with_logits(critic(real), torch.ones(24, 1))
        bad = F.binary_cross_entropy_with_logits(critic(fake.detach()), torch.zeros(24, 1))
        (good + bad).backward()
        for_critic.step()
        for_generator.zero_grad()
        loss = F.binary_cross_entropy_with_logits(critic(fake), torch.ones(24, 1))
        loss.backward()
        for_generator.step()
        yield good + bad
        yield loss


@program
def autoencoder():
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ELU(), nn.Conv2d(8, 4, 3, stride=2, padding=1), nn.ELU(),
        nn.ConvTranspose2d(4, 8, 4, stride=2, padding=1), nn.PReLU(), nn.Upsample(scale_factor=2.0, mode="bilinear", align_corners=False),
        nn.Conv2d(8, 1, 3, padding=1),
    )  # fmt: skip
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    for x in batches(6, 16, 1, 16, 16):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x) + 0.1 * F.l1_loss(model(x), x)
        loss.backward()
        optimizer.step()
        yield loss


@program
def word2vec():
    context, word = nn.EmbeddingBag(50, 12, mode="mean"), nn.Embedding(50, 12)
    optimizer = optim.Adagrad([*context.parameters(), *word.parameters()], lr=0.1, lr_decay=0.01)
    for _ in range(6):
        around, centre, noise = torch.randint(0, 50, (40, 4)), torch.randint(0, 50, (40,)), torch.randint(0, 50, (40, 5))
        optimizer.zero_grad()
        hidden = context(around)
        near = F.logsigmoid((hidden * word(centre)).sum(1))
        far = F.logsigmoid(-torch.bmm(word(noise), hidden.unsqueeze(2)).squeeze(2)).sum(1)
        loss = -(near + far).mean()
        loss.backward()
        optimizer.step()
        yield loss


@program
def ranking():
    model = nn.Sequential(nn.Linear(20, 32), nn.LayerNorm(32), nn.Mish(), nn.Linear(32, 8))
    optimizer = optim.NAdam(model.parameters(), lr=5e-3)
    for _ in range(6):
        anchor, positive, negative = (model(x) for x in batches(3, 16, 20))
        sides = torch.sign(torch.randn(16))
        loss = F.triplet_margin_loss(anchor, positive, negative, margin=0.5, swap=True)
        loss = loss + F.cosine_embedding_loss(anchor, negative, sides, margin=0.1)
        loss = loss + F.margin_ranking_loss(anchor.norm(2, 1), positive.norm(2, 1), sides, margin=0.2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss


@program
def ctc():
    network, head = nn.GRU(6, 16), nn.Linear(16, 7)
    optimizer = optim.RAdam([*network.parameters(), *head.parameters()], lr=1e-2)
    for x in batches(5, 12, 4, 6):
        targets = torch.randint(1, 7, (4, 3))
        optimizer.zero_grad()
        output, _ = network(x)
        scores = F.log_softmax(head(output), 2)
        loss = F.ctc_loss(scores, targets, torch.tensor([12, 12, 10, 9]), torch.tensor([3, 2, 3, 1]))
        loss.backward()
        optimizer.step()
        yield loss


@program
def segmentation():
    down, norm = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.GroupNorm(2, 8)
    up, head = nn.ConvTranspose2d(8, 8, 2, stride=2), nn.Conv2d(11, 4, 1)
    optimizer = optim.AdamW([p for m in (down, norm, up, head) for p in m.parameters()], lr=1e-2, weight_decay=0.05)
    weight = torch.tensor([1.0, 2.0, 0.5, 1.5])
    for x in batches(5, 6, 3, 12, 12):
        y = torch.randint(0, 4, (6, 12, 12))
        y[:, :2] = 255
        optimizer.zero_grad()
        wide = up(F.relu(norm(down(x))))
        loss = F.cross_entropy(head(torch.cat([wide, x], 1)), y, weight=weight, ignore_index=255)
        loss.backward()
        optimizer.step()
        yield loss


@program
def lbfgs():
    x = torch.linspace(-2, 2, 60).unsqueeze(1)
    y = torch.sin(3 * x)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optim.LBFGS(model.parameters(), lr=1.0, max_iter=8, history_size=5, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(4):
        yield optimizer.step(closure)
    yield F.mse_loss(model(x), y)


@program
def muon():
    model = nn.Sequential(nn.Linear(24, 48, bias=False), nn.GELU(), nn.Linear(48, 6, bias=False))
    optimizer = optim.Muon(model.parameters(), lr=0.02, weight_decay=0.01)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
    for x in batches(6, 32, 24):
        y = torch.randn(32, 6)
        optimizer.zero_grad()
        loss = F.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        yield loss


@program
def adafactor():
    model = nn.Sequential(nn.Linear(16, 40), nn.Softplus(), nn.Linear(40, 3))
    average = optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = optim.Adafactor(model.parameters(), lr=0.05)
    for x in batches(6, 32, 16):
        y = torch.randn(32, 3)
        optimizer.zero_grad()
        loss = F.huber_loss(model(x), y, delta=0.7)
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        yield loss
        with torch.no_grad():
            yield F.huber_loss(average(x), y, delta=0.7)


@program
def swa():
    model = nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.Hardtanh(), nn.Linear(24, 2))
    average = optim.swa_utils.AveragedModel(model)
    optimizer = optim.SGD(model.parameters(), lr=0.2, momentum=0.9, dampening=0.1)
    schedule = optim.swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=3)
    data = batches(6, 32, 12)
    for x in data:
        y = torch.randn(32, 2)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        schedule.step()
        yield loss
    optim.swa_utils.update_bn(data, average)
    average.eval()
    with torch.no_grad():
        yield F.mse_loss(average(data[0]), y)


@program
def mixed_precision():
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.LayerNorm(128), nn.Linear(128, 8))
    optimizer = optim.ASGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for x in batches(6, 48, 64):
        y = torch.randint(0, 8, (48,))
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        yield loss


@program
def accumulation():
    model = nn.Sequential(nn.Linear(30, 50), nn.SELU(), nn.AlphaDropout(0.1), nn.Linear(50, 1))
    optimizer = optim.Adamax(model.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    for _ in range(5):
        optimizer.zero_grad()
        total = torch.zeros(())
        for x in batches(3, 16, 30):
            loss = F.poisson_nll_loss(model(x), x[:, :1].abs()) / 3
            loss.backward()
            total = total + loss.detach()
        nn.utils.clip_grad_value_(model.parameters(), 0.05)
        optimizer.step()
        schedule.step(total.item())
        yield total


@program
def loader():
    data = torch.utils.data.TensorDataset(torch.randn(50, 10), torch.randint(0, 3, (50,)))
    model = nn.Sequential(nn.Linear(10, 20), nn.BatchNorm1d(20), nn.Sigmoid(), nn.Linear(20, 3))
    optimizer = optim.Rprop(model.parameters(), lr=0.01)
    for _ in range(2):
        for x, y in torch.utils.data.DataLoader(data, batch_size=12, drop_last=True):
            optimizer.zero_grad()
            loss = F.multi_margin_loss(model(x), y)
            loss.backward()
            optimizer.step()
            yield loss


@program
def checkpointed():
    blocks = [nn.Sequential(nn.utils.weight_norm(nn.Linear(16, 16)), nn.GELU(), nn.Dropout(0.2)) for _ in range(4)]
    head = nn.Linear(16, 2)
    parameters = [p for m in (*blocks, head) for p in m.parameters()]
    optimizer = optim.Adam(parameters, lr=1e-2, weight_decay=1e-3)
    for x in batches(5, 20, 16):
        y = torch.randn(20, 2)
        optimizer.zero_grad()
        hidden = x
        for block in blocks:
            hidden = hidden + torch.utils.checkpoint.checkpoint(block, hidden, use_reentrant=False)
        loss = F.mse_loss(head(hidden), y)
        loss.backward()
        optimizer.step()
        yield loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name, run in PROGRAMS.items():
        if options.only and options.only != name:
            continue
        torch.manual_seed(1)
        for step, loss in enumerate(run()):
            print(name, step, loss.item().hex())


if __name__ == "__main__":
    main()
