// Expressions and shape environments: `Expr` is a value, `ShapeEnv` the object behind `torch.fx.experimental.symbolic_shapes.ShapeEnv`.

#include <bit>
#include <cstring>

#include "cresset/graph/symbolic/shape_env.h"
#include "python/bind_graph/bind_graph.h"
#include "python/common/reference.h"

namespace cresset::graph {

namespace {

using python::present_list, python::present, python::PythonError;

PyTypeObject *expr_type, *env_type;
PyObject* data_dependent_error;

struct ExprObject {
  PyObject_HEAD Expr value;
};
struct EnvObject {
  PyObject_HEAD intrusive_ptr<ShapeEnv> env;
  PyObject* place;
};

void set_symbolic_error() {
  try {
    throw;
  } catch (const DataDependentGuardError& e) { PyErr_SetString(data_dependent_error ? data_dependent_error : PyExc_RuntimeError, e.what()); } catch (...) {
    set_python_error();
  }
}
template <class F> PyObject* guarded(F&& body) { return python::or_error(body, set_symbolic_error); }

PyObject* wrap(Expr e) {
  PyObject* o = present(expr_type->tp_alloc(expr_type, 0));
  new (&reinterpret_cast<ExprObject*>(o)->value) Expr(std::move(e));
  return o;
}
PyObject* wrap(const Number& n) {
  if (const auto* i = std::get_if<int64_t>(&n)) return PyLong_FromLongLong(*i);
  if (const auto* b = std::get_if<bool>(&n)) return PyBool_FromLong(*b);
  return PyFloat_FromDouble(std::get<double>(n));
}
PyObject* wrap(const std::optional<Number>& n) {
  if (n) return wrap(*n);
  Py_RETURN_NONE;
}
PyObject* wrap(const std::optional<bool>& b) {
  if (b) return PyBool_FromLong(*b);
  Py_RETURN_NONE;
}
// The number that an expression is, or the expression.
PyObject* wrap_plain(const Expr& e) {
  const auto c = e.constant();
  return c ? wrap(*c) : wrap(e);
}
PyObject* wrap(const std::string& s) { return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())); }
PyObject* bound(int64_t v) {
  if (v == kInfinity || v == -kInfinity) return PyFloat_FromDouble(v > 0 ? Py_HUGE_VAL : -Py_HUGE_VAL);
  return PyLong_FromLongLong(v);
}

int64_t integer(PyObject* o) {
  const int64_t v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}
int64_t bound_of(PyObject* o, int64_t none) {
  if (o == Py_None) return none;
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o) > 0 ? kInfinity : -kInfinity;
  return integer(o);
}
Expr expr_of(PyObject* o) {
  if (PyObject_TypeCheck(o, expr_type)) return reinterpret_cast<ExprObject*>(o)->value;
  if (PyBool_Check(o)) return Expr::truth(o == Py_True);
  if (PyLong_Check(o)) return integer(o);
  if (PyFloat_Check(o)) return Expr::number(PyFloat_AS_DOUBLE(o));
  PyErr_Format(PyExc_TypeError, "symbolic expression: expected an expression or a number, got %s", Py_TYPE(o)->tp_name);
  throw PythonError();
}
Bindings bindings_of(PyObject* dict) {
  Bindings out;
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    const char* name = PyUnicode_AsUTF8(key);
    if (!name) throw PythonError();
    out[name] = PyFloat_Check(value) ? std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(value)) : integer(value);
  }
  return out;
}

// ---- Expr --------------------------------------------------------------------------------------------------------------

const Expr& self_expr(PyObject* o) { return reinterpret_cast<ExprObject*>(o)->value; }

