#!/usr/bin/env python3
"""Asks the compiler which names of LibTorch's C++ front end `#include <torch/torch.h>` of the compat folder declares.

    tools/cpp_names.py --list ../shared/parity/cpp_api_libtorch_2_13.txt

The list has lines `torch.nn.LinearOptions.in_features<TAB>option<TAB>header`. One using-declaration is compiled for each name; those that
are missing are printed with the compiler's words, and make the exit status 1 unless EXCEPTIONS says why they are not wanted.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("nn", "optim", "data", "serialize", "autograd", "jit")

# Names that are not wanted, and why.
EXCEPTIONS = {
    "torch.autograd.CppNode.apply_with_saved": "compiled autograd traces nodes; here graphs are captured above autograd",
    "torch.autograd.CppNode.compiled_args": "compiled autograd, see apply_with_saved",
    "torch.autograd.CppNode_apply_functional": "compiled autograd, see apply_with_saved",
    "torch.autograd.CppNode_apply_functional_ivalue": "compiled autograd, see apply_with_saved",
    "torch.autograd.CppNode.save_variables_to_ctx": "a step of how the node is made, which CustomNode::finish does",
    "torch.autograd.CppNode.set_ctx_grad_fn": "a step of how the node is made, which its constructor does",
    "torch.optim.AdamOptions.0.999": "no name: the list's scanner read a default value",
    "torch.optim.AdamWOptions.0.999": "no name: the list's scanner read a default value",
    "torch.serialize.OutputArchive.compilation_unit": "TorchScript, which archives here do not hold",
}

# Bases to derive from, to see the members of class templates.
ARGUMENTS = {
    "autograd.CppNode": "<TheFunction>",
    "autograd.Function": "<TheFunction>",
    "data.DataLoaderBase": "<TheDataset, std::vector<torch::data::Example<>>, std::vector<size_t>>",
    "data.Example": "<>",
    "data.Iterator": "<int>",
    "data.StatefulDataLoader": "<TheStream>",
    "data.StatelessDataLoader": "<TheDataset, torch::data::samplers::RandomSampler>",
    "data.datasets.BatchDataset": "<TheDataset, std::vector<torch::data::Example<>>>",
    "data.datasets.ChunkDataReader": "<int>",
    "data.datasets.ChunkDataset": "<TheReader>",
    "data.datasets.Dataset": "<TheDataset>",
    "data.datasets.MapDataset": "<TheDataset, torch::data::transforms::Stack<>>",
    "data.datasets.SharedBatchDataset": "<TheDataset>",
    "data.datasets.StatefulDataset": "<TheStream>",
    "data.samplers.DistributedSampler": "<>",
    "data.samplers.Sampler": "<>",
    "data.transforms.BatchLambda": "<int>",
    "data.transforms.BatchTransform": "<int, int>",
    "data.transforms.Lambda": "<int>",
    "data.transforms.Normalize": "<>",
    "data.transforms.Stack": "<>",
    "data.transforms.TensorLambda": "<>",
    "data.transforms.TensorTransform": "<>",
    "data.transforms.Transform": "<int, int>",
    "jit.Named": "<int>",
    "jit.slot_iterator_impl": "<torch::jit::Module>",
    "jit.slot_list_impl": "<torch::jit::Module>",
    "nn.AnyModuleHolder": "<torch::nn::LinearImpl, torch::Tensor>",
    "nn.BatchNormImplBase": "<2, torch::nn::BatchNorm2dImpl>",
    "nn.Cloneable": "<torch::nn::LinearImpl>",
    "nn.ConvNdImpl": "<2, torch::nn::Conv2dImpl>",
    "nn.ConvTransposeNdImpl": "<2, torch::nn::ConvTranspose2dImpl>",
    "nn.InstanceNormImpl": "<2, torch::nn::InstanceNorm2dImpl>",
    "nn.ModuleHolder": "<torch::nn::LinearImpl>",
    "nn.NormImplBase": "<2, torch::nn::BatchNorm2dImpl, torch::nn::BatchNormOptions>",
}
for _name in ("AvgPool", "ConstantPad", "LPPool", "MaxPool", "MaxUnpool", "ReflectionPad", "ReplicationPad", "ZeroPad"):
    ARGUMENTS[f"nn.{_name}Impl"] = f"<2, torch::nn::{_name}2dImpl>"
    ARGUMENTS[f"nn.{_name}Options"] = "<2>"
for _name in ("AdaptiveAvgPool", "AdaptiveMaxPool"):
    ARGUMENTS[f"nn.{_name}Impl"] = f"<2, torch::ExpandingArrayWithOptionalElem<2>, torch::nn::{_name}2dImpl>"
    ARGUMENTS[f"nn.{_name}Options"] = "<torch::ExpandingArrayWithOptionalElem<2>>"
for _name in (
    "nn.Conv",
    "nn.ConvTranspose",
    "nn.FractionalMaxPool",
    "nn.functional.ConvFunc",
    "nn.functional.ConvTransposeFunc",
    "nn.functional.MaxUnpoolFunc",
):
    ARGUMENTS[f"{_name}Options"] = "<2>"

PREAMBLE = """#include <torch/script.h>
#include <torch/csrc/jit/serialization/export.h>
using namespace torch::data;
struct TheDataset : datasets::Dataset<TheDataset> {
  Example<> get(size_t) override;
  std::optional<size_t> size() const override;
};
struct TheStream : datasets::StatefulDataset<TheStream> {
  std::optional<std::vector<Example<>>> get_batch(size_t) override;
  std::optional<size_t> size() const override;
  void reset() override;
  void save(torch::serialize::OutputArchive&) const override;
  void load(torch::serialize::InputArchive&) override;
};
struct TheFunction : torch::autograd::Function<TheFunction> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor&);
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list);
};
struct TheReader : datasets::ChunkDataReader<Example<>> {
  std::vector<Example<>> read_chunk(size_t) override;
  size_t chunk_count() override;
  void reset() override;
};
"""


def probe(name: str, number: int, kinds: dict[str, str]) -> str:
    """A declaration that compiles only where the name is there."""
    parts = name.split(".")
    owners = [i for i in range(2, len(parts)) if kinds.get(".".join(parts[:i])) in ("class", "module")]
    if not owners:
        return f"namespace p{number} {{ using {'::'.join(parts)}; }}"
    spelled = "torch"
    for i, part in enumerate(parts[1:-1], 1):
        spelled += f"::{part}" + ARGUMENTS.get(".".join(parts[1 : i + 1]), "")
    return f"struct P{number} : {spelled} {{ using {spelled}::{parts[-1]}; }};"


def undeclared(probes: list[str], build: Path, preamble: str = PREAMBLE) -> dict[int, str]:
    """The numbers of the probes that do not compile, with the compiler's words."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "names.cpp"
        source.write_text(preamble + "\n".join(probes) + "\n")
        done = subprocess.run(
            ["g++", "-std=c++17", "-fsyntax-only", "-fmax-errors=0", "-w", f"-I{ROOT}", f"-I{ROOT}/compat/include", f"-I{build}/generated", str(source)],
            capture_output=True, text=True,
        )  # fmt: skip
    first = preamble.count("\n") + 1
    wrong: dict[int, str] = {}
    for place, line, message in re.findall(r"^([^\s:]+):(\d+):\d+: error: (.*)", done.stderr, flags=re.M):
        if Path(place).name != "names.cpp" or int(line) < first:
            sys.exit(f"cpp_names: a header does not compile: {place}:{line}: {message}")
        wrong.setdefault(int(line) - first, message)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", type=Path, default=ROOT / "../shared/parity/cpp_api_libtorch_2_13.txt")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    options = parser.parse_args()
    if not options.list.exists():
        print(f"cpp_names skipped 1: there is no {options.list}")
        return 0
    kinds = {name: kind for name, kind, _ in (line.split("\t") for line in options.list.read_text().splitlines())}
    names = [name for name in kinds if name.split(".")[1] in ROOMS and "." in name[6:] and name not in EXCEPTIONS]
    wrong = undeclared([probe(name, i, kinds) for i, name in enumerate(names)], options.build)
    for i, message in sorted(wrong.items()):
        print(f"MISSING {names[i]}: {message}")
    print(f"cpp_names {len(names) - len(wrong)}/{len(names)}, {len(EXCEPTIONS)} not wanted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
