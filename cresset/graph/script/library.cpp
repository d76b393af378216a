// Operators that archives call and that are no rows here, as TorchScript over rows.

#include "cresset/graph/script/sugar.h"

namespace cresset::graph::script {

namespace {

constexpr const char* kTexts[][2] = {
    {"_native_multi_head_attention", R"(
def _native_multi_head_attention(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor, qkv_bias: Tensor,
                                 proj_weight: Tensor, proj_bias: Tensor, mask: Optional[Tensor] = None, need_weights: bool = True,
                                 average_attn_weights: bool = True, mask_type: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    size = [query.size(0), -1, num_head, embed_dim // num_head]
    heads: List[Tensor] = []
    for i, x in enumerate([query, key, value]):
        part = torch.linear(x, qkv_weight[i * embed_dim:(i + 1) * embed_dim], qkv_bias[i * embed_dim:(i + 1) * embed_dim])
        heads.append(part.reshape(size).transpose(1, 2))
    scores = torch.matmul(heads[0], heads[1].transpose(-2, -1)) * (1.0 / math.sqrt(embed_dim // num_head))
    if mask is not None:
        m = mask
        if m.dim() == 2 and mask_type is not None and mask_type == 1:
            m = m.reshape([m.size(0), 1, 1, m.size(1)])
        scores = scores.masked_fill(m, -inf) if m.dtype == torch.bool else scores + m
    weights = torch.softmax(scores, -1)
    out = torch.matmul(weights, heads[2]).transpose(1, 2).reshape([query.size(0), -1, embed_dim])
    return torch.linear(out, proj_weight, proj_bias), weights.mean([1]) if average_attn_weights else weights
)"},
    {"_transformer_encoder_layer_fwd", R"(
def _transformer_encoder_layer_fwd(src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor,
                                   proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Tensor, norm_bias_1: Tensor,
                                   norm_weight_2: Tensor, norm_bias_2: Tensor, ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor,
                                   ffn_bias_2: Tensor, mask: Optional[Tensor] = None, mask_type: Optional[int] = None) -> Tensor:
    x = torch.layer_norm(src, [embed_dim], norm_weight_1, norm_bias_1, eps) if norm_first else src
    y = src + torch._native_multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)[0]
    if not norm_first:
        y = torch.layer_norm(y, [embed_dim], norm_weight_1, norm_bias_1, eps)
    x = torch.layer_norm(y, [embed_dim], norm_weight_2, norm_bias_2, eps) if norm_first else y
    x = torch.linear(x, ffn_weight_1, ffn_bias_1)
    x = y + torch.linear(torch.gelu(x) if use_gelu else torch.relu(x), ffn_weight_2, ffn_bias_2)
    return x if norm_first else torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)
)"},
    // Functions of torch.nn.init, as archives call them.
    {"_no_grad_zero_", R"(
def _no_grad_zero_(tensor: Tensor) -> Tensor:
    with torch.no_grad():
        return tensor.zero_()
)"},
    {"_no_grad_fill_", R"(
def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    with torch.no_grad():
        return tensor.fill_(val)
)"},
    {"_no_grad_uniform_", R"(
def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Optional[Generator] = None) -> Tensor:
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)
)"},
    {"_no_grad_normal_", R"(
def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Optional[Generator] = None) -> Tensor:
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)
)"},
    // As archives call it, which have padded the input before.
    {"stft", R"(
def stft(self: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Tensor] = None,
         normalized: bool = False, onesided: Optional[bool] = None, return_complex: Optional[bool] = None,
         align_to_window: Optional[bool] = None) -> Tensor:
    return torch.stft(self, n_fft, hop_length, win_length, window, False, "constant", normalized, onesided, return_complex, align_to_window)
)"},
    {"float_power_", R"(
def float_power_(self: Tensor, exponent: number) -> Tensor:
    return self.copy_(torch.float_power(self, exponent))
)"},
    {"cpu", R"(
def cpu(self: Tensor) -> Tensor:
    return self.to(device=torch.device("cpu"))
)"},
    // Quotients of integers were integers before version 4 of archives.
    {"div_Tensor_0_3", R"(
def div_Tensor_0_3(self: Tensor, other: Tensor) -> Tensor:
    if self.is_floating_point() or self.is_complex() or other.is_floating_point() or other.is_complex():
        return torch.div(self, other)
    return torch.div(self, other, rounding_mode="trunc")
)"},
    {"div_Scalar_0_3", R"(
def div_Scalar_0_3(self: Tensor, other: int) -> Tensor:
    if self.is_floating_point() or self.is_complex():
        return torch.div(self, other)
    return torch.div(self, other, rounding_mode="trunc")
)"},
    {"div__Tensor_0_3", R"(
def div__Tensor_0_3(self: Tensor, other: Tensor) -> Tensor:
    if self.is_floating_point() or self.is_complex() or other.is_floating_point() or other.is_complex():
        return self.div_(other)
    return self.div_(other, rounding_mode="trunc")
)"},
    {"div__Scalar_0_3", R"(
def div__Scalar_0_3(self: Tensor, other: int) -> Tensor:
    if self.is_floating_point() or self.is_complex():
        return self.div_(other)
    return self.div_(other, rounding_mode="trunc")
)"},
    {"div_out_0_3", R"(
def div_out_0_3(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    is_exact = out.is_floating_point() or out.is_complex()
    if is_exact or self.is_floating_point() or self.is_complex() or other.is_floating_point() or other.is_complex():
        return torch.div(self, other, out=out)
    return torch.div(self, other, rounding_mode="trunc", out=out)
)"},
    // Without a dtype, whole numbers filled with floats before version 5.
    {"full_0_4", R"(
def full_0_4(size: List[int], fill_value: number, *, dtype: Optional[dtype] = None, layout: Optional[layout] = None, device: Optional[device] = None,
             pin_memory: Optional[bool] = None) -> Tensor:
    value = fill_value * 1.0 if dtype is None else fill_value
    return torch.full(size, value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)"},
    // Steps had a default before version 8, and 9 of logspace.
    {"linspace_0_7", R"(
def linspace_0_7(start: number, end: number, steps: Optional[int] = None, *, dtype: Optional[dtype] = None, layout: Optional[layout] = None,
                 device: Optional[device] = None, pin_memory: Optional[bool] = None) -> Tensor:
    return torch.linspace(start, end, 100 if steps is None else steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)"},
    {"linspace_out_0_7", R"(
def linspace_out_0_7(start: number, end: number, steps: Optional[int] = None, *, out: Tensor) -> Tensor:
    return torch.linspace(start, end, 100 if steps is None else steps, out=out)
)"},
    {"logspace_out_0_8", R"(
def logspace_out_0_8(start: number, end: number, steps: Optional[int] = None, base: float = 10.0, *, out: Tensor) -> Tensor:
    return torch.logspace(start, end, 100 if steps is None else steps, base, out=out)
)"},
    {"logspace_0_8", R"(
def logspace_0_8(start: number, end: number, steps: Optional[int] = None, base: float = 10.0, *, dtype: Optional[dtype] = None,
                 layout: Optional[layout] = None, device: Optional[device] = None, pin_memory: Optional[bool] = None) -> Tensor:
    return torch.logspace(start, end, 100 if steps is None else steps, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)"},
};

struct Resize {
  const char *name, *by;
  bool takes_corners;
};
// Resizing by a size or by factors, of which one is None. Where a row has the name, with a number for each factor, this is its other overload.
constexpr Resize kResizing[] = {{"upsample_nearest1d", "upsample_nearest", false},
                                {"upsample_nearest2d", "upsample_nearest", false},
                                {"upsample_nearest3d", "upsample_nearest", false},
                                {"_upsample_nearest_exact1d", "upsample_nearest_exact", false},
                                {"_upsample_nearest_exact2d", "upsample_nearest_exact", false},
                                {"_upsample_nearest_exact3d", "upsample_nearest_exact", false},
                                {"upsample_linear1d", "upsample_linear", true},
                                {"upsample_bilinear2d", "upsample_linear", true},
                                {"upsample_trilinear3d", "upsample_linear", true},
                                {"upsample_bicubic2d", "upsample_bicubic", true}};

std::string text_of_library(const std::string& name) {
  for (const auto& [known, text] : kTexts)
    if (name == known) return text;
  for (const std::string mode : {"reflect", "replicate"})
    for (const char* const dims : {"1", "2", "3"})
      if (name == (mode == "reflect" ? "reflection_pad" : "replication_pad") + std::string(dims) + "d")
        return "def " + name + "(self: Tensor, padding: List[int]) -> Tensor:\n    return torch.pad(self, padding, \"" + mode + "\")\n";
  for (const Resize& r : kResizing) {
    if (name != r.name) continue;
    const std::string corners = r.takes_corners ? "align_corners: bool, " : "";
    return "def " + name + "(input: Tensor, output_size: Optional[List[int]], " + corners +
           "scale_factors: Optional[List[float]]) -> Tensor:\n    return torch." + r.by + "(input, output_size, " + (r.takes_corners ? "align_corners, " : "") +
           "scale_factors)\n";
  }
  return {};
}

constexpr std::string_view kHome = "__torch__.cresset.";

}  // namespace

std::string library_operator(const std::string& function) {
  if (function.compare(0, kHome.size(), kHome) != 0) return {};
  const std::string name = function.substr(kHome.size());
  // Those that end with the versions that they were of are no operators of today.
  return name.size() > 4 && name.compare(name.size() - 4, 3, "_0_") == 0 ? std::string() : name;
}

Function* library_function(const std::string& name) {
  static std::recursive_mutex mutex;
  static auto* const unit = new std::shared_ptr<CompilationUnit>(std::make_shared<CompilationUnit>());
  static auto* const made = new std::map<std::string, Function*>;
  const std::lock_guard lock(mutex);
  if (const auto found = made->find(name); found != made->end()) return found->second;
  const std::string text = text_of_library(name);
  if (text.empty()) return nullptr;
  (*unit)->define_text(text, nullptr, std::string(kHome));
  return (*made)[name] = (*unit)->find(std::string(kHome) + name);
}

}  // namespace cresset::graph::script