void expr_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  reinterpret_cast<ExprObject*>(o)->value.~Expr();
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* expr_repr(PyObject* o) {
  return guarded([&] { return wrap(self_expr(o).text()); });
}
Py_hash_t expr_hash(PyObject* o) {
  const auto h = static_cast<Py_hash_t>(std::hash<std::string>()(self_expr(o).text()));
  return h == -1 ? -2 : h;
}
PyObject* expr_compare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  if (!PyObject_TypeCheck(b, expr_type) && !PyLong_Check(b) && !PyFloat_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] { return PyBool_FromLong((expr_of(a) == expr_of(b)) == (op == Py_EQ)); });
}
PyObject* kind_name(PyObject* o, void*) {
  const Kind k = self_expr(o).kind();
  return PyUnicode_FromString(k == Kind::Int ? "int" : k == Kind::Float ? "float" : "bool");
}
PyObject* expr_constant(PyObject* o, void*) {
  return guarded([&] { return wrap(self_expr(o).constant()); });
}
PyObject* free_symbols(PyObject* o, void*) {
  return guarded([&] { return present_list(self_expr(o).symbols(), [](const std::string& s) { return wrap(s); }); });
}
PyObject* is_symbol(PyObject* o, void*) {
  return guarded([&] {
    const Expr& e = self_expr(o);
    return PyBool_FromLong(e.kind() == Kind::Int ? e.integer().as_symbol().has_value() : e.op() == Op::Symbol);
  });
}

PyObject* tree_of(const Expr& e);
PyObject* node_of(const char* op, const std::vector<PyObject*>& parts) {
  PyObject* t = present(PyTuple_New(static_cast<Py_ssize_t>(parts.size()) + 1));
  PyTuple_SET_ITEM(t, 0, PyUnicode_FromString(op));
  for (size_t i = 0; i < parts.size(); i++) PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i) + 1, parts[i]);
  return t;
}
PyObject* tree_of(const Sym::Factor& f) {
  PyObject* base;
  switch (f.function) {
    case Sym::Function::Symbol: base = wrap(f.name); break;
    case Sym::Function::FloorDiv: base = node_of("floordiv", {tree_of(f.arguments[0]), tree_of(f.arguments[1])}); break;
    case Sym::Function::Mod: base = node_of("mod", {tree_of(f.arguments[0]), tree_of(f.arguments[1])}); break;
    case Sym::Function::Max: base = node_of("max", {tree_of(f.arguments[0]), tree_of(f.arguments[1])}); break;
    case Sym::Function::Min: base = node_of("min", {tree_of(f.arguments[0]), tree_of(f.arguments[1])}); break;
    default: {
      const Expr* e = expression_of(*f.other);
      std::vector<PyObject*> parts;
      for (const Expr& a : e->arguments()) parts.push_back(tree_of(a));
      base = node_of(op_name(e->op()), parts);
    }
  }
  return f.power == 1 ? base : node_of("pow", {base, PyLong_FromLong(f.power)});
}
// Names, numbers and tuples (operation, part, ...): sums and products of two.
PyObject* tree_of(const Expr& e) {
  if (const auto c = e.constant()) return wrap(*c);
  if (e.kind() != Kind::Int || e.op() != Op::Constant) {
    if (e.op() == Op::Symbol) return wrap(e.text());
    std::vector<PyObject*> parts;
    for (const Expr& a : e.arguments()) parts.push_back(tree_of(a));
    return node_of(op_name(e.op()), parts);
  }
  PyObject* sum = nullptr;
  std::vector<Sym::Term> terms = e.integer().terms();
  if (terms.front().factors.empty() || terms.front().coefficient < 0)  // numbers last, and no negative one first where another can be
    for (size_t i = 1; i < terms.size(); i++)
      if (!terms[i].factors.empty() && terms[i].coefficient > 0) {
        std::swap(terms[0], terms[i]);
        break;
      }
  if (terms.size() > 1 && terms.front().factors.empty()) std::rotate(terms.begin(), terms.begin() + 1, terms.end());
  for (const Sym::Term& t : terms) {
    const bool minus = sum && t.coefficient < 0;
    const int64_t coefficient = minus ? -t.coefficient : t.coefficient;
    PyObject* product = nullptr;
    for (const Sym::Factor& f : t.factors) product = product ? node_of("mul", {product, tree_of(f)}) : tree_of(f);
    if (!product) product = PyLong_FromLongLong(coefficient);
    else if (coefficient == -1) product = node_of("neg", {product});
    else if (coefficient != 1) product = node_of("mul", {PyLong_FromLongLong(coefficient), product});
    sum = sum ? node_of(minus ? "sub" : "add", {sum, product}) : product;
  }
  return sum;
}
PyObject* expr_tree(PyObject* o, PyObject*) {
  return guarded([&] { return tree_of(self_expr(o)); });
}
PyObject* expr_evaluate(PyObject* o, PyObject* dict) {
  return guarded([&] {
    if (!PyDict_Check(dict)) return PyErr_Format(PyExc_TypeError, "evaluate: expected a dict of symbols and numbers, got %s", Py_TYPE(dict)->tp_name);
    return wrap(self_expr(o).evaluate(bindings_of(dict)));
  });
}
PyObject* expr_substitute(PyObject* o, PyObject* args) {
  const char* name;
  PyObject* by;
  if (!PyArg_ParseTuple(args, "sO:substitute", &name, &by)) return nullptr;
  return guarded([&] { return wrap(self_expr(o).substitute(name, expr_of(by).integer())); });
}
PyObject* expr_reduce(PyObject* o, PyObject*);
PyMethodDef expr_methods[] = {{"tree", expr_tree, METH_NOARGS, "Names, numbers and tuples (operation, part, ...)."},
                              {"evaluate", expr_evaluate, METH_O, "The number where symbols have the values of a dict; None where one has none."},
                              {"substitute", expr_substitute, METH_VARARGS, "substitute(name, expression): with a symbol replaced."},
                              {"__reduce__", expr_reduce, METH_NOARGS, nullptr},
                              {}};
