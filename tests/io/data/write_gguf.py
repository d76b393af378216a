"""Writes quantised.gguf with the `gguf` package: two blocks of noise of every quantised type that we read, and beside it what the package
makes of them, as float32 under the name with " as floats" behind it."""

import gguf
import numpy as np

SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}

random = np.random.default_rng(0)
writer = gguf.GGUFWriter("quantised.gguf", "test")
writer.add_string("general.name", "blocks of noise")
writer.add_array("texts", ["a", "", "é"])
writer.add_array("numbers", [1, -2, 3])
writer.add_float32("rate", 1.5)
writer.add_bool("truth", True)
writer.add_uint64("large", 2**63)
for name, scales in SCALES.items():
    kind = gguf.GGMLQuantizationType[name]
    blocks = random.integers(0, 256, size=(2, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    for at in scales:
        blocks[:, at : at + 2] = random.standard_normal(2).astype(np.float16).view(np.uint8).reshape(2, 2)
    writer.add_tensor(name, blocks, raw_dtype=kind)
    writer.add_tensor(f"{name} as floats", gguf.quants.dequantize(blocks, kind))
writer.add_tensor("half", np.arange(6, dtype=np.float16).reshape(2, 3))
writer.add_tensor("bfloat16", np.array([[0x3F80, 0xC000]], dtype=np.uint16).view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
writer.add_tensor("int32", np.arange(6, dtype=np.int32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
