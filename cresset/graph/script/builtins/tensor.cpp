// Facts about tensors, and functions over tensors that are no rows.

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/base/warning.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/tensor_impl.h"
#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/values.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/linalg/subscripts.h"

namespace cresset::graph::script {

namespace {

const Tensor& tensor(const Datum& v) {
  CRESSET_CHECK_TYPE(v.is_tensor() && v.to_tensor().defined(), "expected a tensor, got ", v.kind());
  return v.to_tensor();
}
Datum ints(IntArrayRef list) {
  std::vector<Datum> out;
  for (const int64_t i : list) out.emplace_back(i);
  return make_list(dispatch::ElementKind::Int, std::move(out));
}
int64_t dim_of(const Datum& v, int64_t n) {
  const int64_t d = as_int(v);
  CRESSET_CHECK_INDEX(d >= -n && d < n, "dimension ", d, " is out of range for a tensor of ", n, " dimensions");
  return d < 0 ? d + n : d;
}

// Nested lists of numbers, or of tensors without dimensions, as a tensor.
void gather_numbers(const Datum& v, size_t depth, std::vector<int64_t>& sizes, std::vector<Scalar>& numbers) {
  if (!v.isList()) {
    numbers.push_back(v.is_tensor() ? v.to_tensor().item() : v.to_scalar());
    return;
  }
  const std::vector<Datum> list = v.toListVector();
  if (sizes.size() <= depth) sizes.push_back(static_cast<int64_t>(list.size()));
  CRESSET_CHECK_VALUE(sizes[depth] == static_cast<int64_t>(list.size()), "tensor: expected lists of equal lengths at dimension ", depth, ", got ", sizes[depth],
                      " and ", list.size());
  for (const Datum& e : list) gather_numbers(e, depth + 1, sizes, numbers);
}
ScalarType dtype_of_numbers(const std::vector<Scalar>& numbers) {
  bool is_bool = true, is_int = true, is_complex = false;
  for (const Scalar& s : numbers) {
    is_bool = is_bool && s.isBoolean();
    is_int = is_int && s.isIntegral(true);
    is_complex = is_complex || s.isComplex();
  }
  if (numbers.empty()) return get_default_dtype();
  if (is_complex) return get_default_dtype() == kDouble ? kComplexDouble : kComplexFloat;
  return is_bool ? kBool : is_int ? kLong : get_default_dtype();
}
// Of a list without numbers: what it could hold.
ScalarType dtype_of_elements(const Datum& list) {
  const auto* const o = list.object() ? dynamic_cast<const dispatch::ListObject*>(list.object()->get()) : nullptr;
  if (!o) return get_default_dtype();
  if (!o->elements.empty()) return dtype_of_elements(o->elements[0]);
  return o->element == dispatch::ElementKind::Int ? kLong : o->element == dispatch::ElementKind::Bool ? kBool : get_default_dtype();
}
Tensor tensor_from(const Datum& data, const Datum& dtype, const Datum& device) {
  std::vector<int64_t> sizes;
  std::vector<Scalar> numbers;
  gather_numbers(data, 0, sizes, numbers);
  const ScalarType inferred = dtype_of_numbers(numbers);
  const bool complex_numbers = isComplexType(inferred);
  // Numbers are written to memory, which tensors of a mode may lack.
  FakeMode* const mode = layer_state().fake_mode;
  const FakeModeScope off(nullptr);
  const ExcludeLayers own(layer_bit(Layer::Functionalize));
  Tensor t = empty(sizes, TensorOptions(complex_numbers ? kComplexDouble : inferred == kLong || inferred == kBool ? kLong : kDouble));
  for (size_t i = 0; i < numbers.size(); i++) {
    if (complex_numbers) static_cast<complex<double>*>(t.data_ptr())[i] = numbers[i].toComplexDouble();
    else if (inferred == kLong || inferred == kBool) static_cast<int64_t*>(t.data_ptr())[i] = numbers[i].toLong();
    else static_cast<double*>(t.data_ptr())[i] = numbers[i].toDouble();
  }
  t = t.to(!dtype.is_none() ? dtype.to_dtype() : numbers.empty() ? dtype_of_elements(data) : inferred);
  if (mode) return Tensor(mode->constant(*t.impl(), device.is_none() ? Device(kCPU) : device.to_device()));
  return device.is_none() ? t : t.to(device.to_device());
}
void make_tensor(Inputs in, size_t, Datum& out) {
  Tensor t = tensor_from(*in[0], *in[1], *in[2]);
  if (as_int(*in[3])) t.requires_grad_(true);
  out = Datum(std::move(t));
}

Datum nested(const Tensor& t, int64_t dim, dispatch::ElementKind kind) {
  if (t.dim() == 0) {
    const Scalar s = t.item();
    return kind == dispatch::ElementKind::Double ? Datum(s.toDouble()) : Datum(s);
  }
  std::vector<Datum> out;
  for (int64_t i = 0; i < t.size(0); i++) out.push_back(nested(t.select(0, i), dim + 1, kind));
  return make_list(t.dim() == 1 ? kind : dispatch::ElementKind::List, std::move(out));
}
// (tensor, number of lists within each other, 0 int 1 float 2 bool 3 complex)
void to_list(Inputs in, size_t, Datum& out) {
  const Tensor t = tensor(*in[0]).detach();
  const int64_t depth = as_int(*in[1]), kind = as_int(*in[2]);
  CRESSET_CHECK(t.dim() == depth, "tolist: the annotation says ", depth, " dimensions, the tensor has ", t.dim());
  const ScalarType dtype = t.scalar_type();
  const int64_t is = isComplexType(dtype) ? 3 : isFloatingType(dtype) ? 1 : dtype == kBool ? 2 : 0;
  CRESSET_CHECK(is == kind, "tolist: the annotation does not fit a tensor of ", dtype);
  using dispatch::ElementKind;
  out = nested(t, 0, kind == 0 ? ElementKind::Int : kind == 1 ? ElementKind::Double : kind == 2 ? ElementKind::Bool : ElementKind::Complex);
}

#define CRESSET_FACT(schema, expression)  \
  add_builtin(                            \
      schema,                             \
      [](Inputs in, size_t, Datum& out) { \
        const Tensor& t = tensor(*in[0]); \
        put(out, expression);             \
      },                                  \
      false);

void add_facts() {
  add_builtin(
      "aten::size(Tensor self) -> int[]", [](Inputs in, size_t, Datum& out) { out = ints(tensor(*in[0]).sizes()); }, false);
  add_builtin(
      "prim::shape(Tensor a) -> int[]", [](Inputs in, size_t, Datum& out) { out = ints(tensor(*in[0]).sizes()); }, false);
  add_builtin(
      "aten::size.int(Tensor self, int dim) -> int",
      [](Inputs in, size_t, Datum& out) {
        const Tensor& t = tensor(*in[0]);
        put(out, t.sizes()[static_cast<size_t>(dim_of(*in[1], t.dim()))]);
      },
      false);
  add_builtin(
      "aten::stride(Tensor self) -> int[]", [](Inputs in, size_t, Datum& out) { out = ints(tensor(*in[0]).strides()); }, false);
  add_builtin(
      "aten::stride.int(Tensor self, int dim) -> int",
      [](Inputs in, size_t, Datum& out) {
        const Tensor& t = tensor(*in[0]);
        put(out, t.strides()[static_cast<size_t>(dim_of(*in[1], t.dim()))]);
      },
      false);
  CRESSET_FACT("aten::dim(Tensor self) -> int", t.dim())
  CRESSET_FACT("aten::numel(Tensor self) -> int", t.numel())
  CRESSET_FACT("aten::storage_offset(Tensor self) -> int", t.storage_offset())
  CRESSET_FACT("aten::element_size(Tensor self) -> int", static_cast<int64_t>(t.element_size()))
  CRESSET_FACT("aten::is_floating_point(Tensor self) -> bool", bool(isFloatingType(t.scalar_type())))
  CRESSET_FACT("aten::is_complex(Tensor self) -> bool", bool(isComplexType(t.scalar_type())))
  CRESSET_FACT("aten::is_contiguous(Tensor self) -> bool", bool(t.is_contiguous()))
  CRESSET_FACT("aten::is_leaf(Tensor self) -> bool", bool(t.is_leaf()))
  CRESSET_FACT("aten::retains_grad(Tensor self) -> bool", t.retains_grad())
  CRESSET_FACT("aten::is_signed(Tensor self) -> bool", t.is_signed())
  CRESSET_FACT("aten::is_conj(Tensor self) -> bool", t.is_conj())
  CRESSET_FACT("aten::is_neg(Tensor self) -> bool", t.is_neg())
  CRESSET_FACT("aten::is_inference(Tensor self) -> bool", t.is_inference())
  CRESSET_FACT("aten::is_pinned(Tensor self, Device? device=None) -> bool", t.is_pinned())
  CRESSET_FACT("aten::get_device(Tensor self) -> int", static_cast<int64_t>(t.get_device()))
  CRESSET_FACT("aten::is_same_size(Tensor self, Tensor other) -> bool", t.sizes() == tensor(*in[1]).sizes())
  CRESSET_FACT("prim::requires_grad(Tensor a) -> bool", bool(t.requires_grad()))
  CRESSET_FACT("prim::is_cuda(Tensor a) -> bool", bool(t.device().is_cuda()))
  CRESSET_FACT("prim::is_cpu(Tensor a) -> bool", bool(t.device().is_cpu()))
  CRESSET_FACT("prim::is_meta(Tensor a) -> bool", t.device().type() == kMeta)
  CRESSET_FACT("prim::is_sparse(Tensor a) -> bool", t.layout() == kSparse)
  CRESSET_FACT("prim::is_sparse_csr(Tensor a) -> bool", t.layout() == kSparseCsr)
  CRESSET_FACT("prim::is_quantized(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_nested(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_ipu(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_maia(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_mtia(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_hpu(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_mkldnn(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_xpu(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_mps(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::is_vulkan(Tensor a) -> bool", (static_cast<void>(t), false))
  CRESSET_FACT("prim::itemsize(Tensor a) -> int", static_cast<int64_t>(t.element_size()))
  CRESSET_FACT("prim::nbytes(Tensor a) -> int", t.numel() * static_cast<int64_t>(t.element_size()))
  add_builtin(
      "aten::len.Tensor(Tensor t) -> int",
      [](Inputs in, size_t, Datum& out) {
        const Tensor& t = tensor(*in[0]);
        CRESSET_CHECK_TYPE(t.dim() > 0, "len() of a 0-d tensor");
        put(out, t.sizes()[0]);
      },
      false);
  add_builtin(
      "prim::dtype(Tensor a) -> ScalarType", [](Inputs in, size_t, Datum& out) { out = Datum(tensor(*in[0]).scalar_type()); }, false);
  add_builtin(
      "prim::device(Tensor a) -> Device", [](Inputs in, size_t, Datum& out) { out = Datum(tensor(*in[0]).device()); }, false);
  add_builtin(
      "prim::layout(Tensor a) -> Layout", [](Inputs in, size_t, Datum& out) { out = Datum(tensor(*in[0]).layout()); }, false);
  add_builtin(
      "prim::grad(Tensor a) -> Tensor?",
      [](Inputs in, size_t, Datum& out) {
        const Tensor g = tensor(*in[0]).grad();
        out = g.defined() ? Datum(g) : Datum();
      },
      false);
  add_builtin(
      "prim::data(Tensor(a) a) -> Tensor(a)", [](Inputs in, size_t, Datum& out) { out = Datum(tensor(*in[0]).detach()); }, false);
  add_builtin(
      "prim::name(Tensor a) -> str?", [](Inputs, size_t, Datum& out) { out = Datum(); }, false);
  add_builtin("prim::index(Device self) -> int?", [](Inputs in, size_t, Datum& out) {
    const Device d = in[0]->to_device();
    out = d.has_index() ? Datum(static_cast<int64_t>(d.index())) : Datum();
  });
  add_builtin("prim::type(Device self) -> str", [](Inputs in, size_t, Datum& out) {
    const std::string s = in[0]->to_device().str();
    put(out, s.substr(0, s.find(':')));
  });
  add_builtin("aten::device(str a) -> Device", [](Inputs in, size_t, Datum& out) { out = Datum(Device(in[0]->to_string())); });
  add_builtin("aten::device.type(str type) -> Device", [](Inputs in, size_t, Datum& out) { out = Datum(Device(in[0]->to_string())); });
  add_builtin("aten::device.with_index(str type, int index) -> Device",
              [](Inputs in, size_t, Datum& out) { out = Datum(Device(in[0]->to_string() + ":" + std::to_string(as_int(*in[1])))); });
  add_builtin("prim::is_floating_point.dtype(ScalarType a) -> bool", [](Inputs in, size_t, Datum& out) { put(out, bool(isFloatingType(in[0]->to_dtype()))); });
  add_builtin("aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
              [](Inputs in, size_t, Datum& out) { out = Datum(promote_types(in[0]->to_dtype(), in[1]->to_dtype())); });
  add_builtin("aten::can_cast(ScalarType from_, ScalarType to) -> bool",
              [](Inputs in, size_t, Datum& out) { put(out, can_cast(in[0]->to_dtype(), in[1]->to_dtype())); });
  add_builtin("prim::is_complex.dtype(ScalarType a) -> bool", [](Inputs in, size_t, Datum& out) { put(out, bool(isComplexType(in[0]->to_dtype()))); });
  register_builtin({"prim::dtype_of_int", 1, 1, TypeKind::DType, true, [](Inputs in, size_t, Datum& out) {
                      if (in[0]->is<int64_t>()) out = Datum(dtype_of_number(as_int(*in[0])));
                      else out = *in[0];
                    }});
}

void add_gradients() {
  add_builtin(
      "aten::set_grad_enabled(bool val) -> ()",
      [](Inputs in, size_t, Datum& out) {
        GradMode::set_enabled(as_int(*in[0]) != 0);
        out = Datum();
      },
      false);
  add_builtin(
      "aten::is_grad_enabled() -> bool", [](Inputs, size_t, Datum& out) { put(out, GradMode::is_enabled()); }, false);
  add_builtin(
      "aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
      [](Inputs in, size_t, Datum& out) {
        Tensor t = tensor(*in[0]);
        t.requires_grad_(as_int(*in[1]) != 0);
        out = Datum(std::move(t));
      },
      false);
  add_builtin(
      "aten::retain_grad(Tensor self) -> ()",
      [](Inputs in, size_t, Datum& out) {
        Tensor t = tensor(*in[0]);
        t.retain_grad();
        out = Datum();
      },
      false);
  add_builtin(
      "aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False) -> ()",
      [](Inputs in, size_t, Datum& out) {
        tensor(*in[0]).backward(in[1]->is_none() ? Tensor() : in[1]->to_tensor(), in[2]->is_none() ? std::nullopt : std::optional<bool>(in[2]->to_bool()),
                                as_int(*in[3]) != 0);
        out = Datum();
      },
      false);
  add_builtin(
      "aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? retain_graph=None, bool create_graph=False, bool "
      "allow_unused=False) -> Tensor?[]",
      [](Inputs in, size_t, Datum& out) {
        std::vector<Tensor> given;
        if (!in[2]->is_none())
          for (const Datum& v : in[2]->toListVector()) given.push_back(v.is_none() ? Tensor() : v.to_tensor());
        const std::vector<Tensor> grads =
            autograd::grad(in[0]->to_tensor_list(), in[1]->to_tensor_list(), given, in[3]->is_none() ? std::nullopt : std::optional<bool>(in[3]->to_bool()),
                           as_int(*in[4]) != 0, as_int(*in[5]) != 0);
        std::vector<Datum> list;
        for (const Tensor& g : grads) list.push_back(g.defined() ? Datum(g) : Datum());
        out = make_list(dispatch::ElementKind::OptionalTensor, std::move(list));
      },
      false);
}

// A tensor that looks at other memory from then on.
void add_memory() {
  add_builtin(
      "aten::set_(Tensor(a!) self) -> Tensor(a!)",
      [](Inputs in, size_t, Datum& out) {
        Tensor t = tensor(*in[0]);
        out = Datum(t.set_());
      },
      false);
  add_builtin(
      "aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
      [](Inputs in, size_t, Datum& out) {
        Tensor t = tensor(*in[0]);
        out = Datum(t.set_(tensor(*in[1])));
      },
      false);
  add_builtin(
      "aten::set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, int storage_offset, int[] size, int[] stride=[]) -> Tensor(a!)",
      [](Inputs in, size_t, Datum& out) {
        Tensor t = tensor(*in[0]);
        out = Datum(t.set_(tensor(*in[1]), as_int(*in[2]), in[3]->toIntVector(), in[4]->toIntVector()));
      },
      false);
}

// (size...) of numbers or lists of numbers: of tensors without memory, which broadcast like others.
void broadcast_sizes(Inputs in, size_t count, Datum& out) {
  std::vector<Tensor> shapes;
  for (size_t i = 0; i < count; i++)
    shapes.push_back(empty(in[i]->isList() ? in[i]->toIntVector() : std::vector<int64_t>{as_int(*in[i])}, TensorOptions().device(kMeta)));
  out = shapes.empty() ? ints({}) : ints(broadcast_tensors(shapes)[0].sizes());
}

// (tensor, its subscripts, ..., those of the result if they are given).
void einsum_of_subscripts(Inputs in, size_t count, Datum& out) {
  std::vector<std::vector<int64_t>> subscripts;
  std::vector<Tensor> operands;
  for (size_t i = 0; i + 1 < count; i += 2) {
    operands.push_back(tensor(*in[i]));
    subscripts.push_back(in[i + 1]->toIntVector());
  }
  if (count % 2 == 1) subscripts.push_back(in[count - 1]->toIntVector());
  out = Datum(einsum(ops::einsum_equation(subscripts, operands.size()), operands));
}

void add_functions() {
  register_builtin({"aten::broadcast_shapes", 0, 64, Type::list(TypeKind::Int), true, broadcast_sizes});
  register_builtin({"aten::einsum.sublist", 2, 128, TypeKind::Tensor, true, einsum_of_subscripts});
  add_builtin(
      "aten::item(Tensor self) -> Scalar", [](Inputs in, size_t, Datum& out) { out = Datum(tensor(*in[0]).item()); }, false);
  add_builtin(
      "aten::detach(Tensor(a) self) -> Tensor(a)", [](Inputs in, size_t, Datum& out) { out = Datum(tensor(*in[0]).detach()); }, false);
  add_builtin(
      "aten::detach_(Tensor(a!) self) -> Tensor(a!)",
      [](Inputs in, size_t, Datum& out) {
        Tensor t = tensor(*in[0]);
        t.detach_();
        out = Datum(std::move(t));
      },
      false);
  add_builtin(
      "aten::lift_fresh(Tensor(a) self) -> Tensor(a)", [](Inputs in, size_t, Datum& out) { out = *in[0]; }, false);
  for (const char* t : {"bool", "float", "int", "complex"})
    add_builtin(
        (std::string("aten::tensor.") + t + "(" + t + " t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor").c_str(),
        make_tensor, false);
  add_builtin("aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor", make_tensor, false);
  const BuiltinFn as_tensor = [](Inputs in, size_t, Datum& out) {
    if (!in[0]->is_tensor()) {
      out = Datum(tensor_from(*in[0], *in[1], *in[2]));
      return;
    }
    Tensor t = in[0]->to_tensor();
    if (!in[1]->is_none()) t = t.to(in[1]->to_dtype());
    if (!in[2]->is_none()) t = t.to(in[2]->to_device());
    out = Datum(std::move(t));
  };
  add_builtin("aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor, false);
  for (const char* t : {"bool", "float", "int", "complex"})
    add_builtin((std::string("aten::as_tensor.") + t + "(" + t + " t, *, ScalarType? dtype=None, Device? device=None) -> Tensor").c_str(), as_tensor, false);
  add_builtin("aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor", as_tensor, false);
  add_builtin(
      "aten::get_autocast_dtype(str device_type) -> ScalarType",
      [](Inputs in, size_t, Datum& out) { out = Datum(amp::get_autocast_dtype(Device(in[0]->to_string()).type())); }, false);
  add_builtin("prim::tolist(Tensor self, int dims, int kind) -> Any", to_list, false);
  const BuiltinFn wrapped = [](Inputs in, size_t, Datum& out) {
    Tensor t = scalar_tensor(in[0]->to_scalar(), in[0]->isBool() ? kBool : in[0]->isDouble() ? kDouble : in[0]->isComplexDouble() ? kComplexDouble : kLong);
    out = Datum(std::move(t));
  };
  add_builtin("prim::NumToTensor.Scalar(Scalar a) -> Tensor", wrapped, false);
  add_builtin("prim::NumToTensor.bool(bool a) -> Tensor", wrapped, false);
  add_builtin(
      "aten::to.prim_dtype(Tensor(a) self, ScalarType? dtype, bool non_blocking=False, bool copy=False) -> Tensor(a)",
      [](Inputs in, size_t, Datum& out) {
        const Tensor& t = tensor(*in[0]);
        out = Datum(t.to(in[1]->is_none() ? t.scalar_type() : in[1]->to_dtype(), false, as_int(*in[3]) != 0));
      },
      false);
  add_builtin(
      "aten::to.prim_device(Tensor(a) self, Device? device, ScalarType? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(a)",
      [](Inputs in, size_t, Datum& out) {
        Tensor t = tensor(*in[0]);
        if (!in[1]->is_none()) t = t.to(in[1]->to_device());
        out = Datum(t.to(in[2]->is_none() ? t.scalar_type() : in[2]->to_dtype(), false, as_int(*in[4]) != 0));
      },
      false);
  add_builtin(
      "aten::__contains__.Tensor(Tensor self, Scalar el) -> bool",
      [](Inputs in, size_t, Datum& out) { put(out, tensor(*in[0]).eq(in[1]->to_scalar()).any().item().toBool()); }, false);
  add_builtin(
      "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int "
      "groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
      [](Inputs in, size_t, Datum& out) {
        dispatch::Stack values;
        for (int i = 0; i < 9; i++) values.push_back(*in[i]);
        static const dispatch::OpHandle op = dispatch::find_op("convolution");
        op.call_boxed(values);
        out = values[0];
      },
      false);
  add_builtin(
      "aten::warn(str message, int stacklevel=2) -> ()",
      [](Inputs in, size_t, Datum& out) {
        warn(in[0]->to_string());
        out = Datum();
      },
      false);
  // Without a device the question is about CUDA.
  add_builtin(
      "aten::is_autocast_enabled() -> bool", [](Inputs, size_t, Datum& out) { put(out, bool(amp::is_autocast_enabled(DeviceType::CUDA))); }, false);
  add_builtin(
      "aten::is_autocast_cpu_enabled() -> bool", [](Inputs, size_t, Datum& out) { put(out, bool(amp::is_autocast_enabled(DeviceType::CPU))); }, false);
  add_builtin("aten::cudnn_is_acceptable(Tensor self) -> bool", [](Inputs, size_t, Datum& out) { put(out, false); });
}

}  // namespace

void add_tensor_builtins() {
  add_facts();
  add_gradients();
  add_memory();
  add_functions();
}

}  // namespace cresset::graph::script