PyGetSetDef expr_properties[] = {{"kind", kind_name, nullptr, "'int', 'float' or 'bool'.", nullptr},
                                 {"constant", expr_constant, nullptr, "The number that it is, or None.", nullptr},
                                 {"symbols", free_symbols, nullptr, "Names of its symbols, sorted.", nullptr},
                                 {"is_symbol", is_symbol, nullptr, "Whether it is one symbol alone.", nullptr},
                                 {}};
PyType_Slot expr_slots[] = {{Py_tp_doc, const_cast<char*>("An integer, float or truth value over named symbols; immutable.")},
                            {Py_tp_dealloc, reinterpret_cast<void*>(expr_dealloc)},
                            {Py_tp_repr, reinterpret_cast<void*>(expr_repr)},
                            {Py_tp_hash, reinterpret_cast<void*>(expr_hash)},
                            {Py_tp_richcompare, reinterpret_cast<void*>(expr_compare)},
                            {Py_tp_methods, expr_methods},
                            {Py_tp_getset, expr_properties},
                            {}};

// apply(operation, *arguments)
PyObject* apply(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    const char* name = n >= 2 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8(args[0]) : nullptr;
    if (!name) return PyErr_Format(PyExc_TypeError, "apply: expected the name of an operation and its arguments");
    std::vector<Expr> arguments;
    for (Py_ssize_t i = 1; i < n; i++) arguments.push_back(expr_of(args[i]));
    return wrap(Expr::apply(op_named(name), arguments));
  });
}
// symbol(name, kind="int")
PyObject* symbol(PyObject*, PyObject* args) {
  const char *name, *kind = "int";
  if (!PyArg_ParseTuple(args, "s|s:symbol", &name, &kind)) return nullptr;
  return guarded([&] { return wrap(Expr::symbol(name, !strcmp(kind, "int") ? Kind::Int : !strcmp(kind, "float") ? Kind::Float : Kind::Bool)); });
}
PyObject* number(PyObject*, PyObject* value) {
  return guarded([&] { return wrap(expr_of(value)); });
}
Expr from_tree(PyObject* o) {
  if (PyUnicode_Check(o)) return Expr::symbol(PyUnicode_AsUTF8(o), PyUnicode_AsUTF8(o)[0] == 'z' ? Kind::Float : Kind::Int);
  if (!PyTuple_Check(o)) return expr_of(o);
  if (PyTuple_GET_SIZE(o) < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(o, 0)))
    throw ValueError("symbolic expression: expected a tuple of an operation and its parts");
  std::vector<Expr> parts;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(o); i++) parts.push_back(from_tree(PyTuple_GET_ITEM(o, i)));
  return Expr::apply(op_named(PyUnicode_AsUTF8(PyTuple_GET_ITEM(o, 0))), parts);
}
PyObject* expr_from_tree(PyObject*, PyObject* tree) {
  return guarded([&] { return wrap(from_tree(tree)); });
}
PyObject* expr_reduce(PyObject* o, PyObject*) {
  PyObject* module = PyImport_ImportModule("_cresset_graph");
  PyObject* make = module ? PyObject_GetAttrString(module, "expr_from_tree") : nullptr;
  Py_XDECREF(module);
  PyObject* tree = make ? expr_tree(o, nullptr) : nullptr;
  return tree ? Py_BuildValue("N(N)", make, tree) : nullptr;
}

