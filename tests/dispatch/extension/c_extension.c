/* An op and a device in C, through the table alone: this library links to nothing of Cresset's. */
#include <stdlib.h>
#include <string.h>

#include "cresset/dispatch/c_abi.h"

static const cresset_api* api;

/* Leaves the function with a failing status. */
#define TRY(call)                           \
  do {                                      \
    const cresset_status try_status = call; \
    if (try_status != CRESSET_OK) return try_status; \
  } while (0)

/* Where element i of t, counted in row-major order, lies in its storage; in elements from the first. */
static int64_t place(cresset_tensor t, int64_t i) {
  int64_t at = 0;
  for (size_t d = api->tensor_dim(t); d-- > 0;) {
    at += i % api->tensor_sizes(t)[d] * api->tensor_strides(t)[d];
    i /= api->tensor_sizes(t)[d];
  }
  return at;
}

/* plain::scale(Tensor x, float by=2.0) -> Tensor */
static cresset_status scale_cpu(void* context, cresset_op op, cresset_values arguments, cresset_values results) {
  cresset_tensor x, out;
  double by;
  (void)op;
  ++*(int*)context;
  TRY(api->get_float(arguments, 1, &by));
  TRY(api->get_tensor(arguments, 0, &x));
  if (api->tensor_dtype(x) != CRESSET_FLOAT64) {
    api->tensor_free(x);
    return api->set_error(CRESSET_TYPE_ERROR, "plain::scale: expected a float64 tensor");
  }
  cresset_status s = api->tensor_empty(api->tensor_sizes(x), api->tensor_dim(x), CRESSET_FLOAT64, "cpu", -1, &out);
  if (s == CRESSET_OK) {
    const double* from = (const double*)api->tensor_data(x);
    double* to = (double*)api->tensor_data(out);
    for (int64_t i = 0; i < api->tensor_numel(x); i++) to[i] = by * from[place(x, i)];
    s = api->push_tensor(results, out);
    api->tensor_free(out);
  }
  api->tensor_free(x);
  return s;
}

/* x, by, result, grad -> the gradient of x: again plain::scale, so that it differentiates. */
static cresset_status scale_backward(void* context, cresset_op op, cresset_values arguments, cresset_values results) {
  cresset_values inner;
  (void)context;
  TRY(api->values_new(&inner));
  cresset_status s = api->push_value(inner, arguments, 3);
  if (s == CRESSET_OK) s = api->push_value(inner, arguments, 1);
  if (s == CRESSET_OK) s = api->call(op, inner, results);
  api->values_free(inner);
  return s;
}

/* plain::total(Tensor[] list) -> int: the elements of all tensors. */
static cresset_status total(void* context, cresset_op op, cresset_values arguments, cresset_values results) {
  cresset_tensor list[8];
  size_t n;
  int64_t sum = 0;
  (void)context;
  (void)op;
  TRY(api->get_list_size(arguments, 0, &n));
  if (n > 8) return api->set_error(CRESSET_VALUE_ERROR, "plain::total: expected at most 8 tensors");
  TRY(api->get_tensor_list(arguments, 0, list));
  for (size_t i = 0; i < n; i++) {
    sum += api->tensor_numel(list[i]);
    api->tensor_free(list[i]);
  }
  return api->push_int(results, sum);
}

/* A device whose memory holds every byte with its bits flipped. */
static void* flipped_allocate(void* context, size_t n) {
  ++*(int*)context;
  return malloc(n);
}
static void flipped_deallocate(void* context, void* data, size_t n) {
  (void)n;
  --*(int*)context;
  free(data);
}
static void flipped_copy(void* context, void* to, const void* from, size_t n) {
  (void)context;
  memcpy(to, from, n);
}
static int live_blocks;

static int is_flipped(cresset_tensor t) { return strcmp(api->tensor_device(t, NULL), "flipped") == 0; }

