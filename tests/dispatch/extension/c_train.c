/* Fits a line by gradient descent through the table alone: a program in C that trains. Returns the last loss, or -1 after an error. */
#include "cresset/dispatch/c_abi.h"

static const cresset_api* api;

/* A call of two tensors, or of one where b is NULL; NULL after an error. */
static cresset_tensor call(const char* name, cresset_tensor a, cresset_tensor b) {
  cresset_op op;
  cresset_values in = 0, out = 0;
  cresset_tensor result = 0;
  if (api->find_op(name, &op) == CRESSET_OK && api->values_new(&in) == CRESSET_OK && api->values_new(&out) == CRESSET_OK &&
      api->push_tensor(in, a) == CRESSET_OK && (!b || api->push_tensor(in, b) == CRESSET_OK)) {
    if (name[0] == 'm' && name[1] == 'e') api->push_none(in); /* mean's dtype */
    if (name[0] == 'a' || name[0] == 's') api->push_float(in, name[0] == 's' && name[3] == '_' ? 0.1 : 1.0); /* alpha */
    if (api->call(op, in, out) == CRESSET_OK) api->get_tensor(out, 0, &result);
  }
  if (in) api->values_free(in);
  if (out) api->values_free(out);
  return result;
}

static double step(cresset_tensor x, cresset_tensor y, cresset_tensor weights[2]) {
  double loss_value = -1;
  cresset_tensor product = call("mul.Tensor", x, weights[0]), line = call("add.Tensor", product, weights[1]);
  cresset_tensor error = call("sub.Tensor", line, y), squares = call("mul.Tensor", error, error), loss = call("mean", squares, 0);
  if (loss && api->tensor_backward(loss, 0, 0) == CRESSET_OK) {
    loss_value = *(double*)api->tensor_data(loss);
    const int before = api->set_grad_enabled(0);
    for (int i = 0; i < 2; i++) {
      cresset_tensor grad = 0, same;
      api->tensor_grad(weights[i], &grad);
      same = call("sub_.Tensor", weights[i], grad);
      if (!grad || !same) loss_value = -1;
      api->tensor_set_grad(weights[i], 0);
      api->tensor_free(same);
      api->tensor_free(grad);
    }
    api->set_grad_enabled(before);
  }
  const cresset_tensor all[] = {product, line, error, squares, loss};
  for (int i = 0; i < 5; i++) api->tensor_free(all[i]);
  return loss_value;
}

__attribute__((visibility("default"))) double c_train(const cresset_api* given, double fitted[2]) {
  api = given;
  double xs[] = {-1, 0, 1, 2}, ys[] = {-1, 1, 3, 5}; /* y = 2 x + 1 */
  double start[] = {0, 0}, loss = -1;
  const int64_t four[] = {4}, one[] = {1};
  cresset_tensor x, y, weights[2];
  if (api->tensor_from_memory(xs, four, 0, 1, CRESSET_FLOAT64, 0, 0, &x) != CRESSET_OK) return -1;
  if (api->tensor_from_memory(ys, four, 0, 1, CRESSET_FLOAT64, 0, 0, &y) != CRESSET_OK) return -1;
  for (int i = 0; i < 2; i++) {
    if (api->tensor_from_memory(&start[i], one, 0, 1, CRESSET_FLOAT64, 0, 0, &weights[i]) != CRESSET_OK) return -1;
    if (api->tensor_set_requires_grad(weights[i], 1) != CRESSET_OK) return -1;
  }
  for (int i = 0; i < 200; i++) loss = step(x, y, weights);
  for (int i = 0; i < 2; i++) {
    fitted[i] = start[i];
    api->tensor_free(weights[i]);
  }
  api->tensor_free(x);
  api->tensor_free(y);
  return loss;
}