// ---- ShapeEnv ----------------------------------------------------------------------------------------------------------

ShapeEnv& self_env(PyObject* o) { return *reinterpret_cast<EnvObject*>(o)->env; }

PyObject* env_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {
      "allow_scalar_outputs", "allow_dynamic_output_shape_ops", "duck_shape", "specialize_zero_one", "prefer_deferred", "place", nullptr};
  int scalar = 1, dynamic = 1, duck = 1, zero_one = 1, deferred = 0;
  PyObject* place = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pppppO:ShapeEnv", const_cast<char**>(names), &scalar, &dynamic, &duck, &zero_one, &deferred, &place))
    return nullptr;
  return guarded([&] {
    PyObject* o = present(type->tp_alloc(type, 0));
    auto* self = reinterpret_cast<EnvObject*>(o);
    ShapeEnv::Options options;
    options.allow_scalar_outputs = scalar;
    options.allow_dynamic_output_shape_ops = dynamic;
    options.duck_shape = duck;
    options.specialize_zero_one = zero_one;
    options.prefer_deferred_asserts = deferred;
    new (&self->env) intrusive_ptr<ShapeEnv>(make_intrusive<ShapeEnv>(options));
    self->place = place == Py_None ? nullptr : Py_NewRef(place);
    if (self->place)
      self->env->place = [place](bool quoted) -> std::string {
        const PyGILState_STATE held = PyGILState_Ensure();  // large tensors run without the interpreter's lock
        PyObject* text = PyObject_CallOneArg(place, quoted ? Py_True : Py_False);
        const char* s = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : nullptr;
        std::string out = s ? s : "";
        Py_XDECREF(text);
        PyErr_Clear();
        PyGILState_Release(held);
        return out;
      };
    return o;
  });
}
void env_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<EnvObject*>(o);
  PyTypeObject* type = Py_TYPE(o);
  self->env->place = nullptr;
  Py_CLEAR(self->place);
  using Pointer = intrusive_ptr<ShapeEnv>;
  self->env.~Pointer();
  type->tp_free(o);
  Py_DECREF(type);
}