/* One tensor's elements into the other's, with their bits flipped. */
static void flip_into(cresset_tensor to, cresset_tensor from) {
  uint64_t* target = (uint64_t*)api->tensor_data(to);
  const uint64_t* source = (const uint64_t*)api->tensor_data(from);
  for (int64_t i = 0; i < api->tensor_numel(to); i++) target[place(to, i)] = ~source[place(from, i)];
}

/* A CPU tensor with the elements of t. */
static cresset_status unflipped(cresset_tensor t, cresset_tensor* out) {
  TRY(api->tensor_empty(api->tensor_sizes(t), api->tensor_dim(t), api->tensor_dtype(t), "cpu", -1, out));
  flip_into(*out, t);
  return CRESSET_OK;
}

static cresset_status call_copy(cresset_tensor to, cresset_tensor from) {
  cresset_op copy;
  cresset_values arguments, results;
  TRY(api->find_op("copy_", &copy));
  TRY(api->values_new(&arguments));
  TRY(api->values_new(&results));
  cresset_status s = api->push_tensor(arguments, to);
  if (s == CRESSET_OK) s = api->push_tensor(arguments, from);
  if (s == CRESSET_OK) s = api->push_bool(arguments, 0);
  if (s == CRESSET_OK) s = api->call(copy, arguments, results);
  api->values_free(arguments);
  api->values_free(results);
  return s;
}

/* copy_ between the device and the CPU, of float64 tensors. */
static cresset_status copy_(void* context, cresset_op op, cresset_values arguments, cresset_values results) {
  cresset_tensor self, src, host = NULL;
  cresset_status s = CRESSET_OK;
  (void)context;
  (void)op;
  TRY(api->get_tensor(arguments, 0, &self));
  TRY(api->get_tensor(arguments, 1, &src));
  if (api->tensor_dtype(self) != CRESSET_FLOAT64 || api->tensor_dtype(src) != CRESSET_FLOAT64 || api->tensor_numel(self) != api->tensor_numel(src)) {
    s = api->set_error(CRESSET_NOT_IMPLEMENTED, "flipped: copies float64 tensors of one size only");
  } else {
    host = src;
    if (is_flipped(src)) s = unflipped(src, &host);
    if (s == CRESSET_OK && is_flipped(self)) flip_into(self, host);
    else if (s == CRESSET_OK) s = call_copy(self, host);
    if (host != src) api->tensor_free(host);
  }
  if (s == CRESSET_OK) s = api->push_tensor(results, self);
  api->tensor_free(self);
  api->tensor_free(src);
  return s;
}

static cresset_status on_cpu(void* context, cresset_op op, cresset_values arguments, cresset_values results) {
  (void)context;
  return api->cpu_fallback(op, arguments, results);
}

static int scale_calls;
__attribute__((visibility("default"))) int plain_scale_calls(void) { return scale_calls; }
__attribute__((visibility("default"))) int flipped_live_blocks(void) { return live_blocks; }

cresset_status cresset_extension_init(const cresset_api* table, cresset_library library) {
  static const cresset_allocator memory = {&live_blocks, flipped_allocate, flipped_deallocate, flipped_copy};
  if (table->version != CRESSET_C_ABI_VERSION || table->size < sizeof(cresset_api)) return CRESSET_ERROR;
  api = table;
  TRY(api->define(library, "plain::scale(Tensor x, float by=2.0) -> Tensor"));
  TRY(api->implement(library, "plain::scale", "CPU", scale_cpu, &scale_calls));
  TRY(api->gradient(library, "plain::scale", scale_backward, NULL));
  TRY(api->define(library, "plain::total(Tensor[] list) -> int"));
  TRY(api->implement(library, "plain::total", "Composite", total, NULL));
#ifdef WITH_DEVICE
  TRY(api->register_backend("flipped", "flipped"));
  TRY(api->set_allocator("flipped", &memory));
  TRY(api->implement(library, "copy_", "flipped", copy_, NULL));
  TRY(api->fallback(library, "flipped", on_cpu, NULL));
#else
  (void)memory;
  (void)copy_;
  (void)on_cpu;
#endif
  return CRESSET_OK;
}
