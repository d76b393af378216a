"""Programs that use libraries of others, each printing numbers: `tests/python/libraries_test.py` runs them on Cresset and on PyTorch.

name: (packages that it needs, program). Models are tiny and made from configurations; nothing is downloaded.
"""

_TRAIN = """
def train(model, loss_of, steps=6, lr=1e-2):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(steps):
        loss = loss_of(model)
        loss.backward(); optimizer.step(); optimizer.zero_grad()
        print(f"{loss.item():.5f}")
"""

_LANGUAGE = (
    """
import torch, transformers as T
T.logging.set_verbosity_error()
"""
    + _TRAIN
    + """
small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100)
torch.manual_seed(0)
model = T.KIND(T.CONFIG)
x = torch.randint(100, (2, 16))
train(model, lambda m: m(input_ids=x, labels=x).loss)
model.eval(); torch.manual_seed(1)
with torch.no_grad():
    print(model.generate(x[:1, :4], max_new_tokens=8, do_sample=True, pad_token_id=0).tolist()[0])
    print(model.generate(x[:1, :4], max_new_tokens=8, num_beams=3, do_sample=False, pad_token_id=0).tolist()[0])
"""
)
_LANGUAGE_MODELS = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100)"),
    "llama": ("LlamaForCausalLM", "LlamaConfig(**small)"),
    "mistral": ("MistralForCausalLM", "MistralConfig(**small, num_key_value_heads=1)"),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig(**small, num_key_value_heads=1, num_local_experts=4)"),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config(**small, num_key_value_heads=1, head_dim=16)"),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config(**small, num_key_value_heads=1, head_dim=16)"),
    "mamba": ("MambaForCausalLM", "MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=100, state_size=8)"),
    "t5": ("T5ForConditionalGeneration", "T5Config(d_model=32, num_layers=2, num_heads=2, d_ff=64, d_kv=16, vocab_size=100, decoder_start_token_id=0)"),
}

_SHOW = """
import torch
def digest(v):
    if isinstance(v, torch.Tensor):
        v = v.detach(); v = v if v.layout is torch.strided else v.to_dense()
        return f"{tuple(v.shape)} {v.double().sum().item():.4g} {v.double().abs().sum().item():.4g}"
    if isinstance(v, dict): return " ".join(f"{k}={digest(x)}" for k, x in v.items())
    return "[" + ", ".join(map(digest, v)) + "]" if isinstance(v, (list, tuple)) else f"{v:.4g}" if isinstance(v, float) else str(v)
def show(*values): print(*map(digest, values))
"""