// create_symbol(hint, source, duck, dynamic, lower, upper, name) -> Expr or int
PyObject* create_symbol(PyObject* o, PyObject* args) {
  long long hint;
  const char *source, *name = "";
  int duck, dynamic;
  PyObject *lower, *upper;
  if (!PyArg_ParseTuple(args, "LsppOO|s:create_symbol", &hint, &source, &duck, &dynamic, &lower, &upper, &name)) return nullptr;
  return guarded([&] {
    return wrap_plain(self_env(o).create_symbol(hint, source, duck, dynamic, {bound_of(lower, -kInfinity), bound_of(upper, kInfinity)}, name));
  });
}
PyObject* create_unbacked(PyObject* o, PyObject* kind) {
  return guarded([&] {
    const char* k = PyUnicode_AsUTF8(kind);
    if (!k) throw PythonError();
    if (!strcmp(k, "size")) return wrap(self_env(o).size_symbol());
    return wrap(self_env(o).create_unbacked(!strcmp(k, "int") ? Kind::Int : !strcmp(k, "float") ? Kind::Float : Kind::Bool));
  });
}
PyObject* expect_rank(PyObject* o, PyObject* rank) {
  return guarded([&] {
    self_env(o).expect_rank(static_cast<size_t>(integer(rank)));
    Py_RETURN_NONE;
  });
}
PyObject* constrain(PyObject* o, PyObject* args) {
  const char* name;
  PyObject *lower, *upper;
  if (!PyArg_ParseTuple(args, "sOO:constrain", &name, &lower, &upper)) return nullptr;
  return guarded([&] {
    self_env(o).constrain(name, {bound_of(lower, -kInfinity), bound_of(upper, kInfinity)});
    Py_RETURN_NONE;
  });
}
PyObject* simplify(PyObject* o, PyObject* e) {
  return guarded([&] { return wrap(self_env(o).simplify(expr_of(e))); });
}
PyObject* statically(PyObject* o, PyObject* e) {
  return guarded([&] { return wrap(self_env(o).statically(self_env(o).simplify(expr_of(e)))); });
}
PyObject* evaluate(PyObject* o, PyObject* e) {
  return guarded([&] { return PyBool_FromLong(self_env(o).evaluate(expr_of(e))); });
}
PyObject* specialize(PyObject* o, PyObject* e) {
  return guarded([&] { return wrap(self_env(o).specialize(expr_of(e))); });
}
PyObject* expect(PyObject* o, PyObject* args) {
  PyObject* e;
  const char* message;
  if (!PyArg_ParseTuple(args, "Os:expect", &e, &message)) return nullptr;
  return guarded([&] {
    self_env(o).expect(expr_of(e), message);
    Py_RETURN_NONE;
  });
}
PyObject* hint(PyObject* o, PyObject* e) {
  return guarded([&] { return wrap(self_env(o).hint(expr_of(e))); });
}
PyObject* value(PyObject* o, PyObject* e) {
  return guarded([&] { return wrap(self_env(o).value(expr_of(e))); });
}
PyObject* lift(PyObject* o, PyObject* v) {
  return guarded([&] {
    if (PyFloat_Check(v)) return wrap_plain(self_env(o).lift(PyFloat_AS_DOUBLE(v)));
    return wrap_plain(self_env(o).lift(integer(v)));
  });
}
PyObject* note_constant(PyObject* o, PyObject* v) {
  return guarded([&] {
    self_env(o).note_constant(integer(v));
    Py_RETURN_NONE;
  });
}
PyObject* range(PyObject* o, PyObject* e) {
  return guarded([&] {
    const Range r = bounds(self_env(o).simplify(expr_of(e).integer()), self_env(o).ranges);
    return Py_BuildValue("(NN)", bound(r.lower), bound(r.upper));
  });
}
PyObject* capsule(PyObject* o, PyObject*) {
  auto* shapes = static_cast<SymbolicShapes*>(&self_env(o));
  return PyCapsule_New(shapes, "cresset.SymbolicShapes", nullptr);
}
template <bool Deferred> PyObject* guard_list(PyObject* o, void*) {
  return guarded([&] {
    const ShapeEnv& env = self_env(o);
    return present_list(Deferred ? env.deferred : env.guards, [](const Guard& g) { return Py_BuildValue("(NN)", wrap(g.expr), wrap(g.place)); });
  });
}
PyObject* symbols(PyObject* o, void*) {
  return guarded([&] {
    const ShapeEnv& env = self_env(o);
    return present_list(env.order, [&](const std::string& name) {
      const auto h = env.hints.find(name);
      const auto r = env.ranges.find(name);
      const auto by = env.replacements.find(name);
      const Range range = r == env.ranges.end() ? Range() : r->second;
      PyObject* hint = h == env.hints.end() ? Py_NewRef(Py_None) : PyLong_FromLongLong(h->second);
      PyObject* replaced = by == env.replacements.end() ? Py_NewRef(Py_None) : wrap(by->second);
      return Py_BuildValue("(NNNNNN)", wrap(name), hint, bound(range.lower), bound(range.upper), replaced, wrap(env.sources.at(name)));
    });
  });
}
PyObject* symbol_count(PyObject* o, void*) { return PyLong_FromSize_t(self_env(o).order.size()); }
PyObject* address(PyObject* o, void*) { return PyLong_FromVoidPtr(static_cast<SymbolicShapes*>(&self_env(o))); }
template <bool ShapeEnv::*Flag> PyObject* get_flag(PyObject* o, void*) { return PyBool_FromLong(self_env(o).*Flag); }
template <bool ShapeEnv::*Flag> int set_flag(PyObject* o, PyObject* v, void*) {
  self_env(o).*Flag = v && PyObject_IsTrue(v) == 1;
  return 0;
}

