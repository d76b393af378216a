// @ in a text stands for the folder of scratch files.
// Mistakes of users and the text they read, held word for word: the text is part of the interface. The types are those that PyTorch
// raises.
#include <fstream>

#include "cresset/cresset.h"
#include "gtest/gtest.h"

namespace cresset {
namespace {

struct Mistake {
  const char* name;
  const char* type;
  const char* text;
  std::function<void()> make;
};

std::string type_of(const Error& error) {
  if (dynamic_cast<const IndexError*>(&error) != nullptr) return "IndexError";
  if (dynamic_cast<const ValueError*>(&error) != nullptr) return "ValueError";
  if (dynamic_cast<const TypeError*>(&error) != nullptr) return "TypeError";
  if (dynamic_cast<const NotImplementedError*>(&error) != nullptr) return "NotImplementedError";
  if (dynamic_cast<const OutOfMemoryError*>(&error) != nullptr) return "OutOfMemoryError";
  return "RuntimeError";
}

Tensor range(int64_t n) { return arange(n, kFloat); }
Tensor leaf() { return ones({2, 2}, TensorOptions(kFloat).requires_grad(true)); }
std::string scratch(const char* name) { return ::testing::TempDir() + name; }
void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

const std::vector<Mistake>& mistakes() {
  namespace F = nn::functional;
  static const std::vector<Mistake> all = {
      // Shapes.
      {"AddOfShapesThatDoNotBroadcast", "RuntimeError", "add: shapes [2, 3] and [4] cannot be broadcast: sizes 3 and 4 differ at dimension 1 and neither is 1",
       [] {
         ones({2, 3}) + ones({4});
       }},
      {"InPlaceAddThatWouldGrow", "RuntimeError", "add: output with shape [3] doesn't match the broadcast shape [2, 3]",
       [] {
         ones({3}).add_(ones({2, 3}));
       }},
      {"OutOfTheWrongDtype", "RuntimeError", "add: result type float32 does not fit the output's dtype int64",
       [] {
         Tensor out = empty({2}, kLong);
         add_out(out, ones({2}), ones({2}));
       }},
      {"MmOfShapesThatDoNotFit", "RuntimeError", "mm: mat1 and mat2 shapes cannot be multiplied, got [2, 3] and [4, 5]",
       [] {
         mm(ones({2, 3}), ones({4, 5}));
       }},
      {"MmOfAVector", "RuntimeError", "mm: expected two matrices, got shapes [2, 3] and [3]",
       [] {
         mm(ones({2, 3}), ones({3}));
       }},
      {"MatmulOfShapesThatDoNotFit", "RuntimeError", "matmul: the inner sizes of shapes [2, 3, 4] and [2, 5, 6] differ: 4 and 5",
       [] {
         matmul(ones({2, 3, 4}), ones({2, 5, 6}));
       }},
      {"BmmOfDifferentBatches", "RuntimeError", "bmm: batches cannot be multiplied, got shapes [2, 3, 4] and [3, 4, 5]",
       [] {
         bmm(ones({2, 3, 4}), ones({3, 4, 5}));
       }},
      {"MmOfMixedDtypes", "RuntimeError", "mm: expected both operands to have the same dtype, got float32 and float64",
       [] {
         mm(ones({2, 2}), ones({2, 2}, kDouble));
       }},
      {"LinearOfTheWrongWidth", "RuntimeError", "linear: input and weight shapes cannot be multiplied, got [8, 5] and [3, 4] (the weight is used transposed)",
       [] {
         F::linear(ones({8, 5}), ones({3, 4}));
       }},
      {"ConvOfTheWrongChannels", "RuntimeError",
       "convolution: given groups=1, weight of size [4, 2, 3, 3], expected input [1, 3, 8, 8] to have 2 channels, but got 3 "
       "channels instead",
       [] {
         conv2d(ones({1, 3, 8, 8}), ones({4, 2, 3, 3}));
       }},
      {"ConvKernelLargerThanInput", "RuntimeError",
       "convolution: calculated padded input size 2 is smaller than the kernel size 3 (dilation included) in dimension 2 of input "
       "[1, 1, 2, 2]",
       [] {
         conv2d(ones({1, 1, 2, 2}), ones({1, 1, 3, 3}));
       }},
      {"ViewOfTheWrongSize", "RuntimeError", "shape [4, 2] is invalid for input of size 6",
       [] {
         range(6).view({4, 2});
       }},
      {"ViewOfATransposedTensor", "RuntimeError",
       "view: size [6] is not compatible with input shape [3, 2] and strides [1, 3], "
       "which would need a copy; reshape() makes one",
       [] {
         range(6).view({2, 3}).t().view({6});
       }},
      {"ViewWithTwoUnknownSizes", "RuntimeError", "only one dimension can be inferred, got shape [-1, -1]",
       [] {
         range(6).view({-1, -1});
       }},
      {"ExpandOfASizeThatIsNotOne", "RuntimeError",
       "expand: the expanded size 4 must match the existing size 3 at dimension 1, target sizes [2, 4], tensor sizes [3]",
       [] {
         range(3).expand({2, 4});
       }},
      {"CatOfShapesThatDoNotFit", "RuntimeError",
       "cat: sizes of tensors must match except in dimension 0, expected size 3 but got size 4 for tensor number 1 in the list",
       [] {
         cat({ones({2, 3}), ones({2, 4})}, 0);
       }},
      {"StackOfDifferentShapes", "RuntimeError", "stack: expects each tensor to be equal size, got [2] at entry 0 and [3] at entry 1",
       [] {
         stack({ones({2}), ones({3})});
       }},
      {"CatOfNothing", "ValueError", "cat: expected a non-empty list of tensors", [] { cat(std::vector<Tensor>{}); }},
      {"NegativeSize", "RuntimeError", "empty: trying to create a tensor with negative dimension -1: [2, -1]",
       [] {
         empty({2, -1});
       }},
      {"EinsumOfUnknownSubscripts", "RuntimeError", "einsum: output subscript z of the output is in no operand of the equation",
       [] {
         einsum("ij,jk->iz", {ones({2, 3}), ones({3, 4})});
       }},
      // Dims and indices.
      {"DimOutOfRange", "IndexError", "dimension out of range, got 2, expected a value in [-2, 1]",
       [] {
         ones({2, 3}).sum(IntArrayRef{2});
       }},
      {"DimTwice", "RuntimeError", "dim 0 is named more than once in dims [0, 0]",
       [] {
         ones({2, 3}).sum(IntArrayRef{0, 0});
       }},
      {"SelectOutOfRange", "IndexError", "select: index 5 out of range for dimension 0 of shape [2, 3]",
       [] {
         ones({2, 3}).select(0, 5);
       }},
      {"IndexOutOfRange", "IndexError", "index: index 7 is out of bounds for dimension 0 with size 3",
       [] {
         range(3).index({tensor({0, 7})});
       }},
      {"IndexOfTooManyDims", "IndexError", "index: more indices than dimensions of the tensor, 1, got 2",
       [] {
         range(3).index({0, 1});
       }},
      {"BooleanMaskOfTheWrongShape", "IndexError", "index: the shape of the mask [4] at index 0 does not fit the indexed tensor of shape [3] at index 0",
       [] { range(3).index({ones({4}, kBool)}); }},
      {"GatherIndexOutOfRange", "RuntimeError", "gather: index 3 is out of bounds for dimension 0 with size 3", [] { gather(range(3), 0, tensor({3})); }},
      {"EmbeddingIndexOutOfRange", "IndexError", "embedding: index 3 is out of bounds for dimension 0 with size 3",
       [] {
         embedding(ones({3, 2}), tensor({1, 3}));
       }},
      {"NarrowBeyondTheEnd", "RuntimeError", "narrow: start 2 + length 2 exceeds the size 3 of dimension 0", [] { range(3).narrow(0, 2, 2); }},
      {"SplitOfSizesThatDoNotAddUp", "RuntimeError", "split_with_sizes: expects sizes that sum to 6 (the size of dimension 0), got [2, 3]",
       [] {
         range(6).split_with_sizes({2, 3});
       }},
      {"PermuteOfTooFewDims", "RuntimeError", "permute: number of dims [0] does not match the 2 dimensions of shape [2, 3]",
       [] {
         ones({2, 3}).permute({0});
       }},
      {"MaxOfNothing", "RuntimeError", "max: expected reduction dim to be specified for an input without elements, got shape [0]", [] { max(empty({0})); }},
      {"ArgmaxOfAnEmptyDim", "IndexError", "argmax: expected reduction dim 1 to have non-zero size, got shape [2, 0]",
       [] {
         ones({2, 0}).argmax(1);
       }},
      // Dtypes and devices.
      {"InPlaceThatWouldLoseTheDtype", "RuntimeError", "add: result type float32 does not fit the output's dtype int64", [] { ones({2}, kLong).add_(1.5); }},
      {"MeanOfIntegers", "RuntimeError",
       "mean: could not infer output dtype: input dtype must be floating point or complex, got int64; pass dtype= or cast the "
       "input",
       [] { ones({2}, kLong).mean(); }},
      {"SubtractionOfBools", "RuntimeError", "sub: subtraction with a bool tensor is not supported; use bitwise_xor, logical_xor or logical_not instead",
       [] { ones({2}, kBool) - ones({2}, kBool); }},
      {"BitwiseOfFloats", "NotImplementedError", "bitwise_and: not implemented for dtype float32", [] { bitwise_and(ones({2}), ones({2})); }},
      {"PowerWithAnExponentBeyondTheDtype", "RuntimeError", "value 300 cannot be converted to type int8 without overflow", [] { pow(ones({2}, kChar), 300); }},
      {"IntegerPowerOfNegativeExponent", "RuntimeError", "pow: integers to negative integer powers are not allowed, got -1", [] { pow(ones({2}, kLong), -1); }},
      {"IntegerDivisionByZero", "RuntimeError", "ZeroDivisionError: integer division or remainder by zero",
       [] { floor_divide(ones({2}, kLong), zeros({2}, kLong)); }},
      {"DevicesMixed", "RuntimeError", "add: expected all tensors to be on the same device, got cpu and meta",
       [] { ones({2}) + ones({2}, TensorOptions(Device("meta"))); }},
      {"ItemOfMeta", "RuntimeError", "item: cannot be called on meta tensors, they hold no data", [] { ones({1}, TensorOptions(Device("meta"))).item(); }},
      {"UnknownDevice", "RuntimeError", "device: unknown device type in \"gpu:0\", expected cpu, cuda, meta or a registered name", [] { Device("gpu:0"); }},
      {"DeviceThatIsAbsent", "RuntimeError",
       "ones: no backend is registered for device cuda, this build has no CUDA; the operator is registered for: "
       "CPU, Meta, SparseCPU, SparseCsrCPU",
       [] { ones({2}, TensorOptions(Device("cuda:0"))); }},
      {"ItemOfSeveralElements", "RuntimeError", "item: a tensor with 2 elements cannot be converted to a number, expected exactly one",
       [] { ones({2}).item(); }},
      {"BoolOfSeveralElements", "RuntimeError", "is_nonzero: the boolean value of a tensor with more than one value is ambiguous, got shape [2]",
       [] { (void)ones({2}).is_nonzero(); }},
      {"DataPointerOfAnotherDtype", "RuntimeError", "data_ptr: expected a tensor of dtype float64, got float32", [] { (void)ones({2}).data_ptr<double>(); }},
      {"UndefinedOperand", "RuntimeError", "add: argument 2 is an undefined tensor", [] { ones({2}) + Tensor(); }},
      {"MethodOfAnUndefinedTensor", "RuntimeError", "undefined tensor: the tensor was default-constructed or reset; assign a value to it first",
       [] { Tensor().sum(); }},
      {"TooMuchMemory", "OutOfMemoryError",
       "cpu allocator: you tried to allocate 144115188075855872 bytes and the system has none left; free tensors, or lower the "
       "batch size",
       [] {
         empty({int64_t{1} << 40, int64_t{1} << 15});
       }},
      // Autograd.
      {"InPlaceOnALeaf", "RuntimeError",
       "add_: a leaf Variable that requires grad is being used in an in-place operation, a tensor of shape [2, 2] and dtype float32", [] { leaf().add_(1); }},
      {"BackwardOfSeveralElements", "RuntimeError",
       "backward: a gradient can be left out only for a tensor with one element, got a tensor of shape [2, 2] and dtype float32",
       [] { (leaf() * 2).backward(); }},
      {"BackwardTwice", "RuntimeError",
       "backward: the graph has been freed by an earlier call, which also freed the tensors it had saved; pass retain_graph=true "
       "to the first call to go through the graph a second time",
       [] {
         Tensor y = leaf().exp().sum();
         y.backward();
         y.backward();
       }},
      {"SavedTensorModified", "RuntimeError",
       "backward: one of the variables needed for gradient computation has been modified by an inplace operation: a tensor of shape [2, 2] "
       "and dtype float32, which is output 0 of ExpBackward0, is at version 1, expected version 0; anomaly mode shows the "
       "operation whose gradient needs it",
       [] {
         Tensor y = leaf().exp();
         Tensor z = y.sum();
         y.mul_(2);
         z.backward();
       }},
      {"RequiresGradOfIntegers", "RuntimeError", "requires_grad_: expected a floating or complex dtype, got int64", [] { ones({2}, kLong).requires_grad_(); }},
      // Random numbers.
      {"NegativeProbability", "RuntimeError", "bernoulli_: expects probabilities in [0, 1]", [] { bernoulli(full({2}, -0.5)); }},
      {"DropoutProbabilityAboveOne", "ValueError", "dropout: probability must be between 0 and 1, got 1.5",
       [] { F::dropout(ones({2}), F::DropoutFuncOptions().p(1.5)); }},
      {"MultinomialOfNegativeWeights", "RuntimeError", "multinomial: probability tensor contains either `inf`, `nan` or element < 0",
       [] {
         multinomial(tensor({0.5, -0.5}), 1);
       }},
      {"NormalOfNegativeDeviation", "RuntimeError", "normal_: expects std >= 0, got std=-1", [] { normal(0.0, -1.0, {2}); }},
      {"RandintOfAnEmptyRange", "RuntimeError", "random_: expects 'from' to be less than 'to', got from=3 >= to=3", [] { randint(3, 3, {2}); }},
      // Modules, losses, optimizers.
      {"CrossEntropyClassOutOfRange", "IndexError", "cross_entropy: target out of range, got 3, expected 0 <= target < 3",
       [] {
         cross_entropy_loss(ones({1, 3}), tensor({3}));
       }},
      {"CrossEntropyOfDifferentBatches", "ValueError", "nll_loss: expected a target of shape [2] for input of shape [2, 3], got [3]",
       [] {
         cross_entropy_loss(ones({2, 3}), tensor({0, 1, 2}));
       }},
      {"ClassWeightsOfTheWrongLength", "RuntimeError",
       "cross_entropy: weight must be one value per class, got a tensor of shape [2] and dtype float32 for 3 classes",
       [] {
         cross_entropy_loss(ones({1, 3}), tensor({0}), ones({2}));
       }},
      {"BinaryCrossEntropyOutsideZeroToOne", "RuntimeError", "binary_cross_entropy: expected an input within [0, 1]",
       [] { binary_cross_entropy(full({2}, 1.5), ones({2})); }},
      {"EmptyModuleHolder", "RuntimeError", "module: Accessing empty ModuleHolder (made from nullptr), assign a module before using it",
       [] {
         nn::Linear linear = nullptr;
         linear->forward(ones({2}));
       }},
      {"ModuleInputOfTheWrongWidth", "RuntimeError",
       "1: linear: input and weight shapes cannot be multiplied, got [1, 3] and [2, 5] (the weight is used transposed)",
       [] {
         nn::Sequential net(nn::Linear(4, 3), nn::Linear(5, 2));
         net->forward(ones({1, 4}));
       }},
      {"BatchNormOfOneValuePerChannel", "ValueError", "batch_norm: expected several values a channel in training, got an input of shape [1, 3]",
       [] {
         nn::BatchNorm1d norm(3);
         norm->forward(ones({1, 3}));
       }},
      {"MaxPoolOfTooLargePadding", "RuntimeError",
       "max_pool2d: expected a padding of at most half of the dilated kernel, got padding [2, 2] for kernel_size [2, 2]",
       [] {
         max_pool2d(ones({1, 1, 4, 4}), {2, 2}, {2, 2}, {2, 2});
       }},
      {"NegativeLearningRate", "ValueError", "Adam: invalid learning rate -1", [] { optim::Adam({leaf()}, optim::AdamOptions(-1.0)); }},
      {"OptimizerOfAResult", "ValueError", "optimizer: cannot optimize a tensor that is not a leaf", [] { optim::SGD({leaf() * 2}, optim::SGDOptions(0.1)); }},
      {"OptimizerOfAParameterTwice", "ValueError", "optimizer: some parameters appear in more than one parameter group",
       [] {
         Tensor w = leaf();
         optim::SGD({w, w}, optim::SGDOptions(0.1));
       }},
      // Files and data.
      {"MissingFile", "RuntimeError", "load: cannot open '/no/such/file.safetensors': No such file or directory",
       [] { io::load_safetensors("/no/such/file.safetensors"); }},
      {"TruncatedFile", "RuntimeError", "load_safetensors: '@short.safetensors' is malformed: it is truncated, got 3 bytes",
       [] {
         write_file(scratch("short.safetensors"), "abc");
         io::load_safetensors(scratch("short.safetensors"));
       }},
      {"CorruptHeader", "RuntimeError", "load_safetensors: '@bad.safetensors' is malformed: the header is not JSON, the first error is at byte 2",
       [] {
         write_file(scratch("bad.safetensors"), std::string("\x04\0\0\0\0\0\0\0{{{{", 12));
         io::load_safetensors(scratch("bad.safetensors"));
       }},
      {"MissingDataSet", "RuntimeError", "MNIST: no file '/no/such/folder/train-images-idx3-ubyte' or '/no/such/folder/train-images-idx3-ubyte.gz'",
       [] { data::datasets::MNIST("/no/such/folder"); }},
  };
  return all;
}

TEST(Mistakes, TextIsHeldWordForWord) {
  EXPECT_GE(mistakes().size(), 40u);
  for (const Mistake& mistake : mistakes()) {
    std::string type = "no error", text;
    try {
      mistake.make();
    } catch (const Error& error) {
      type = type_of(error);
      text = error.message();
      if (const size_t at = text.find(::testing::TempDir()); at != std::string::npos) text.replace(at, ::testing::TempDir().size(), "@");
    } catch (const std::runtime_error& error) {
      type = "RuntimeError";
      text = error.what();
    } catch (const std::exception& error) {
      type = "foreign error";
      text = error.what();
    }
    EXPECT_EQ(type, mistake.type) << mistake.name << ": " << text;
    EXPECT_EQ(text, mistake.text) << mistake.name;
  }
}

}  // namespace
}  // namespace cresset