PROGRAMS = {
    **{
        f"transformers {name}": (["transformers"], _LANGUAGE.replace("KIND", kind).replace("CONFIG", config))
        for name, (kind, config) in _LANGUAGE_MODELS.items()
    },
    "transformers classifiers": (
        ["transformers"],
        """
import torch, transformers as T
T.logging.set_verbosity_error()
"""
        + _TRAIN
        + """
small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
for kind, config, inputs in (
    ("BertForSequenceClassification", T.BertConfig(**small, vocab_size=100), dict(input_ids=torch.arange(16).reshape(2, 8))),
    ("DebertaV2ForSequenceClassification", T.DebertaV2Config(**small, vocab_size=100, relative_attention=True, pos_att_type=["p2c", "c2p"]), dict(input_ids=torch.arange(16).reshape(2, 8))),
    ("ViTForImageClassification", T.ViTConfig(**small, image_size=16, patch_size=4), dict(pixel_values=torch.linspace(0, 1, 2 * 3 * 256).reshape(2, 3, 16, 16))),
):
    torch.manual_seed(0)
    model = getattr(T, kind)(config)
    print(kind); train(model, lambda m: m(**inputs, labels=torch.tensor([0, 1])).loss, steps=4)
""",
    ),
    "transformers Trainer": (
        ["transformers", "accelerate"],
        """
import tempfile, torch, transformers as T
T.logging.set_verbosity_error()
torch.manual_seed(0)
model = T.GPT2LMHeadModel(T.GPT2Config(n_layer=1, n_head=2, n_embd=32, vocab_size=100))
data = [{"input_ids": torch.randint(100, (16,))} for _ in range(16)]
data = [{**d, "labels": d["input_ids"]} for d in data]
with tempfile.TemporaryDirectory() as folder:
    arguments = T.TrainingArguments(folder, num_train_epochs=2, per_device_train_batch_size=4, learning_rate=1e-2, logging_steps=2, save_strategy="steps", save_steps=4, report_to=[],
                                    use_cpu=True, disable_tqdm=True, seed=3)
    trainer = T.Trainer(model, arguments, train_dataset=data, eval_dataset=data[:4])
    trainer.remove_callback(T.trainer_callback.PrinterCallback)  # it prints times
    trainer.train()
    for entry in trainer.state.log_history:
        if "loss" in entry: print(f"{entry['loss']:.5f}")
    print(f"{trainer.evaluate()['eval_loss']:.5f}")
    again = T.GPT2LMHeadModel.from_pretrained(folder + "/checkpoint-8")
    print(f"{again(data[0]['input_ids'][None], labels=data[0]['input_ids'][None]).loss.item():.5f}")
""",
    ),
    "transformers generation": (
        ["transformers"],
        _SHOW
        + """
import transformers as T
T.logging.set_verbosity_error()
torch.manual_seed(0); model = T.GPT2LMHeadModel(T.GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100)).eval(); x = torch.randint(100, (2, 5)); given = dict(max_new_tokens=8, pad_token_id=0, attention_mask=torch.ones_like(x))
for way in (dict(), dict(do_sample=True, top_k=20, top_p=0.9, temperature=0.7), dict(do_sample=True, typical_p=0.6), dict(do_sample=True, min_p=0.01), dict(num_beams=4, num_return_sequences=2), dict(num_beams=3, do_sample=True),
            dict(repetition_penalty=1.3, no_repeat_ngram_size=2, bad_words_ids=[[3]]), dict(use_cache=False), dict(cache_implementation="static")):
    torch.manual_seed(1); print(model.generate(x, **{"do_sample": False, **way}, **given).tolist())
print(model.generate(x[:1], max_new_tokens=6, do_sample=False, prompt_lookup_num_tokens=2, pad_token_id=0).tolist())
torch.manual_seed(0); small = dict(vocab_size=100, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64)
speech = T.WhisperForConditionalGeneration(T.WhisperConfig(**small, num_mel_bins=8, max_source_positions=20, max_target_positions=30, decoder_start_token_id=1, pad_token_id=0, bos_token_id=2, eos_token_id=3, suppress_tokens=None, begin_suppress_tokens=None)).eval()
print(speech.generate(torch.randn(2, 8, 40), max_new_tokens=6, do_sample=False).tolist())
""",
    ),
    "transformers images": (
        ["transformers", "torchvision"],
        _SHOW
        + """
import numpy as np, transformers as T
from PIL import Image
T.logging.set_verbosity_error()
picture = Image.fromarray((np.arange(40 * 50 * 3).reshape(40, 50, 3) % 255).astype("uint8"))
show(T.ViTImageProcessor(size={"height": 16, "width": 16})(picture, return_tensors="pt").pixel_values, T.CLIPImageProcessor(size={"shortest_edge": 20}, crop_size={"height": 16, "width": 16})(picture, return_tensors="pt").pixel_values)
small, x = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64), torch.linspace(-1, 1, 2 * 3 * 1024).reshape(2, 3, 32, 32)
for kind, config in (("Dinov2", T.Dinov2Config(**small, image_size=32, patch_size=8)), ("Swin", T.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4)), ("ConvNext", T.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)),
                     ("ResNet", T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]))):
    torch.manual_seed(0); model = getattr(T, kind + "ForImageClassification")(config); loss = model(x, labels=torch.tensor([0, 1])).loss; loss.backward(); show(kind, loss, next(model.parameters()).grad)
torch.manual_seed(0); clip = T.CLIPModel(T.CLIPConfig(text_config=dict(**small, vocab_size=100, max_position_embeddings=16, eos_token_id=99), vision_config=dict(**small, image_size=32, patch_size=8), projection_dim=16)); show(clip(input_ids=torch.arange(20).reshape(2, 10), pixel_values=x, return_loss=True).loss)
""",
    ),
    "accelerate": (
        ["accelerate"],
        """
import torch
from accelerate import Accelerator
torch.manual_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=4, shuffle=True)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, loader, schedule)
for x, y in loader:
    with accelerator.accumulate(net):
        loss = torch.nn.functional.mse_loss(net(x), y)
        accelerator.backward(loss); accelerator.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step(); schedule.step(); optimizer.zero_grad()
    print(f"{loss.item():.5f}")
print(accelerator.gather(torch.arange(3)).tolist(), list(accelerator.unwrap_model(net).state_dict()), accelerator.num_processes)
""",
    ),
    "torchao": (
        ["torchao"],
        """
import torch, torchao
from torchao.quantization import Int8WeightOnlyConfig, quantize_
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).eval()
x = torch.randn(4, 64)
quantize_(model, Int8WeightOnlyConfig())
with torch.no_grad():
    print(*(f"{v:.3f}" for v in model(x).flatten().tolist()))
""",
    ),
    "peft": (
        ["peft", "transformers", "accelerate"],
        """
import torch, transformers as T
from peft import LoraConfig, get_peft_model
T.logging.set_verbosity_error()
"""
        + _TRAIN
        + """
torch.manual_seed(0)
base = T.GPT2LMHeadModel(T.GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100))
model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], lora_dropout=0.1, task_type="CAUSAL_LM", fan_in_fan_out=True))
print(*model.get_nb_trainable_parameters())
x = torch.randint(100, (2, 16))
train(model, lambda m: m(input_ids=x, labels=x).loss)
merged = model.merge_and_unload().eval()
print(f"{merged(x, labels=x).loss.item():.5f}")
""",
    ),
    "peft methods": (
        ["peft", "transformers", "accelerate"],
        _SHOW
        + """
import tempfile, peft as P, transformers as T
T.logging.set_verbosity_error()
x = torch.arange(24).reshape(2, 12)
def base(): torch.manual_seed(0); return T.LlamaForCausalLM(T.LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100))
for config in (P.LoraConfig(r=4, use_dora=True, use_rslora=True, target_modules="all-linear"), P.LoraConfig(r=4, init_lora_weights="olora", target_modules=["q_proj"]), P.AdaLoraConfig(init_r=6, target_r=4, total_step=10, target_modules=["q_proj", "v_proj"]),
               P.IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]), P.LoHaConfig(r=4, target_modules=["q_proj"]), P.LoKrConfig(r=4, target_modules=["q_proj"]), P.OFTConfig(r=0, oft_block_size=8, target_modules=["q_proj"]),
               P.VeraConfig(r=4, target_modules=["q_proj", "v_proj"]), P.HRAConfig(r=4, target_modules=["q_proj"]), P.VBLoRAConfig(r=2, num_vectors=8, vector_length=8, topk=2, target_modules=["q_proj"]), P.LNTuningConfig(target_modules=["input_layernorm"])):
    model = P.get_peft_model(base(), config); optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.05); losses = []
    for _ in range(3): loss = model(input_ids=x, labels=x).loss; loss.backward(); optimizer.step(); optimizer.zero_grad(); losses.append(loss)
    with tempfile.TemporaryDirectory() as folder: model.save_pretrained(folder); again = P.PeftModel.from_pretrained(base(), folder).eval()
    model.eval(); out = model(x).logits; show(type(config).__name__, losses, out, bool(torch.allclose(again(x).logits, out, atol=1e-5)), bool(torch.allclose(model.merge_and_unload()(x).logits, out, atol=1e-3)))
model = P.get_peft_model(base(), P.LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=False), adapter_name="a"); model.add_adapter("b", P.LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=False)); model.eval()
for way in ("linear", "cat", "svd", "ties"): model.add_weighted_adapter(["a", "b"], [0.7, 0.3], way, combination_type=way, **({"density": 0.5} if way == "ties" else {})); model.set_adapter(way); show(way, model(x).logits)
""",
    ),
    "diffusers": (
        ["diffusers"],
        """
import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DModel
"""
        + _TRAIN
        + """
torch.manual_seed(0)
net = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 32), norm_num_groups=8,
                  down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))
schedule = DDPMScheduler(num_train_timesteps=100)
x, noise, t = torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16), torch.tensor([10, 60])
train(net, lambda m: torch.nn.functional.mse_loss(m(schedule.add_noise(x, noise, t), t).sample, noise), steps=3, lr=1e-3)
ddim = DDIMScheduler(num_train_timesteps=100); ddim.set_timesteps(3); image = torch.randn(1, 3, 16, 16)
with torch.no_grad():
    for step in ddim.timesteps: image = ddim.step(net(image, step).sample, step, image).prev_sample
print(f"{image.mean().item():.5f} {image.std().item():.5f}")
vae = AutoencoderKL(block_out_channels=(32,), norm_num_groups=8, latent_channels=4, down_block_types=("DownEncoderBlock2D",), up_block_types=("UpDecoderBlock2D",))
with torch.no_grad(): print(f"{vae(torch.ones(1, 3, 16, 16)).sample.mean().item():.5f}")
""",
    ),
    "diffusers schedulers": (
        ["diffusers"],
        _SHOW
        + """
import diffusers as D
for name in ("DDIM", "DDPM", "DEISMultistep", "DPMSolverMultistep", "DPMSolverSinglestep", "EulerAncestralDiscrete", "EulerDiscrete", "FlowMatchEulerDiscrete", "HeunDiscrete", "KDPM2Discrete", "LCM", "LMSDiscrete", "PNDM", "SASolver", "TCD", "UniPCMultistep"):
    schedule = getattr(D, name + "Scheduler")(); schedule.set_timesteps(4); torch.manual_seed(0); x = torch.randn(1, 4, 8, 8) * float(getattr(schedule, "init_noise_sigma", 1.0))
    for t in schedule.timesteps: y = schedule.scale_model_input(x, t) if hasattr(schedule, "scale_model_input") else x; x = schedule.step(torch.sin(y * 3 + float(t) / 100), t, x).prev_sample
    show(name, x)
torch.manual_seed(0); net = D.UNet2DConditionModel(sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=16, attention_head_dim=8)
loss = net(torch.randn(2, 4, 8, 8), torch.tensor([3, 9]), torch.randn(2, 5, 16)).sample.square().mean(); loss.backward(); show(loss, net.conv_in.weight.grad)
""",
    ),
    "sentence-transformers": (
        ["sentence_transformers", "transformers"],
        """
import torch
from sentence_transformers import util
from sentence_transformers.util import cos_sim, semantic_search
from sentence_transformers.sentence_transformer.modules import Dense, Pooling
torch.manual_seed(0)
x, mask = torch.randn(3, 5, 8), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]])
for mode in ("mean", "max", "cls"):
    print(Pooling(8, pooling_mode=mode)({"token_embeddings": x, "attention_mask": mask})["sentence_embedding"].sum(1).tolist())
print(Dense(8, 4)({"sentence_embedding": x[:, 0]})["sentence_embedding"].tolist())
print(cos_sim(x[0], x[1]).tolist(), semantic_search(x[0, :2], x[1], top_k=2))
""",
    ),
    "sentence-transformers models": (
        ["sentence_transformers", "transformers"],
        _SHOW
        + """
import logging, tempfile, transformers as T
from sentence_transformers import SentenceTransformer, losses, models
T.logging.set_verbosity_error(); logging.disable(logging.WARNING)
words, texts = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat a dog ran".split(), ["the cat sat on the mat", "a dog ran", "the dog sat", "a cat ran"]
with tempfile.TemporaryDirectory() as folder:
    torch.manual_seed(0); T.BertModel(T.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=len(words), max_position_embeddings=64)).save_pretrained(folder)
    T.BertTokenizerFast(vocab={w: i for i, w in enumerate(words)}).save_pretrained(folder)
    model = SentenceTransformer(modules=[models.Transformer(folder), models.Pooling(32), models.Normalize()], device="cpu")
    e = model.encode(texts, convert_to_tensor=True); show(e, model.similarity(e, e)); model.save_pretrained(folder + "/s"); show(bool(torch.allclose(SentenceTransformer(folder + "/s", device="cpu").encode(texts, convert_to_tensor=True), e)))
    a, b = model.preprocess(texts[:2]), model.preprocess(texts[2:])
    for loss, given, labels in ((losses.CosineSimilarityLoss(model), [a, b], torch.tensor([0.3, 0.9])), (losses.MultipleNegativesRankingLoss(model), [a, b], None), (losses.CoSENTLoss(model), [a, b], torch.tensor([0.1, 0.9])), (losses.TripletLoss(model), [a, b, a], None),
                                (losses.BatchHardTripletLoss(model), [model.preprocess(texts)], torch.tensor([0, 1, 0, 1])), (losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model), [32, 16]), [a, b], None)):
        model.eval(); model.zero_grad(); value = loss([dict(g) for g in given], labels); value.backward(); show(type(loss).__name__, value, next(model.parameters()).grad)
""",
    ),
    "captum": (
        ["captum"],
        """
import torch
from captum.attr import DeepLift, GradientShap, GuidedBackprop, IntegratedGradients, LayerGradCam, Occlusion, Saliency
import numpy
torch.manual_seed(0); numpy.random.seed(0)  # GradientShap draws from both
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 3))
x = torch.randn(2, 1, 8, 8)
for name, attributed in (("ig", IntegratedGradients(net).attribute(x, target=1, n_steps=8)), ("saliency", Saliency(net).attribute(x, target=1)), ("lift", DeepLift(net).attribute(x, target=1)),
                         ("guided", GuidedBackprop(net).attribute(x, target=1)), ("occlusion", Occlusion(net).attribute(x, (1, 4, 4), strides=(1, 2, 2), target=1)),
                         ("cam", LayerGradCam(net, net[0]).attribute(x, target=1)), ("shap", GradientShap(net).attribute(x, torch.zeros(4, 1, 8, 8), target=1))):
    print(name, f"{attributed.sum().item():.5f} {attributed.abs().sum().item():.4f}")
""",
    ),
    "torchinfo": (
        ["torchinfo"],
        """
import torch, torchinfo
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5))
print(torchinfo.summary(net, (2, 3, 8, 8), verbose=0))
""",
    ),
    "torch_geometric": (
        ["torch_geometric"],
        """
import torch, torch_geometric.nn as gnn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
"""
        + _TRAIN
        + """
torch.manual_seed(0)
edges = torch.randint(12, (2, 40)); x = torch.randn(12, 6); y = torch.randint(3, (12,))
for layer in (gnn.GCNConv, gnn.SAGEConv, gnn.GATConv, gnn.GINConv):
    first = layer(torch.nn.Linear(6, 8)) if layer is gnn.GINConv else layer(6, 8)
    net = gnn.Sequential("x, edges", [(first, "x, edges -> x"), torch.nn.ReLU(), torch.nn.Linear(8, 3)])
    print(layer.__name__); train(net, lambda m: torch.nn.functional.cross_entropy(m(x, edges), y), steps=3)
graphs = [Data(x=torch.randn(n, 6), edge_index=torch.randint(n, (2, 3 * n))) for n in (4, 5, 6)]
for batch in DataLoader(graphs, batch_size=2):
    print(batch.num_graphs, gnn.global_mean_pool(batch.x, batch.batch).sum(1).tolist(), gnn.global_max_pool(batch.x, batch.batch).sum(1).tolist())
""",
    ),
    "torch_geometric of several kinds": (
        ["torch_geometric"],
        _SHOW
        + """
import torch_geometric as pyg, torch_geometric.nn as gnn
from torch_geometric.data import Batch, Data, HeteroData
torch.manual_seed(0); g = HeteroData(); g["a"].x, g["b"].x = torch.randn(4, 3), torch.randn(5, 2); g["a", "to", "b"].edge_index = g["b", "of", "a"].edge_index = torch.randint(4, (2, 6))
class Net(torch.nn.Module):
    def __init__(self): super().__init__(); self.first, self.last = gnn.SAGEConv((-1, -1), 4), gnn.SAGEConv((-1, -1), 2)
    def forward(self, x, edge_index): return self.last(self.first(x, edge_index).relu(), edge_index)
net = gnn.to_hetero(Net(), g.metadata()); print(net.code); show(net(g.x_dict, g.edge_index_dict))
show(gnn.HGTConv({"a": 3, "b": 2}, 4, g.metadata(), 2)(g.x_dict, g.edge_index_dict))
b = Batch.from_data_list([Data(x=torch.randn(n, 6), edge_index=torch.randint(n, (2, 3 * n))) for n in (5, 6, 7)])
for pool in (gnn.TopKPooling(6, 0.5), gnn.SAGPooling(6, 0.5), gnn.ASAPooling(6, 0.5)): show(type(pool).__name__, pool(b.x, b.edge_index, batch=b.batch)[0])
for aggregate in (gnn.aggr.LSTMAggregation(6, 4), gnn.aggr.Set2Set(6, 2), gnn.aggr.SoftmaxAggregation(), gnn.aggr.MedianAggregation()): show(type(aggregate).__name__, aggregate(b.x, b.batch))
e = pyg.EdgeIndex([[0, 1, 1, 2], [1, 0, 2, 1]], sparse_size=(3, 3), sort_order="row"); print(e); show(e.matmul(torch.eye(3)), e.get_csr()[0][0])
torch.manual_seed(0); model, x = gnn.GCN(6, 8, 2, 3, norm="batch", jk="cat"), torch.randn(12, 6); print(gnn.summary(model, x, torch.randint(12, (2, 40))))
scripted = gnn.global_mean_pool(x, torch.arange(12) // 4); show(scripted, gnn.pool.select.SelectOutput(torch.arange(3), 3, torch.tensor([0, 0, 1]), 2).weight)
""",
    ),
    "skorch": (
        ["skorch", "sklearn"],
        """
import numpy as np, torch
from skorch import NeuralNetClassifier
torch.manual_seed(0); rng = np.random.RandomState(0)
x = rng.randn(64, 5).astype("float32"); y = (x[:, 0] > 0).astype("int64")
net = NeuralNetClassifier(torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2), torch.nn.Softmax(-1)), max_epochs=4, lr=0.1, batch_size=16, verbose=0, train_split=None)
net.fit(x, y)
for row in net.history: print(f"{row['train_loss']:.5f}")
print(net.predict_proba(x[:2]).tolist(), net.score(x, y))
""",
    ),
    "pytorch-optimizer": (
        ["pytorch_optimizer"],
        """
import torch, pytorch_optimizer
for name in ("adabelief", "adabound", "adan", "adopt", "lamb", "lion", "madgrad", "novograd", "prodigy", "ranger", "sophiah", "shampoo", "muon", "sgdw"):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)); x = torch.randn(16, 4); y = x.sum(1, keepdim=True)
    kind = pytorch_optimizer.load_optimizer(name)
    if name == "muon":
        optimizer = kind([{"params": [p for p in net.parameters() if p.ndim == 2], "use_muon": True}, {"params": [p for p in net.parameters() if p.ndim < 2], "use_muon": False}])
    else:
        optimizer = kind(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        optimizer.zero_grad(); loss = torch.nn.functional.mse_loss(net(x), y); loss.backward(create_graph=name == "sophiah"); optimizer.step(); losses.append(f"{loss.item():.4f}")
    print(name, *losses)
""",
    ),
    "botorch": (
        ["botorch", "gpytorch"],
        """
import torch
from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
torch.manual_seed(0)
x = torch.linspace(0, 1, 8, dtype=torch.double)[:, None]; y = torch.sin(6 * x)
model = SingleTaskGP(x, y); fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
print([round(v, 3) for v in model.posterior(torch.tensor([[0.3], [0.55]], dtype=torch.double)).mean.flatten().tolist()])
acquisition = LogExpectedImprovement(model, best_f=y.max())
point, value = optimize_acqf(acquisition, torch.tensor([[0.0], [1.0]], dtype=torch.double), q=1, num_restarts=2, raw_samples=8)
print(round(point.item(), 2), round(value.item(), 1))
""",
    ),
    "gpytorch": (
        ["gpytorch"],
        """
import gpytorch, torch
class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, l):
        super().__init__(x, y, l); self.mean_module = gpytorch.means.ConstantMean(); self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    def forward(self, x): return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
x = torch.linspace(0, 1, 20); y = torch.sin(6 * x); l = gpytorch.likelihoods.GaussianLikelihood(); m = Model(x, y, l)
o = torch.optim.Adam(m.parameters(), lr=0.1); mll = gpytorch.mlls.ExactMarginalLogLikelihood(l, m)
for i in range(30):
    o.zero_grad(); loss = -mll(m(x), y); loss.backward(); o.step()
    if i % 6 == 0: print(f"{loss.item():.4f}")
m.eval(); l.eval(); print(f"{l(m(torch.tensor([0.5]))).mean.item():.3f}")
""",
    ),
    "pyro": (
        ["pyro"],
        """
import pyro, torch, pyro.distributions as dist
from pyro.infer import SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
def model(x):
    m = pyro.sample("m", dist.Normal(0.0, 10.0))
    with pyro.plate("d", len(x)): pyro.sample("x", dist.Normal(m, 1.0), obs=x)
pyro.set_rng_seed(0); x = torch.randn(50) + 2; guide = AutoNormal(model); svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
for i in range(60):
    loss = svi.step(x)
    if i % 12 == 0: print(f"{loss:.4f}")
print(f"{guide.median()['m'].item():.4f}")
""",
    ),
    "kornia": (
        ["kornia"],
        """
import torch, kornia as K
torch.manual_seed(0); x = torch.rand(2, 3, 16, 16, requires_grad=True)
for name, y in (("gray", K.color.rgb_to_grayscale(x)), ("hsv", K.color.rgb_to_hsv(x)), ("lab", K.color.rgb_to_lab(x)), ("blur", K.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5))),
                ("sobel", K.filters.sobel(x)), ("median", K.filters.median_blur(x, (3, 3))), ("canny", K.filters.canny(x)[0]), ("rotate", K.geometry.transform.rotate(x, torch.tensor([30.0, 45.0]))),
                ("warp", K.geometry.transform.warp_affine(x, torch.eye(2, 3).repeat(2, 1, 1) * 0.9, (16, 16))), ("ssim", K.metrics.ssim(x, x.detach().flip(3), 5)),
                ("dilate", K.morphology.dilation(x, torch.ones(3, 3))), ("harris", K.feature.harris_response(K.color.rgb_to_grayscale(x)))):
    print(name, f"{y.sum().item():.4f}", f"{torch.autograd.grad(y.sum(), x)[0].abs().sum().item():.3f}")
augment = K.augmentation.AugmentationSequential(K.augmentation.RandomHorizontalFlip(p=0.5), K.augmentation.RandomAffine(20.0, p=1.0), K.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0))
torch.manual_seed(1); print(f"{augment(x.detach()).sum().item():.3f}")
""",
    ),
    "torchmetrics": (
        ["torchmetrics"],
        """
import torch, torchmetrics as M
torch.manual_seed(0); scores, target = torch.rand(40, 4), torch.randint(4, (40,)); a, b = torch.randn(40), torch.randn(40)
for metric in (M.Accuracy("multiclass", num_classes=4), M.F1Score("multiclass", num_classes=4, average="macro"), M.AUROC("multiclass", num_classes=4), M.ConfusionMatrix("multiclass", num_classes=4),
               M.CalibrationError("multiclass", num_classes=4), M.CohenKappa("multiclass", num_classes=4), M.AveragePrecision("multiclass", num_classes=4)):
    for part in range(2): metric.update(scores[part::2], target[part::2])
    print(type(metric).__name__, metric.compute().tolist())
for metric in (M.MeanSquaredError(), M.PearsonCorrCoef(), M.SpearmanCorrCoef(), M.R2Score(), M.ExplainedVariance(), M.KendallRankCorrCoef()):
    metric.update(a, b); print(type(metric).__name__, f"{metric.compute().item():.5f}")
x, y = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
print(M.functional.image.structural_similarity_index_measure(x, y).item(), M.functional.image.peak_signal_noise_ratio(x, y, data_range=1.0).item())
both = M.MetricCollection([M.Accuracy("multiclass", num_classes=4), M.Precision("multiclass", num_classes=4)]); print({k: v.item() for k, v in both(scores, target).items()})
""",
    ),
    "timm": (
        ["timm"],
        """
import timm, torch
for name in ("resnet18", "vit_tiny_patch16_224", "efficientnet_b0", "convnext_atto", "mobilenetv3_small_100", "swin_tiny_patch4_window7_224"):
    torch.manual_seed(0); m = timm.create_model(name, num_classes=7); x = torch.randn(2, 3, 224, 224); y = m(x); y.square().sum().backward()
    print(name, y.tolist(), f"{sum(p.grad.double().abs().mean().item() for p in m.parameters() if p.grad is not None):.4f}")
""",
    ),
    "timm layers that work in place": (
        ["timm"],
        """
import timm, torch
for name in ("tnt_s_legacy_patch16_224", "levit_128s", "cait_xxs24_224", "gmlp_ti16_224"):
    torch.manual_seed(0); m = timm.create_model(name, num_classes=7); y = m(torch.randn(2, 3, 224, 224)); y.square().sum().backward()
    print(name, y.tolist(), f"{sum(p.grad.double().abs().mean().item() for p in m.parameters() if p.grad is not None):.4g}")
""",
    ),
    "einops": (
        ["einops"],
        """
import torch
from einops import einsum, pack, rearrange, reduce, repeat
from einops.layers.torch import Rearrange
x = torch.arange(96.0).reshape(2, 3, 4, 4)
print(rearrange(x, "b c (h p) w -> b (h w) (p c)", p=2)[0, 1].tolist(), reduce(x, "b c h w -> b c", "max")[1].tolist(), tuple(Rearrange("b c h w -> b (c h w)")(x).shape))
print(einsum(x, x, "b c h w, b d h w -> b c d")[0].tolist(), repeat(x[0, 0, 0], "w -> w k", k=2).tolist(), pack([x[0], x[1]], "* h w")[0].shape)
""",
    ),
    "torchvision": (
        ["torchvision"],
        """
import torch, torchvision
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn
from torchvision.ops import batched_nms, box_iou, nms, sigmoid_focal_loss
from torchvision.transforms import v2
for make in (torchvision.models.vit_b_16, torchvision.models.efficientnet_b0, torchvision.models.resnet18, lambda num_classes: torchvision.models.segmentation.lraspp_mobilenet_v3_large(num_classes=num_classes, weights_backbone=None)):
    torch.manual_seed(0); net = make(num_classes=3).eval()
    with torch.no_grad(): y = net(torch.randn(1, 3, 224, 224))
    print(make.__name__, y["out"].mean().item() if isinstance(y, dict) else y.tolist())
torch.manual_seed(0); boxes = torch.rand(60, 4) * 10; boxes[:, 2:] += boxes[:, :2]; scores = torch.rand(60)
print(nms(boxes, scores, 0.4).tolist(), batched_nms(boxes, scores, torch.arange(60) % 3, 0.3).tolist(), box_iou(boxes[:3], boxes[3:6]).tolist())
print(sigmoid_focal_loss(boxes, (boxes > 5).float(), reduction="mean").item())
torch.manual_seed(0); found = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=4).eval()([torch.rand(3, 96, 96)])[0]
print(len(found["boxes"]), f"{found['scores'].sum().item():.3f}")
torch.manual_seed(0); x = torch.randint(256, (3, 20, 20), dtype=torch.uint8)
print(v2.Compose([v2.RandomResizedCrop(12, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.2] * 3)])(x).mean().item())
""",
    ),
    "torchaudio": (
        ["torchaudio"],
        """
import torch, torchaudio
torch.manual_seed(0); x = torch.randn(1, 2000)
print(torchaudio.transforms.MelSpectrogram(16000, n_fft=256, n_mels=20)(x).log1p().mean().item(), torchaudio.transforms.MFCC(16000, 10, melkwargs={"n_fft": 256, "n_mels": 20})(x).mean().item())
print(torchaudio.functional.resample(x, 16000, 8000).abs().sum().item(), torchaudio.transforms.AmplitudeToDB()(x.abs()).mean().item())
net = torchaudio.models.Conformer(20, 4, 32, 1, 31).eval()
with torch.no_grad(): print(net(torch.randn(2, 15, 20), torch.tensor([15, 10]))[0].abs().sum().item())
""",
    ),
    "lucidrains": (
        ["x_transformers", "vit_pytorch"],
        """
import torch
from x_transformers import Decoder, TransformerWrapper
from vit_pytorch import ViT
torch.manual_seed(0)
m = TransformerWrapper(num_tokens=256, max_seq_len=64, attn_layers=Decoder(dim=64, depth=2, heads=4, rotary_pos_emb=True))
y = m(torch.randint(0, 256, (1, 32))); y.sum().backward(); print(tuple(y.shape), f"{y.abs().mean().item():.5f}")
y = ViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=4, mlp_dim=64)(torch.randn(2, 3, 32, 32)); y.sum().backward(); print(y.tolist())
""",
    ),
    "segmentation models": (
        ["segmentation_models_pytorch"],
        """
import torch, segmentation_models_pytorch as s
for kind in (s.Unet, s.FPN, s.DeepLabV3Plus):
    torch.manual_seed(0); m = kind("resnet18", encoder_weights=None).eval()
    with torch.no_grad(): print(kind.__name__, f"{m(torch.randn(1, 3, 64, 64)).abs().mean().item():.5f}")
print(s.losses.DiceLoss("binary")(torch.linspace(-2, 2, 16).reshape(1, 1, 4, 4), torch.ones(1, 1, 4, 4)).item())
""",
    ),
    "torchdiffeq": (
        ["torchdiffeq"],
        """
import torch
from torchdiffeq import odeint_adjoint
class Decay(torch.nn.Module):
    def __init__(self): super().__init__(); self.rate = torch.nn.Parameter(torch.tensor(0.5))
    def forward(self, t, y): return -self.rate * y
f = Decay(); y = odeint_adjoint(f, torch.ones(1), torch.tensor([0.0, 2.0]), rtol=1e-7, atol=1e-9)
y[-1].sum().backward(); print(f"{y[-1].item():.5f} {f.rate.grad.item():.4f}")
""",
    ),
    "lightning": (
        ["lightning"],
        """
import lightning as L, logging, tempfile, torch
for name in ("pytorch", "fabric"): logging.getLogger(f"lightning.{name}").setLevel(logging.ERROR)
from lightning.pytorch.callbacks import EarlyStopping, GradientAccumulationScheduler, LearningRateMonitor, ModelCheckpoint, StochasticWeightAveraging
from lightning.pytorch.loggers import CSVLogger
L.seed_everything(0, verbose=False)
class Net(L.LightningModule):
    def __init__(self, hidden=8): super().__init__(); self.save_hyperparameters(); self.net = torch.nn.Sequential(torch.nn.Linear(6, hidden), torch.nn.Dropout(0.1), torch.nn.Linear(hidden, 6))
    def training_step(self, b, i): l = torch.nn.functional.mse_loss(self.net(b[0]), b[0]); self.log("train", l, on_step=True, on_epoch=True); return l
    def validation_step(self, b, i): self.log("val", torch.nn.functional.mse_loss(self.net(b[0]), b[0]))
    def predict_step(self, b, i): return self.net(b[0]).sum()
    def configure_optimizers(self): o = torch.optim.Adam(self.parameters(), 1e-2); return {"optimizer": o, "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau(o), "monitor": "val"}}
made = lambda n, **k: torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(n, 6)), 8, **k)
data, val, quiet = made(40, shuffle=True), made(16), dict(accelerator="cpu", enable_progress_bar=False, enable_model_summary=False)
with tempfile.TemporaryDirectory() as d:
    best = ModelCheckpoint(d, monitor="val", filename="best")
    trainer = L.Trainer(max_epochs=3, logger=CSVLogger(d), callbacks=[best, EarlyStopping("val"), LearningRateMonitor(), GradientAccumulationScheduler({0: 1, 1: 2})], log_every_n_steps=2, gradient_clip_val=1.0, **quiet)
    net = Net(); trainer.fit(net, data, val); print({k: round(float(v), 4) for k, v in sorted(trainer.callback_metrics.items())}, trainer.global_step)
    print([f"{p.item():.3f}" for p in trainer.predict(net, val)], Net.load_from_checkpoint(best.best_model_path).hparams)
    more = L.Trainer(max_epochs=5, logger=False, enable_checkpointing=False, **quiet); more.fit(Net(), data, val, ckpt_path=best.best_model_path); print(more.current_epoch, more.global_step)
    fabric = L.Fabric(accelerator="cpu", devices=1); m = torch.nn.Linear(6, 1); m, o = fabric.setup(m, torch.optim.SGD(m.parameters(), 0.1))
    for (x,) in fabric.setup_dataloaders(data): l = m(x).square().mean(); fabric.backward(l); o.step(); o.zero_grad()
    fabric.save(d + "/f.ckpt", {"m": m, "n": 3}); state = {"m": m, "n": 0}; fabric.load(d + "/f.ckpt", state); print(f"{l.item():.4f}", state["n"])
averaged = L.Trainer(max_epochs=3, callbacks=[StochasticWeightAveraging(1e-2, swa_epoch_start=1)], logger=False, enable_checkpointing=False, **quiet); averaged.fit(Net(), data, val)
print(f"{averaged.callback_metrics['train'].item():.3f}"); print(L.pytorch.utilities.model_summary.summarize(Net(), 2))
""",
    ),
    "torchsde": (
        ["torchsde"],
        """
import torch, torchsde
torch.manual_seed(0)
class Equation(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"
    def __init__(self): super().__init__(); self.mu = torch.nn.Linear(3, 3); self.sigma = torch.nn.Linear(3, 3)
    def f(self, t, y): return self.mu(y)
    def g(self, t, y): return self.sigma(y).sigmoid()
sde, y0, ts = Equation(), torch.full((4, 3), 0.1), torch.linspace(0, 1, 5)
for method, levy in (("euler", "none"), ("milstein", "none"), ("srk", "space-time")):
    path = torchsde.BrownianInterval(0.0, 1.0, (4, 3), entropy=5, levy_area_approximation=levy)
    print(method, f"{torchsde.sdeint(sde, y0, ts, bm=path, method=method, dt=0.05).sum().item():.4f}")
torchsde.sdeint_adjoint(sde, y0, ts, bm=torchsde.BrownianInterval(0.0, 1.0, (4, 3), entropy=5), dt=0.05, method="euler")[-1].square().sum().backward()
print(f"{sde.mu.weight.grad.sum().item():.3f} {sde.sigma.bias.grad.sum().item():.3f}", torchsde.BrownianTree(0.0, torch.zeros(2), entropy=3)(0.5).tolist())
""",
    ),
    "zuko": (
        ["zuko"],
        """
import torch, zuko, zuko.bayesian
"""
        + _TRAIN
        + """
torch.manual_seed(0)
flow = zuko.flows.NSF(2, 1, transforms=2, hidden_features=(16, 16)); x, c = torch.randn(16, 2), torch.randn(16, 1)
train(flow, lambda m: -m(c).log_prob(x).mean())
net = zuko.bayesian.BayesianModel(torch.nn.Linear(2, 1), init_logvar=-4.0)
with net.reparameterize() as sampled: print(f"{sampled(x).sum().item():.4f} {net.kl_divergence().item():.4f}")
""",
    ),
    "entmax": (
        ["entmax"],
        """
import torch, entmax
torch.manual_seed(0); x = torch.randn(3, 7, requires_grad=True)
for f in (entmax.sparsemax, entmax.entmax15, lambda t: entmax.entmax_bisect(t, 1.3)):
    y = f(x); x.grad = None; (y * torch.arange(7.)).sum().backward()
    print([f"{v:.4f}" for v in y.detach().flatten().tolist()], [f"{v:.4f}" for v in x.grad[0].tolist()])
print(f"{entmax.Entmax15Loss()(x, torch.tensor([0, 1, 2])).item():.4f}")
""",
    ),
    "ultralytics": (
        ["ultralytics"],
        """
import torch
from ultralytics.nn.tasks import DetectionModel
from ultralytics.cfg import get_cfg
from ultralytics.utils.loss import v8DetectionLoss
torch.manual_seed(0); net = DetectionModel("yolov8n.yaml", nc=3, verbose=False); net.args = get_cfg()
x = torch.rand(2, 3, 64, 64)
batch = {"img": x, "cls": torch.tensor([[0.0], [1.0]]), "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.3, 0.6, 0.2, 0.3]]), "batch_idx": torch.tensor([0.0, 1.0])}
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(3):
    loss, parts = net.loss(batch); optimizer.zero_grad(); loss.sum().backward(); optimizer.step(); print(f"{loss.sum().item():.3f}")
net.eval(); print(f"{net(x)[0].mean().item():.3f}")
""",
    ),
    "fastai": (
        ["fastai"],
        _SHOW
        + """
import numpy as np, pandas as pd, tempfile
from fastai.tabular.all import *
from fastai.vision.all import Brightness, DataBlock, Flip, ImageBlock, RandomErasing, Rotate, TensorImage, Warp, get_image_files, parent_label, xresnet18
def told(learner):
    for row in learner.recorder.values: show([float(v) for v in row])
set_seed(0); x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
for kind, callbacks, run in ((SGD, [], lambda l: l.fit(2)), (Adam, [GradientAccumulation(32)], lambda l: l.fit_one_cycle(2, 1e-2)), (ranger, [GradientClip(1.0)], lambda l: l.fit_flat_cos(2)),
                             (partial(OptimWrapper, opt=torch.optim.AdamW), [MixUp()], lambda l: l.fit(1))):
    set_seed(0); loaders = DataLoaders(DataLoader(list(zip(x, y)), bs=16, shuffle=True), DataLoader(list(zip(x[:16], y[:16])), bs=16))
    learner = Learner(loaders, nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), loss_func=nn.MSELoss(), opt_func=kind, lr=0.01, cbs=callbacks)
    with learner.no_bar(), learner.no_logging(): run(learner); told(learner)
with learner.no_bar(), tempfile.TemporaryDirectory() as folder: learner.path = Path(folder); learner.save("a"); learner.load("a"); show(learner.get_preds()[0])
rng = np.random.RandomState(0); table = pd.DataFrame({"c": rng.choice(list("abc"), 80), "n": rng.randn(80), "m": np.where(rng.rand(80) < 0.1, np.nan, rng.randn(80))}); table["y"] = np.where(table.n > 0, "p", "q")
set_seed(0); loaders = TabularDataLoaders.from_df(table, procs=[Categorify, FillMissing, Normalize], cat_names=["c"], cont_names=["n", "m"], y_names="y", valid_idx=list(range(20)), bs=16)
learner = tabular_learner(loaders, layers=[20, 10], n_out=2, metrics=accuracy)
with learner.no_bar(), learner.no_logging(): learner.fit_one_cycle(2, 1e-2); told(learner)
picture = TensorImage(torch.rand(2, 3, 16, 16))
for transform in (Flip(p=1.0), Brightness(p=1.0), Rotate(p=1.0), Warp(p=1.0), RandomErasing(p=1.0)): set_seed(0); show(type(transform).__name__, transform(picture, split_idx=0))
set_seed(0); show(xresnet18(n_out=2).eval()(torch.randn(1, 3, 32, 32)), type(picture[0] + 1).__name__)
""",
    ),
    "ultralytics training": (
        ["ultralytics"],
        """
import csv, logging, os, tempfile
os.environ["YOLO_CONFIG_DIR"], os.environ["YOLO_VERBOSE"] = tempfile.mkdtemp(), "False"
import numpy as np, torch
from ultralytics.utils import LOGGER
LOGGER.setLevel(logging.ERROR)
import cv2, yaml
from ultralytics import YOLO
with tempfile.TemporaryDirectory() as d:
    rng = np.random.RandomState(0)
    for part in ("train", "val"):
        os.makedirs(f"{d}/images/{part}"); os.makedirs(f"{d}/labels/{part}")
        for i in range(4):
            cv2.imwrite(f"{d}/images/{part}/{i}.jpg", rng.randint(0, 255, (64, 64, 3)).astype("uint8"))
            with open(f"{d}/labels/{part}/{i}.txt", "w") as file: file.write(f"{i % 2} 0.5 0.5 0.4 0.3")
    with open(d + "/d.yaml", "w") as file: yaml.safe_dump({"path": d, "train": "images/train", "val": "images/val", "names": {0: "a", 1: "b"}}, file)
    torch.manual_seed(0); net = YOLO("yolo11n.yaml", verbose=False)
    net.train(data=d + "/d.yaml", epochs=2, imgsz=64, batch=2, device="cpu", workers=0, project=d, name="t", verbose=False, plots=False, seed=0, amp=False, mosaic=0.0, optimizer="SGD", lr0=0.001)
    with open(d + "/t/results.csv") as file:
        for row in csv.DictReader(file): print(*(f"{float(v):.2f}" for k, v in row.items() if "loss" in k))
    best = YOLO(d + "/t/weights/best.pt"); print(f"{best.model(torch.ones(1, 3, 64, 64))[0].mean().item():.3f}", sorted(os.listdir(d + "/t/weights")))
""",
    ),
    "tensordict": (
        ["tensordict"],
        """
import torch, tempfile
from torch import nn
from tensordict import TensorDict, tensorclass
torch.manual_seed(0)
td = TensorDict({"a": torch.randn(3, 4), "b": {"c": torch.ones(3, 2)}}, [3])
print(td, torch.cat([td, td])["b", "c"].sum().item(), [round(x, 4) for x in td.apply(lambda x: x * 2).mean(0)["a"].tolist()])
print([round(x, 4) for x in torch.vmap(lambda t: t["a"].sum() + t["b", "c"].prod())(td).tolist()])
print(torch.vmap(lambda t: t.apply(lambda x: x + 1), chunk_size=2)(td)["b", "c"].tolist())
layers, shell = [nn.Linear(4, 2) for _ in range(3)], nn.Linear(4, 2, device="meta")
def run(parameters, x):
    with parameters.to_module(shell): return shell(x)
print([round(x, 4) for x in torch.vmap(run, (0, None))(TensorDict.from_modules(*layers, as_module=True), torch.randn(5, 4)).sum((1, 2)).tolist()])
with tempfile.TemporaryDirectory() as folder:
    td.memmap(folder); print(TensorDict.load_memmap(folder)["b", "c"].sum().item())
""",
    ),
    "torchrl": (
        ["torchrl", "tensordict"],
        """
import torch
from torchrl.modules import MLP, TanhNormal, ValueOperator
from torchrl.objectives.value import GAE
from tensordict import TensorDict
torch.manual_seed(0)
d = TanhNormal(torch.zeros(3), torch.ones(3)); x = d.rsample(); print([round(v, 4) for v in [*x.tolist(), *d.log_prob(x.unsqueeze(0)).tolist()]])
value = GAE(gamma=0.9, lmbda=0.95, value_network=ValueOperator(MLP(in_features=3, out_features=1, num_cells=[4]), in_keys=["observation"]))
done = torch.zeros(2, 5, 1, dtype=torch.bool)
following = {"observation": torch.randn(2, 5, 3), "reward": torch.randn(2, 5, 1), "done": done, "terminated": done}
print([round(v, 4) for v in value(TensorDict({"observation": torch.randn(2, 5, 3), "next": following}, [2, 5]))["advantage"].flatten().tolist()])
""",
    ),
    "opacus": (
        ["opacus"],
        """
import torch
from torch import nn
from opacus import PrivacyEngine
torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(20, 4), torch.arange(20) % 2)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)); engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(module=model, optimizer=torch.optim.SGD(model.parameters(), 0.1),
                                               data_loader=torch.utils.data.DataLoader(data, batch_size=5), noise_multiplier=1.0, max_grad_norm=1.0)
for x, y in loader:
    optimizer.zero_grad(); nn.functional.cross_entropy(model(x), y).backward(); optimizer.step()
print(round(engine.get_epsilon(1e-5), 4), [round(p.abs().sum().item(), 3) for p in model.parameters()])
""",
    ),
}