PyMethodDef env_methods[] = {{"create_symbol", create_symbol, METH_VARARGS, "create_symbol(hint, source, duck, dynamic, lower, upper, name='')"},
                             {"create_unbacked", create_unbacked, METH_O, "A symbol of kind 'int', 'size', 'float' or 'bool' that has no hint."},
                             {"expect_rank", expect_rank, METH_O, "How many symbols the sizes of one tensor hold at most."},
                             {"constrain", constrain, METH_VARARGS, "constrain(symbol, lower, upper)"},
                             {"simplify", simplify, METH_O, "The expression with what is known put in."},
                             {"statically", statically, METH_O, "True or False where it holds for all values, else None."},
                             {"evaluate", evaluate, METH_O, "Whether it holds in the example, recorded as a guard."},
                             {"specialize", specialize, METH_O, "Its number in the example, recorded as a guard."},
                             {"expect", expect, METH_VARARGS, "expect(condition, message): it holds from now on."},
                             {"hint", hint, METH_O, "Its number in the example, or None."},
                             {"value", value, METH_O, "What stands for it in the sizes of fake tensors."},
                             {"lift", lift, METH_O, "The expression that a number stands for, or the number."},
                             {"note_constant", note_constant, METH_O, "The number is the program's own."},
                             {"range", range, METH_O, "Bounds of an integer expression."},
                             {"capsule", capsule, METH_NOARGS, nullptr},
                             {}};
PyGetSetDef env_properties[] = {{"guards", guard_list<false>, nullptr, "(condition, place) of each guard.", nullptr},
                                {"deferred", guard_list<true>, nullptr, "(condition, place) of each assertion for run time.", nullptr},
                                {"symbol_count", symbol_count, nullptr, "How many symbols it has.", nullptr},
                                {"symbols", symbols, nullptr, "(name, hint, lower, upper, replacement, source) of each symbol.", nullptr},
                                {"address", address, nullptr, nullptr, nullptr},
                                {"frozen", get_flag<&ShapeEnv::frozen>, set_flag<&ShapeEnv::frozen>, nullptr, nullptr},
                                {"suppressed", get_flag<&ShapeEnv::suppressed>, set_flag<&ShapeEnv::suppressed>, nullptr, nullptr},
                                {}};
PyType_Slot env_slots[] = {{Py_tp_doc, const_cast<char*>("The symbols of one program and what is known of them.")},
                           {Py_tp_new, reinterpret_cast<void*>(env_new)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(env_dealloc)},
                           {Py_tp_methods, env_methods},
                           {Py_tp_getset, env_properties},
                           {}};

PyObject* set_errors(PyObject*, PyObject* error) {
  Py_XSETREF(data_dependent_error, Py_NewRef(error));
  Py_RETURN_NONE;
}
PyMethodDef functions[] = {{"apply", reinterpret_cast<PyCFunction>(apply), METH_FASTCALL, "apply(operation, *arguments): an expression."},
                           {"symbol", symbol, METH_VARARGS, "symbol(name, kind='int')"},
                           {"number", number, METH_O, "A number as an expression."},
                           {"expr_from_tree", expr_from_tree, METH_O, "The expression whose tree() this is."},
                           {"_set_data_dependent_error", set_errors, METH_O, nullptr},
                           {}};

}  // namespace

bool add_symbolic(PyObject* module) {
  PyType_Spec expr_spec{"_cresset_graph.Expr", sizeof(ExprObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, expr_slots};
  PyType_Spec env_spec{"_cresset_graph.ShapeEnv", sizeof(EnvObject), 0, Py_TPFLAGS_DEFAULT, env_slots};
  expr_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&expr_spec));
  env_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&env_spec));
  return expr_type && env_type && !PyModule_AddObjectRef(module, "Expr", reinterpret_cast<PyObject*>(expr_type)) &&
         !PyModule_AddObjectRef(module, "ShapeEnv", reinterpret_cast<PyObject*>(env_type)) && !PyModule_AddFunctions(module, functions);
}

}  // namespace cresset::graph
