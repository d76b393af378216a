/* The C interface for libraries from outside the tree: ops, kernels, gradients and devices without any C++ at the border, so that
 * such a library needs no rebuild when Cresset or the compiler changes.
 *
 *   static cresset_status twice(void* context, cresset_op op, cresset_values arguments, cresset_values results) { ... }
 *
 *   cresset_status cresset_extension_init(const cresset_api* api, cresset_library library) {
 *     cresset_status s = api->define(library, "mine::twice(Tensor x) -> Tensor");
 *     if (s != CRESSET_OK) return s;
 *     return api->implement(library, "mine::twice", "CPU", twice, NULL);
 *   }
 *
 * cresset::dispatch::load_library opens the library and calls cresset_extension_init; an error there undoes what was registered and is
 * raised. Closing the library undoes it too. The library links to nothing: everything comes in through the table.
 *
 * Every function returns a status; last_error() has the message of this thread's last failure. A kernel that fails calls set_error and
 * returns what it returns. No C++ exception crosses the border in either direction.
 *
 * Rules of the version: functions are only ever added, at the end of the table; `size` says how far it reaches. A change of what
 * exists raises CRESSET_C_ABI_VERSION, and cresset_get_api gives NULL for versions that the library does not speak. */
#ifndef CRESSET_DISPATCH_C_ABI_H_
#define CRESSET_DISPATCH_C_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRESSET_C_ABI_VERSION 1

typedef enum cresset_status {
  CRESSET_OK = 0,
  CRESSET_ERROR = 1, /* any error without a kind of its own */
  CRESSET_INDEX_ERROR = 2,
  CRESSET_VALUE_ERROR = 3,
  CRESSET_TYPE_ERROR = 4,
  CRESSET_NOT_IMPLEMENTED = 5,
  CRESSET_OUT_OF_MEMORY = 6,
  CRESSET_LINALG_ERROR = 7
} cresset_status;

/* The numbers of the dtypes. */
typedef enum cresset_dtype {
  CRESSET_UINT8 = 0,
  CRESSET_INT8 = 1,
  CRESSET_INT16 = 2,
  CRESSET_INT32 = 3,
  CRESSET_INT64 = 4,
  CRESSET_FLOAT16 = 5,
  CRESSET_FLOAT32 = 6,
  CRESSET_FLOAT64 = 7,
  CRESSET_COMPLEX32 = 8,
  CRESSET_COMPLEX64 = 9,
  CRESSET_COMPLEX128 = 10,
  CRESSET_BOOL = 11,
  CRESSET_BFLOAT16 = 12,
  CRESSET_UINT16 = 13,
  CRESSET_UINT32 = 14,
  CRESSET_UINT64 = 15,
  CRESSET_FLOAT8_E5M2 = 16,
  CRESSET_FLOAT8_E4M3FN = 17,
  CRESSET_FLOAT8_E5M2FNUZ = 18,
  CRESSET_FLOAT8_E4M3FNUZ = 19,
  CRESSET_FLOAT8_E8M0FNU = 20
} cresset_dtype;

typedef enum cresset_kind {
  CRESSET_KIND_NONE = 0,
  CRESSET_KIND_TENSOR = 1,
  CRESSET_KIND_INT = 2,
  CRESSET_KIND_FLOAT = 3,
  CRESSET_KIND_BOOL = 4,
  CRESSET_KIND_COMPLEX = 5,
  CRESSET_KIND_STRING = 6,
  CRESSET_KIND_DTYPE = 7,
  CRESSET_KIND_DEVICE = 8,
  CRESSET_KIND_INT_LIST = 9,
  CRESSET_KIND_FLOAT_LIST = 10,
  CRESSET_KIND_BOOL_LIST = 11,
  CRESSET_KIND_TENSOR_LIST = 12, /* elements may be NULL */
  CRESSET_KIND_OTHER = 13        /* passed on, not read */
} cresset_kind;

typedef struct cresset_tensor_s* cresset_tensor;   /* a reference, given back by tensor_free; NULL: an undefined tensor */
typedef struct cresset_values_s* cresset_values;   /* arguments or results of a call, in the schema's order */
typedef struct cresset_library_s* cresset_library; /* a set of registrations */
typedef const struct cresset_op_s* cresset_op;     /* lives as long as the process */

