"""Libraries that others wrote for PyTorch, where they are installed: each runs in a process of its own, with `torch` bound to Cresset.

    pip install --no-deps transformers==4.44.2 timm x-transformers vit-pytorch einops torchmetrics torchdiffeq gpytorch pyro-ppl segmentation-models-pytorch

The numbers of transformers are those that PyTorch 2.13 gives with the same seeds.
"""

import importlib.util
import subprocess
import sys
import unittest

LANGUAGE_MODEL = """
import torch, transformers as T
T.logging.set_verbosity_error()
torch.manual_seed(0)
model = T.{kind}({config})
x = torch.randint(100, (2, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(8):
    loss = model(input_ids=x, labels=x).loss
    loss.backward(); optimizer.step(); optimizer.zero_grad()
    print(f"{{loss.item():.4f}}")
model.eval(); torch.manual_seed(1)
print(model.generate(x[:1, :4], max_new_tokens=8, do_sample=True, pad_token_id=0).tolist()[0])
"""


def lacking(*names):
    absent = [name for name in names if importlib.util.find_spec(name) is None]
    return unittest.skipIf(absent, f"{' and '.join(absent)} not installed")


class Libraries(unittest.TestCase):
    def run_program(self, program):
        done = subprocess.run([sys.executable, "-W", "ignore", "-m", "cresset", "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout.split("\n")[:-1]

    @lacking("transformers")
    def test_transformers(self):
        small = "hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100"
        cases = [
            ("GPT2LMHeadModel", "T.GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100)", [4.653723, 4.232873, 3.980679, 3.683107, 3.390474, 3.121539, 2.906191, 2.647898],
             [45, 44, 25, 99, 14, 89, 24, 82, 32, 55, 47, 82]),
            ("LlamaForCausalLM", f"T.LlamaConfig({small})", [4.608269, 4.191464, 3.929527, 3.640052, 3.321902, 3.033198, 2.706711, 2.405733],
             [26, 51, 18, 33, 62, 81, 60, 82, 32, 10, 13, 82]),
            ("MixtralForCausalLM", f"T.MixtralConfig({small}, num_key_value_heads=1, num_local_experts=4)",
             [4.588846, 4.293521, 3.943848, 3.596185, 3.344060, 3.056429, 2.718730, 2.419541], [80, 87, 39, 85, 80, 69, 34, 82, 44, 85, 13, 82]),
            ("T5ForConditionalGeneration", "T.T5Config(d_model=32, num_layers=2, num_heads=2, d_ff=64, d_kv=16, vocab_size=100, decoder_start_token_id=0)",
             [5.011301, 4.373508, 4.022584, 3.490979, 3.403072, 3.204016, 2.917523, 2.934125], [0, 80, 69, 28, 28, 32, 52, 13, 82]),
        ]  # fmt: skip
        for kind, config, losses, words in cases:
            with self.subTest(kind):
                *said, generated = self.run_program(LANGUAGE_MODEL.format(kind=kind, config=config))
                for ours, theirs in zip(said, losses, strict=True):
                    self.assertAlmostEqual(float(ours), theirs, delta=1e-4)
                self.assertEqual(generated, str(words))

    @lacking("timm")
    def test_timm(self):
        for name in ("resnet18", "vit_tiny_patch16_224", "efficientnet_b0", "convnext_atto", "mobilenetv3_small_100", "swin_tiny_patch4_window7_224"):
            program = f"import timm, torch; m = timm.create_model('{name}', num_classes=7); y = m(torch.randn(2, 3, 224, 224)); y.sum().backward(); print(tuple(y.shape))"
            self.assertEqual(self.run_program(program), ["(2, 7)"])

    @lacking("segmentation_models_pytorch")
    def test_segmentation_models(self):
        program = "import torch, segmentation_models_pytorch as s; print(tuple(s.Unet('resnet18', encoder_weights=None)(torch.randn(1, 3, 64, 64)).shape))"
        self.assertEqual(self.run_program(program), ["(1, 1, 64, 64)"])

    @lacking("x_transformers", "vit_pytorch")
    def test_transformers_of_lucidrains(self):
        program = """
import torch
from x_transformers import Decoder, TransformerWrapper
from vit_pytorch import ViT
m = TransformerWrapper(num_tokens=256, max_seq_len=64, attn_layers=Decoder(dim=64, depth=2, heads=4, rotary_pos_emb=True))
y = m(torch.randint(0, 256, (1, 32))); y.sum().backward(); print(tuple(y.shape))
y = ViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=4, mlp_dim=64)(torch.randn(2, 3, 32, 32)); y.sum().backward(); print(tuple(y.shape))
"""
        self.assertEqual(self.run_program(program), ["(1, 32, 256)", "(2, 10)"])

    @lacking("einops")
    def test_einops(self):
        program = """
import torch
from einops import rearrange, reduce
from einops.layers.torch import Rearrange
x = torch.arange(96.0).reshape(2, 3, 4, 4)
print(rearrange(x, "b c (h p) w -> b (h w) (p c)", p=2)[0, 1].tolist(), reduce(x, "b c h w -> b c", "max")[1].tolist(), tuple(Rearrange("b c h w -> b (c h w)")(x).shape))
"""
        self.assertEqual(self.run_program(program), ["[1.0, 17.0, 33.0, 5.0, 21.0, 37.0] [63.0, 79.0, 95.0] (2, 48)"])

    @lacking("torchmetrics")
    def test_torchmetrics(self):
        program = """
import torch, torchmetrics
m = torchmetrics.classification.MulticlassAccuracy(3, average="micro")
m.update(torch.eye(3)[[0, 1, 2, 0]], torch.tensor([0, 1, 1, 0])); print(m.compute().item())
"""
        self.assertEqual(self.run_program(program), ["0.75"])

    @lacking("torchdiffeq")
    def test_differential_equations(self):
        program = """
import torch
from torchdiffeq import odeint_adjoint
class Decay(torch.nn.Module):
    def __init__(self): super().__init__(); self.rate = torch.nn.Parameter(torch.tensor(0.5))
    def forward(self, t, y): return -self.rate * y
f = Decay(); y = odeint_adjoint(f, torch.ones(1), torch.tensor([0.0, 2.0]), rtol=1e-7, atol=1e-9)
y[-1].sum().backward(); print(f"{y[-1].item():.5f} {f.rate.grad.item():.4f}")
"""
        self.assertEqual(self.run_program(program), ["0.36788 -0.7358"])

    @lacking("gpytorch")
    def test_gaussian_processes(self):
        program = """
import gpytorch, torch
class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, l):
        super().__init__(x, y, l); self.mean_module = gpytorch.means.ConstantMean(); self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    def forward(self, x): return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
x = torch.linspace(0, 1, 20); y = torch.sin(6 * x); l = gpytorch.likelihoods.GaussianLikelihood(); m = Model(x, y, l)
o = torch.optim.Adam(m.parameters(), lr=0.1); mll = gpytorch.mlls.ExactMarginalLogLikelihood(l, m)
for _ in range(60):
    o.zero_grad(); loss = -mll(m(x), y); loss.backward(); o.step()
m.eval(); l.eval(); print(abs(l(m(torch.tensor([0.5]))).mean.item() - 0.14112) < 0.02)
"""
        self.assertEqual(self.run_program(program), ["True"])

    @lacking("pyro")
    def test_probabilistic_programs(self):
        program = """
import pyro, torch, pyro.distributions as dist
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
def model(x):
    m = pyro.sample("m", dist.Normal(0.0, 10.0))
    with pyro.plate("d", len(x)): pyro.sample("x", dist.Normal(m, 1.0), obs=x)
pyro.set_rng_seed(0); x = torch.randn(50) + 2; guide = AutoNormal(model); svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
for _ in range(300): svi.step(x)
k = MCMC(NUTS(model), num_samples=100, warmup_steps=50, disable_progbar=True); k.run(x)
print(abs(guide.median()["m"].item() - x.mean().item()) < 0.15, abs(k.get_samples()["m"].mean().item() - x.mean().item()) < 0.1)
"""
        self.assertEqual(self.run_program(program), ["True True"])


if __name__ == "__main__":
    unittest.main()
