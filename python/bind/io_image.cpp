// Images of files and back.

#include "cresset/io/image.h"
#include "python/bind/io.h"

namespace cresset::python {

namespace {

std::string path_of(PyObject* path) {
  const Ref encoded = PyBytes_Check(path) ? Ref::share(path) : checked(PyUnicode_EncodeFSDefault(path));
  return std::string(PyBytes_AS_STRING(encoded.get()), static_cast<size_t>(PyBytes_GET_SIZE(encoded.get())));
}

// (bytes, a tensor of them or a path, name: empty for a path, format, mode, orientation, most pixels, least height, least width)
PyObject* decode(PyObject*, PyObject* args) {
  PyObject* from;
  const char* name;
  int format, mode, upright;
  long long max_pixels, least_height, least_width;
  if (!PyArg_ParseTuple(args, "OsiipLLL", &from, &name, &format, &mode, &upright, &max_pixels, &least_height, &least_width)) return nullptr;
  return guarded([&] {
    CRESSET_CHECK_VALUE(mode >= 0 && mode <= 4, "decode_image: the mode is an ImageReadMode, 0 to 4, got ", mode);
    vision::ImageReadOptions options(static_cast<vision::ImageReadMode>(mode), upright);
    options.max_pixels = max_pixels;
    options.least_height = least_height;
    options.least_width = least_width;
    const auto kind = static_cast<vision::ImageFormat>(format);
    Tensor image;
    if (!*name) {
      const std::string path = path_of(from);
      NoGil released;
      image = vision::read_image(path, options);
    } else if (is_tensor(from)) {
      const Tensor data = tensor_of(from);
      NoGil released;
      image = kind == vision::ImageFormat::jpeg  ? vision::decode_jpeg(data, options)
              : kind == vision::ImageFormat::png ? vision::decode_png(data, options)
                                                 : vision::decode_image(data, options);
    } else {
      Py_buffer view;
      if (PyObject_GetBuffer(from, &view, PyBUF_SIMPLE)) throw PythonError();
      const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> held(&view, PyBuffer_Release);
      NoGil released;
      image = vision::decode_image(view.buf, static_cast<size_t>(view.len), kind, options, name);
    }
    return wrap(image);
  });
}

// (image, quality)
PyObject* encode_jpeg(PyObject*, PyObject* args) {
  PyObject* image;
  long long quality;
  if (!PyArg_ParseTuple(args, "O!L", tensor_type, &image, &quality)) return nullptr;
  return guarded([&] {
    const Tensor pixels = tensor_of(image);
    Tensor made;
    {
      NoGil released;
      made = vision::encode_jpeg(pixels, quality);
    }
    return wrap(made);
  });
}

// (image, compression level)
PyObject* encode_png(PyObject*, PyObject* args) {
  PyObject* image;
  long long level;
  if (!PyArg_ParseTuple(args, "O!L", tensor_type, &image, &level)) return nullptr;
  return guarded([&] {
    const Tensor pixels = tensor_of(image);
    Tensor made;
    {
      NoGil released;
      made = vision::encode_png(pixels, level);
    }
    return wrap(made);
  });
}

PyObject* read_file(PyObject*, PyObject* path) {
  return guarded([&] {
    const std::string name = path_of(path);
    Tensor bytes;
    {
      NoGil released;
      bytes = vision::read_file(name);
    }
    return wrap(bytes);
  });
}

// (path, bytes as a tensor)
PyObject* write_file(PyObject*, PyObject* args) {
  PyObject *path, *data;
  if (!PyArg_ParseTuple(args, "OO!", &path, tensor_type, &data)) return nullptr;
  return guarded([&]() -> PyObject* {
    const std::string name = path_of(path);
    const Tensor bytes = tensor_of(data);
    {
      NoGil released;
      vision::write_file(name, bytes);
    }
    Py_RETURN_NONE;
  });
}

PyObject* codecs_found(PyObject*, PyObject*) { return PyBool_FromLong(vision::codecs_found()); }

}  // namespace

bool add_io_image(PyObject* module) {
  static PyMethodDef functions[] = {{"_image_decode", decode, METH_VARARGS, nullptr},
                                    {"_image_encode_jpeg", encode_jpeg, METH_VARARGS, nullptr},
                                    {"_image_encode_png", encode_png, METH_VARARGS, nullptr},
                                    {"_image_read_file", read_file, METH_O, nullptr},
                                    {"_image_write_file", write_file, METH_VARARGS, nullptr},
                                    {"_image_codecs_found", codecs_found, METH_NOARGS, nullptr},
                                    {}};
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