/* Reads `arguments`, appends to `results`. A written argument (Tensor(a!)) is appended as a result if the schema returns it. */
typedef cresset_status (*cresset_kernel)(void* context, cresset_op op, cresset_values arguments, cresset_values results);

/* Memory of a device. deallocate and copy get what allocate gave. copy may be NULL: then storages cannot grow. */
typedef struct cresset_allocator {
  void* context;
  void* (*allocate)(void* context, size_t nbytes); /* NULL: out of memory; never called for 0 bytes */
  void (*deallocate)(void* context, void* data, size_t nbytes);
  void (*copy)(void* context, void* to, const void* from, size_t nbytes);
} cresset_allocator;

typedef struct cresset_api {
  uint32_t version; /* CRESSET_C_ABI_VERSION */
  uint32_t size;    /* of this table in bytes */

  /* Errors. The text lives until the thread's next failure. */
  const char* (*last_error)(void);
  cresset_status (*set_error)(cresset_status status, const char* message); /* returns status */

  /* Registration. Keys: "CPU", "Meta", a backend, "Autograd" or another layer, "Composite". */
  cresset_status (*library_open)(cresset_library* out); /* beside the one that init gets: registrations that end at library_close */
  cresset_status (*library_close)(cresset_library library);
  cresset_status (*define)(cresset_library library, const char* schema);
  cresset_status (*implement)(cresset_library library, const char* op, const char* key, cresset_kernel kernel, void* context);
  /* The gradient of an op: gets the arguments, then the results, then one gradient for each result (None: zeros), and appends one
   * tensor or none for each argument that is a tensor, in order. It may call ops: then it differentiates again. */
  cresset_status (*gradient)(cresset_library library, const char* op, cresset_kernel backward, void* context);
  /* What runs for ops without a kernel for the key. */
  cresset_status (*fallback)(cresset_library library, const char* key, cresset_kernel kernel, void* context);
  cresset_status (*register_backend)(const char* name, const char* device);
  /* The library stays loaded from then on: its memory may outlive every other use of it. */
  cresset_status (*set_allocator)(const char* device, const cresset_allocator* allocator);

  /* Ops. */
  cresset_status (*find_op)(const char* name, cresset_op* out);
  const char* (*op_name)(cresset_op op);
  const char* (*op_schema)(cresset_op op);
  cresset_status (*call)(cresset_op op, cresset_values arguments, cresset_values results);
  /* Below the autograd layer: what a kernel for "Autograd" calls. */
  cresset_status (*call_below_autograd)(cresset_op op, cresset_values arguments, cresset_values results);
  /* Runs the op on copies on the CPU: the body of a device's fallback. */
  cresset_status (*cpu_fallback)(cresset_op op, cresset_values arguments, cresset_values results);

  /* Values. Getters: a status of CRESSET_TYPE_ERROR or CRESSET_INDEX_ERROR where there is no such value. */
  cresset_status (*values_new)(cresset_values* out);
  void (*values_free)(cresset_values values);
  void (*values_clear)(cresset_values values);
  size_t (*values_size)(cresset_values values);
  cresset_kind (*values_kind)(cresset_values values, size_t at);
  cresset_status (*get_tensor)(cresset_values values, size_t at, cresset_tensor* out); /* None gives NULL */
  cresset_status (*get_int)(cresset_values values, size_t at, int64_t* out);
  cresset_status (*get_float)(cresset_values values, size_t at, double* out);
  cresset_status (*get_bool)(cresset_values values, size_t at, int* out);
  cresset_status (*get_complex)(cresset_values values, size_t at, double* real, double* imag);
  cresset_status (*get_string)(cresset_values values, size_t at, const char** out); /* lives as long as the value */
  cresset_status (*get_dtype)(cresset_values values, size_t at, cresset_dtype* out);
  cresset_status (*get_device)(cresset_values values, size_t at, const char** type, int* index); /* index -1: none */
  cresset_status (*get_list_size)(cresset_values values, size_t at, size_t* out);
  cresset_status (*get_int_list)(cresset_values values, size_t at, int64_t* out);
  cresset_status (*get_float_list)(cresset_values values, size_t at, double* out);
  cresset_status (*get_bool_list)(cresset_values values, size_t at, int* out);
  cresset_status (*get_tensor_list)(cresset_values values, size_t at, cresset_tensor* out);
  cresset_status (*push_value)(cresset_values values, cresset_values from, size_t at); /* a value of any kind */
  cresset_status (*push_none)(cresset_values values);
  cresset_status (*push_tensor)(cresset_values values, cresset_tensor tensor); /* NULL: None */
  cresset_status (*push_int)(cresset_values values, int64_t value);
  cresset_status (*push_float)(cresset_values values, double value);
  cresset_status (*push_bool)(cresset_values values, int value);
  cresset_status (*push_complex)(cresset_values values, double real, double imag);
  cresset_status (*push_string)(cresset_values values, const char* value);
  cresset_status (*push_dtype)(cresset_values values, cresset_dtype value);
  cresset_status (*push_device)(cresset_values values, const char* type, int index);
  cresset_status (*push_int_list)(cresset_values values, const int64_t* list, size_t size);
  cresset_status (*push_float_list)(cresset_values values, const double* list, size_t size);
  cresset_status (*push_bool_list)(cresset_values values, const int* list, size_t size);
  cresset_status (*push_tensor_list)(cresset_values values, const cresset_tensor* list, size_t size);

  /* Tensors. sizes and strides live as long as the tensor keeps its shape. */
  cresset_status (*tensor_empty)(const int64_t* sizes, size_t dim, cresset_dtype dtype, const char* device, int index, cresset_tensor* out);
  /* Over memory of the caller's on the CPU, given back by `deleter` (may be NULL). strides NULL: contiguous. */
  cresset_status (*tensor_from_memory)(void* data, const int64_t* sizes, const int64_t* strides, size_t dim, cresset_dtype dtype,
                                       void (*deleter)(void* context, void* data), void* context, cresset_tensor* out);
  cresset_tensor (*tensor_copy)(cresset_tensor tensor); /* another reference to the same tensor */
  void (*tensor_free)(cresset_tensor tensor);
  size_t (*tensor_dim)(cresset_tensor tensor);
  const int64_t* (*tensor_sizes)(cresset_tensor tensor);
  const int64_t* (*tensor_strides)(cresset_tensor tensor);
  int64_t (*tensor_numel)(cresset_tensor tensor);
  cresset_dtype (*tensor_dtype)(cresset_tensor tensor);
  const char* (*tensor_device)(cresset_tensor tensor, int* index); /* index may be NULL */
  int (*tensor_is_contiguous)(cresset_tensor tensor);
  int (*tensor_requires_grad)(cresset_tensor tensor);
  void* (*tensor_data)(cresset_tensor tensor); /* the first element; NULL without elements or storage */

  /* Gradients. A table of a smaller size ends above this line. */
  cresset_status (*tensor_set_requires_grad)(cresset_tensor tensor, int requires_grad);
  /* gradient NULL: 1, for a tensor of one element. */
  cresset_status (*tensor_backward)(cresset_tensor tensor, cresset_tensor gradient, int retain_graph);
  cresset_status (*tensor_grad)(cresset_tensor tensor, cresset_tensor* out);         /* NULL: backward has not reached it */
  cresset_status (*tensor_set_grad)(cresset_tensor tensor, cresset_tensor gradient); /* NULL: none, before the next backward */
  cresset_status (*tensor_detach)(cresset_tensor tensor, cresset_tensor* out);       /* the same memory, without a history */
  /* Whether this thread's calls record a history; returns what it was. */
  int (*set_grad_enabled)(int enabled);
} cresset_api;

/* The table, or NULL where the version is not spoken. For programs that link to libcresset. */
__attribute__((visibility("default"))) const cresset_api* cresset_get_api(uint32_t version);

/* What an extension defines. It may check api->version and api->size. Where it says CRESSET_EXTENSION_ABI once, load_library refuses it before it runs if
 * this version is not spoken, with both versions in the error. */
#define CRESSET_EXTENSION_ABI __attribute__((visibility("default"))) const uint32_t cresset_extension_abi = CRESSET_C_ABI_VERSION;
typedef cresset_status (*cresset_extension_init_fn)(const cresset_api* api, cresset_library library);
__attribute__((visibility("default"))) cresset_status cresset_extension_init(const cresset_api* api, cresset_library library);

#ifdef __cplusplus
}
#endif

#endif /* CRESSET_DISPATCH_C_ABI_H_ */
