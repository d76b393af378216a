#include "cresset/graph/io/pt2_forms.h"

#include <map>

namespace cresset::graph {

namespace {

// $8 stands for the first eight arguments.
struct FormText {
  const char *schema, *body;
};
// A body may give more results than the operator: those are left out.
constexpr const char kEmbeddingBag[] =
    "%pads: bool = ir::ge(%padding_idx, 0) %a: Tensor, %b: Tensor, %c: Tensor, %d: Tensor = ir::if(%pads) { %a1: Tensor, %b1: Tensor, %c1: Tensor, %d1: "
    "Tensor = embedding_bag.padding_idx($9) return %a1, %b1, %c1, %d1 } { %a2: Tensor, %b2: Tensor, %c2: Tensor, %d2: Tensor = embedding_bag($8) "
    "return %a2, %b2, %c2, %d2 } return %a, %b, %c, %d";
constexpr const char kWeightNorm[] =
    "%norms: Tensor = norm_except_dim(%v, 2, %dim) %factors: Tensor = div.Tensor(%g, %norms) %w: Tensor = mul.Tensor(%v, %factors) return %w, %norms";
constexpr const char kOnGrid[] =
    "%inverse: float = ir::truediv(1.0, %scale) %scaled: Tensor = mul.Scalar(%self, %inverse) %moved: Tensor = add.Scalar(%scaled, %zero_point, 1) "
    "%places: Tensor = round(%moved) %above: Tensor = ge.Scalar(%places, %quant_min) %below: Tensor = le.Scalar(%places, %quant_max) "
    "%mask: Tensor = logical_and(%above, %below) %inside: Tensor = clamp(%places, %quant_min, %quant_max) "
    "%back: Tensor = sub.Scalar(%inside, %zero_point, 1) %y: Tensor = mul.Scalar(%back, %scale) return %y, %mask";
// Scales and zero points get dimensions of size 1 for those of the tensor behind the channels.
constexpr const char kOnGridOfChannels[] =
    "%rank: int = ir::dim(%self) %behind: int = ir::sub(%rank, %axis) %n: int = ir::sub(%behind, 1) "
    "%s: Tensor, %z: Tensor = ir::loop(%n, true, %scale, %zero_point) (%k: int, %s0: Tensor, %z0: Tensor) { "
    "%s1: Tensor = unsqueeze(%s0, -1) %z1: Tensor = unsqueeze(%z0, -1) return true, %s1, %z1 } "
    "%inverse: Tensor = reciprocal(%s) %scaled: Tensor = mul.Tensor(%self, %inverse) %moved: Tensor = add.Tensor(%scaled, %z, 1) "
    "%places: Tensor = round(%moved) %above: Tensor = ge.Scalar(%places, %quant_min) %below: Tensor = le.Scalar(%places, %quant_max) "
    "%mask: Tensor = logical_and(%above, %below) %inside: Tensor = clamp(%places, %quant_min, %quant_max) "
    "%back: Tensor = sub.Tensor(%inside, %z, 1) %wide: Tensor = mul.Tensor(%back, %s) %y: Tensor = type_as(%wide, %self) return %y, %mask";
constexpr FormText kForms[] = {
    // ---- memory and views ----
    {"detach(Tensor self) -> Tensor", "%y: Tensor = alias(%self) return %y"},
    {"detach_(Tensor self) -> Tensor", "%y: Tensor = alias(%self) return %y"},
    {"lift(Tensor self) -> Tensor", "%y: Tensor = alias(%self) return %y"},
    {"lift_fresh(Tensor self) -> Tensor", "%y: Tensor = alias(%self) return %y"},
    {"lift_fresh_copy(Tensor self) -> Tensor", "%y: Tensor = clone(%self, none) return %y"},
    {"pin_memory(Tensor self, Device? device=None) -> Tensor", "%y: Tensor = alias(%self) return %y"},
    {"copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = copy_(%fresh, %src, false) return %y"},
    {"zero(Tensor self) -> Tensor", "%y: Tensor = zeros_like(%self, none, none, none, none, none) return %y"},
    {"_unsafe_view(Tensor self, SymInt[] size) -> Tensor", "%y: Tensor = reshape(%self, %size) return %y"},
    {"_reshape_alias(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor", "%y: Tensor = reshape(%self, %size) return %y"},
    {"_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", "%y: Tensor = index.Tensor(%self, %indices) return %y"},
    {"_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     "%y: Tensor = index_put(%self, %indices, %values, %accumulate) return %y"},
    {"meshgrid(Tensor[] tensors) -> Tensor[]", "%y: List[Tensor] = meshgrid.indexing(%tensors, \"ij\") return %y"},
    {"_conj_physical(Tensor self) -> Tensor", "%y: Tensor = conj_physical(%self) return %y"},
    {"resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = resize_(%fresh, %size, %memory_format) return %y"},
    {"resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = resize_as_(%fresh, %the_template, %memory_format) return %y"},
    {"tensor_split.tensor_indices_or_sections(Tensor self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]",
     "%rank: int = ir::dim(%tensor_indices_or_sections) %is_number: bool = ir::eq(%rank, 0) %y: List[Tensor] = ir::if(%is_number) { "
     "%item: number = ir::item(%tensor_indices_or_sections) %n: int = ir::int(%item) %a: List[Tensor] = tensor_split.sections(%self, %n, %dim) return %a } { "
     "%ints: List[int] = ir::ints(%tensor_indices_or_sections) %b: List[Tensor] = tensor_split.indices(%self, %ints, %dim) return %b } return %y"},
    // ---- softmax and losses ----
    {"_softmax(Tensor self, int dim, bool half_to_float=False) -> Tensor",
     "%x: Tensor = ir::if(%half_to_float) { %wide: Tensor = _to_copy(%self, dtype.float32, none, none, none, false, none) return %wide } { return %self } "
     "%y: Tensor = _softmax(%x, %dim) return %y"},
    {"_log_softmax(Tensor self, int dim, bool half_to_float=False) -> Tensor",
     "%x: Tensor = ir::if(%half_to_float) { %wide: Tensor = _to_copy(%self, dtype.float32, none, none, none, false, none) return %wide } { return %self } "
     "%y: Tensor = _log_softmax(%x, %dim) return %y"},
    {"log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
     "%y: Tensor = log_sigmoid(%self) %buffer: Tensor = new_empty(%self, [0], none, none, none, none) return %y, %buffer"},
    {"nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
     "%y: Tensor, %total: Tensor = nll_loss_forward(%self, %target, %weight, %reduction, %ignore_index) return %y, %total"},
    {"_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
     "%above: Tensor = gt.Scalar(%self, 0) %scaled: Tensor = mul.Tensor(%self, %weight) %y: Tensor = where.self(%above, %self, %scaled) return %y"},
    {"rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? "
     "generator=None) -> (Tensor, Tensor)",
     "%y: Tensor, %n: Tensor = ir::if(%training) { %drawn: Tensor = _rrelu_noise(%self, %lower, %upper, %generator) %x: Tensor = mul.Tensor(%self, %drawn) "
     "return %x, %drawn } { %x2: Tensor = rrelu(%self, %lower, %upper, false, %generator) return %x2, %noise } return %y, %n"},
    // ---- normalization ----
    {"_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
     "(Tensor, Tensor, Tensor)",
     "%y: Tensor, %m: Tensor, %s: Tensor = native_batch_norm(%input, %weight, %bias, %running_mean, %running_var, false, %momentum, %eps) return %y, %m, %s"},
    {"_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, "
     "float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
     "%mean: Tensor = clone(%running_mean, none) %var: Tensor = clone(%running_var, none) "
     "%y: Tensor, %m: Tensor, %s: Tensor = native_batch_norm(%input, %weight, %bias, %mean, %var, %training, %momentum, %eps) return %y, %m, %s, %mean, %var"},
    {"_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
     "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
     "%mean: Tensor = clone(%running_mean, none) %var: Tensor = clone(%running_var, none) "
     "%y: Tensor, %m: Tensor, %s: Tensor = native_batch_norm(%input, %weight, %bias, %mean, %var, true, %momentum, %eps) "
     "%reserve: Tensor = new_empty(%input, [0], dtype.uint8, none, none, none) return %y, %m, %s, %reserve, %mean, %var"},
    {"_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, float momentum, float eps) -> "
     "(Tensor, Tensor, Tensor, Tensor)",
     "%y: Tensor, %m: Tensor, %s: Tensor = native_batch_norm(%input, %weight, %bias, %running_mean, %running_var, false, %momentum, %eps) "
     "%reserve: Tensor = new_empty(%input, [0], dtype.uint8, none, none, none) return %y, %m, %s, %reserve"},
    {"_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
     "%n1: int = ir::len(%expand1) %f1: Tensor = ir::loop(%n1, true, %i1) (%k1: int, %t1: Tensor) { %d1: int = ir::getitem(%expand1, %k1) "
     "%u1: Tensor = unsqueeze(%t1, %d1) return true, %u1 } "
     "%n2: int = ir::len(%expand2) %f2: Tensor = ir::loop(%n2, true, %i2) (%k2: int, %t2: Tensor) { %d2: int = ir::getitem(%expand2, %k2) "
     "%u2: Tensor = unsqueeze(%t2, %d2) return true, %u2 } "
     "%n3: int = ir::len(%expand3) %f3: Tensor = ir::loop(%n3, true, %i3) (%k3: int, %t3: Tensor) { %d3: int = ir::getitem(%expand3, %k3) "
     "%u3: Tensor = unsqueeze(%t3, %d3) return true, %u3 } "
     "%two: Tensor = mul.Tensor(%f2, %f1) %all: Tensor = mul.Tensor(%f3, %two) %y: Tensor = sum.dim_IntList(%all, %sumdim, false, none) return %y"},
    {"_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", kWeightNorm},
    {"_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", kWeightNorm},
    // ---- padding, bags, distances ----
    {"reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", "%y: Tensor = pad(%self, %padding, \"reflect\", none) return %y"},
    {"reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", "%y: Tensor = pad(%self, %padding, \"reflect\", none) return %y"},
    {"reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", "%y: Tensor = pad(%self, %padding, \"reflect\", none) return %y"},
    {"replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", "%y: Tensor = pad(%self, %padding, \"replicate\", none) return %y"},
    {"replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", "%y: Tensor = pad(%self, %padding, \"replicate\", none) return %y"},
    {"replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", "%y: Tensor = pad(%self, %padding, \"replicate\", none) return %y"},
    {"_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
     "per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     kEmbeddingBag},
    {"_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
     "per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     kEmbeddingBag},
    {"embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = embedding_renorm_(%fresh, %indices, %max_norm, %norm_type) return %y"},
    {"_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]",
     "%h: Tensor, %y: List[Tensor] = histogramdd($5) return %y"},
    {"_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor",
     "%y: Tensor, %edges: List[Tensor] = histogramdd($5) return %y"},
    {"_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor",
     "%y: Tensor, %edges: List[Tensor] = histogramdd.TensorList_bins(%self, %bins, none, %weight, %density) return %y"},
    {"_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", "%y: Tensor = cdist(%x1, %x2, %p, %compute_mode) return %y"},
    {"_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", "%y: Tensor = cdist(%x1, %x2, 2.0, none) return %y"},
    {"_pdist_forward(Tensor self, float p=2.) -> Tensor", "%y: Tensor = pdist(%self, %p) return %y"},
    {"_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
     "%none: bool = ir::is_none(%scales) %all: Optional[List[float]] = ir::if(%none) { return none } { %list: List[float] = ir::list(%scales) return %list } "
     "%y: Tensor = _resize_images(%self, %output_size, 1, false, false, %all) return %y"},
    {"_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor",
     "%none: bool = ir::is_none(%scales_h) %all: Optional[List[float]] = ir::if(%none) { return none } { %list: List[float] = ir::list(%scales_h, %scales_w) "
     "return %list } "
     "%y: Tensor = _resize_images(%self, %output_size, 1, false, false, %all) return %y"},
    {"_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
     "%none: bool = ir::is_none(%scales_d) %all: Optional[List[float]] = ir::if(%none) { return none } { %list: List[float] = ir::list(%scales_d, %scales_h, "
     "%scales_w) "
     "return %list } %y: Tensor = _resize_images(%self, %output_size, 1, false, false, %all) return %y"},
    // ---- linear algebra, transforms ----
    {"_linalg_eigvals(Tensor self) -> Tensor", "%y: Tensor = linalg_eigvals(%self) return %y"},
    {"linalg_matrix_exp(Tensor self) -> Tensor", "%y: Tensor = matrix_exp(%self) return %y"},
    {"_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
     // The factors are those of the matrices as columns.
     "%y: Tensor = linalg_det(%A) %inner: int = ir::stride(%A, -1) %are_rows: bool = ir::eq(%inner, 1) "
     "%m: Tensor = ir::if(%are_rows) { %t: Tensor = transpose.int(%A, -2, -1) return %t } { return %A } "
     "%lu: Tensor, %pivots: Tensor, %info: Tensor = linalg_lu_factor_ex(%m, true, false) return %y, %lu, %pivots"},
    {"_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
     "%sign: Tensor, %log: Tensor = linalg_slogdet(%A) %inner: int = ir::stride(%A, -1) %are_rows: bool = ir::eq(%inner, 1) "
     "%m: Tensor = ir::if(%are_rows) { %t: Tensor = transpose.int(%A, -2, -1) return %t } { return %A } "
     "%lu: Tensor, %pivots: Tensor, %info: Tensor = linalg_lu_factor_ex(%m, true, false) "
     "return %sign, %log, %lu, %pivots"},
    {"_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
     "%y: Tensor, %info: Tensor = linalg_solve_ex(%A, %B, %left, %check_errors) %lu: Tensor, %pivots: Tensor, %of_lu: Tensor = linalg_lu_factor_ex(%A, true, "
     "false) return %y, %lu, %pivots, %info"},
    {"_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
     "%zero: Tensor = eq.Scalar(%info, 0) %all: Tensor = all(%zero) %holds: number = ir::item(%all) %is: bool = ir::bool(%holds) "
     "ir::check(%is, \"linalg: a matrix is singular, or has no factors\") return"},
    {"stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? "
     "return_complex=None, bool? align_to_window=None) -> Tensor",
     "%y: Tensor = stft.center(%self, %n_fft, %hop_length, %win_length, %window, false, \"reflect\", %normalized, %onesided, %return_complex, "
     "%align_to_window) "
     "return %y"},
    // ---- attention ----
    {"_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, "
     "float? scale=None) -> (Tensor output, Tensor logsumexp)",
     "%whole: bool = ir::eq(%dropout_p, 0.0) ir::check(%whole, \"attention on the CPU: expected a dropout_p of 0\") "
     "%none: bool = ir::is_none(%scale) %s: float = ir::if(%none) { %width: int = ir::size(%query, -1) %root: float = ir::sqrt(%width) "
     "%inverse: float = ir::truediv(1.0, %root) return %inverse } { return %scale } "
     "%y: Tensor, %sums: Tensor = _attention(%query, %key, %value, %attn_mask, %is_causal, %s) return %y, %sums"},
    // ---- random numbers as new tensors ----
    {"uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = uniform_(%fresh, %from, %to, %generator) return %y"},
    {"normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = normal_(%fresh, %mean, %std, %generator) return %y"},
    {"exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = exponential_(%fresh, %lambd, %generator) return %y"},
    {"bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = bernoulli_.Tensor(%fresh, %p, %generator) return %y"},
    {"random(Tensor self, *, Generator? generator=None) -> Tensor", "%fresh: Tensor = clone(%self, none) %y: Tensor = random_(%fresh, %generator) return %y"},
    {"random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = random_.from(%fresh, %from, %to, %generator) return %y"},
    {"random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = random_.to(%fresh, %to, %generator) return %y"},
    {"geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = geometric_(%fresh, %p, %generator) return %y"},
    {"log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = log_normal_(%fresh, %mean, %std, %generator) return %y"},
    {"cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor",
     "%fresh: Tensor = clone(%self, none) %y: Tensor = cauchy_(%fresh, %median, %sigma, %generator) return %y"},
    {"rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? "
     "generator=None) -> (Tensor, Tensor noise_out)",
     "%y: Tensor, %slopes: Tensor = ir::if(%training) { %low: float = ir::float(%lower) %high: float = ir::float(%upper) "
     "%drawn: Tensor = _rrelu_noise(%self, %low, %high, %generator) %scaled: Tensor = mul.Tensor(%self, %drawn) return %scaled, %drawn } "
     "{ %mean: Tensor = rrelu(%self, %lower, %upper, false, none) return %mean, %noise } return %y, %slopes"},
    // ---- rounding to a grid ----
    {"fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
     kOnGrid},
    {"fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor", kOnGrid},
    {"fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, "
     "Tensor mask)",
     kOnGridOfChannels},
    {"fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor", kOnGridOfChannels},
};

std::string text_of(const dispatch::FunctionSchema& schema, std::string body) {
  std::string parameters, values;
  for (size_t i = 0; i < schema.arguments.size(); i++) {
    const dispatch::Argument& a = schema.arguments[i];
    const char* const before = i ? ", %" : "%";
    parameters += before + a.name + ": " + Type::of_schema(a.type).text();
    values += before + a.name;
    const std::string run = "$" + std::to_string(i + 1);
    for (size_t at; (at = body.find(run)) != std::string::npos;) body.replace(at, run.size(), values);
  }
  return "graph @" + schema.name + "(" + parameters + ") { " + body + " }";
}

// By target, made from text at the first question.
std::map<std::string, Form, std::less<>> read_table() {
  std::map<std::string, Form, std::less<>> table;
  for (const FormText& row : kForms) {
    Form form{dispatch::parse_schema(row.schema), nullptr};
    form.body = parse_graph(text_of(form.schema, row.body));
    form.body->for_each([&](const Node& n) { form.branches = form.branches || n.kind() == NodeKind::If; });
    const std::string overload = form.schema.overload.empty() ? "default" : form.schema.overload;
    table.emplace("torch.ops.aten." + form.schema.name + "." + overload, std::move(form));
  }
  return table;
}

}  // namespace

const Form* form_of(std::string_view target) {
  static const auto* const table = new auto(read_table());  // graphs of static objects outlive it otherwise
  const auto found = table->find(target);
  return found == table->end() ? nullptr : &found->second;
}

}  // namespace cresset::graph
