"""Part of ONNX that the tests need: a reader of their messages and a walk through the graph, one line of PyTorch per operator.

Field numbers and the meaning of operators are those of onnx.proto3 and of the operator pages of the specification.
"""

import struct
from pathlib import Path

import cresset as torch

F = torch.nn.functional
DTYPES = {1: torch.float32, 2: torch.uint8, 3: torch.int8, 6: torch.int32, 7: torch.int64, 9: torch.bool, 11: torch.float64}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Field number -> values of a message: integers, or the bytes of what has a length or a fixed size."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def integers(values):
    """Repeated integers, packed into bytes or one by one."""
    result = []
    for value in values:
        packed, at = ([], 0) if isinstance(value, bytes) else ([value], None)
        while at is not None and at < len(value):
            item, at = varint(value, at)
            packed.append(item)
        result += [v - (1 << 64) if v >> 63 else v for v in packed]
    return result


def tensor(message):
    """Name and tensor of a TensorProto."""
    got = fields(message)
    shape, dtype = integers(got.get(1, [])), DTYPES[got[2][0]]
    name = got.get(8, [b""])[0].decode()
    if 9 in got and got[9][0]:
        return name, torch.frombuffer(bytearray(got[9][0]), dtype=dtype).reshape(shape)
    if 4 in got:
        packed = b"".join(got[4])
        return name, torch.tensor(struct.unpack(f"<{len(packed) // 4}f", packed)).reshape(shape)
    return name, torch.tensor(integers(got.get(7) or got.get(5, [])), dtype=dtype).reshape(shape)


def load_tensor(path):
    return tensor(Path(path).read_bytes())[1]


def attribute(message):
    got = fields(message)
    kind = got.get(20, [None])[0]
    value = {
        1: lambda: struct.unpack("<f", got[2][0])[0], 2: lambda: integers(got.get(3, [0]))[0], 3: lambda: got[4][0].decode(),
        4: lambda: tensor(got[5][0])[1], 5: lambda: Body(fields(got[6][0])), 6: lambda: list(struct.unpack(f"<{len(b''.join(got[7])) // 4}f", b"".join(got[7]))),
        7: lambda: integers(got.get(8, [])), 8: lambda: [text.decode() for text in got.get(9, [])],
    }[kind]()  # fmt: skip
    return got[1][0].decode(), value


def spatial(attributes, x):
    """Strides, padding and x padded by hand where its sides differ."""
    n = x.dim() - 2
    pads = attributes.get("pads", [0] * 2 * n)
    if attributes.get("auto_pad", "NOTSET").startswith("SAME"):
        window, steps = attributes["kernel_shape"], attributes.get("strides", [1] * n)
        total = [max((-(-size // s) - 1) * s + k - size, 0) for size, k, s in zip(x.shape[2:], window, steps)]
        low = [(t + (attributes["auto_pad"] == "SAME_LOWER")) // 2 for t in total]
        pads = low + [t - each for t, each in zip(total, low)]
    return attributes.get("strides", [1] * n), pads


def padded(x, pads, value=0.0):
    n = len(pads) // 2
    order = [side for i in reversed(range(n)) for side in (pads[i], pads[i + n])]
    return F.pad(x, order, value=value) if any(pads) else x


def conv(a, x, w, b=None):
    strides, pads = spatial(a, x)
    convolution = (F.conv1d, F.conv2d)[x.dim() - 3]
    return convolution(padded(x, pads), w, b, strides, 0, a.get("dilations", [1] * len(strides)), a.get("group", 1))


def max_pool(a, x):
    strides, pads = spatial(a, x)
    return F.max_pool2d(padded(x, pads, float("-inf")), a["kernel_shape"], strides, ceil_mode=bool(a.get("ceil_mode", 0)))


def batch_norm(a, x, weight, bias, mean, var):
    return F.batch_norm(x, mean, var, weight, bias, eps=a.get("epsilon", 1e-5))


def resize(a, x, roi=None, scales=None, sizes=None):
    factors = [float(s) for s in scales.tolist()[2:]] if sizes is None else None
    return F.interpolate(x, size=None if sizes is None else sizes.tolist()[2:], scale_factor=factors, mode=a.get("mode", "nearest"))


def slices(a, x, starts=None, ends=None, axes=None, steps=None):
    starts, ends = (a["starts"], a["ends"]) if starts is None else (starts.tolist(), ends.tolist())
    axes = axes.tolist() if axes is not None else a.get("axes") or range(x.dim())
    for axis, start, end, step in zip(axes, starts, ends, [1] * len(starts) if steps is None else steps.tolist()):
        if step == -1:  # the files go backwards through whole dimensions alone
            x = x.flip(axis)
            continue
        start, end, _ = slice(start, end).indices(x.shape[axis])
        x = x.narrow(axis, start, max(end - start, 0))[(slice(None),) * axis + (slice(None, None, step),)]
    return x


def gather(a, x, indices):
    axis = a.get("axis", 0)
    if indices.numel() == 1:
        x = x.narrow(axis, indices.item() % x.shape[axis], 1)
        return x.squeeze(axis) if indices.dim() == 0 else x
    return x.index_select(axis, indices.reshape(-1)).reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def reshape(a, x, shape):
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape.tolist())])


def softmax(a, x):
    axis = a.get("axis", 1)  # before opset 13: over all dimensions from the axis on
    return F.softmax(x.flatten(axis), axis).reshape(x.shape) if axis not in (-1, x.dim() - 1) else F.softmax(x, -1)


def lstm(a, x, w, r, b=None, lengths=None, h=None, c=None, peepholes=None):
    """One layer in one direction; the gates come in the order input, output, forget, cell."""
    size = a["hidden_size"]
    i, o, f, g = (slice(k * size, (k + 1) * size) for k in range(4))
    gates = (i, f, g, o)
    weights = [torch.cat([part[0][g] for g in gates]) for part in (w, r)]
    if b is not None:
        weights += [torch.cat([part[g] for g in gates]) for part in b[0].split(4 * size)]
    zeros = x.new_zeros(1, x.shape[1], size)
    hidden = [zeros if h is None else h, zeros if c is None else c]
    y, h, c = torch.lstm(x, hidden, weights, b is not None, 1, 0.0, False, False, False)
    return y.unsqueeze(1), h, c


def squeeze(a, x, axes=None):
    axes = a.get("axes") if axes is None else axes.tolist()
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


def unsqueeze(a, x, axes=None):
    return x.reshape(_with_ones(x.shape, a["axes"] if axes is None else axes.tolist()))


def split(a, x, sizes=None):
    sizes = a.get("split") if sizes is None else sizes.tolist()
    axis = a.get("axis", 0)
    return x.split(sizes or x.shape[axis] // a["outputs"], axis)


def pad(a, x, pads, value=None):
    n = x.dim()
    pads = pads.tolist()
    order = [side for i in reversed(range(n)) for side in (pads[i], pads[i + n])]
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}[a.get("mode", "constant")]
    if mode == "constant":
        return F.pad(x, order, mode, 0.0 if value is None else value.item())
    while order[-2:] == [0, 0]:
        order = order[:-2]
    most = len(order) // 2 + 1  # dimensions in front of the padded ones count as one
    return F.pad(x.flatten(0, n - most), order, mode).unflatten(0, x.shape[: n - most + 1])


def filled(a, shape):
    return a.get("value", torch.zeros(1)).expand(tuple(shape.tolist()))


OPERATORS = {
    "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y, "Div": lambda a, x, y: x / y,
    "Exp": lambda a, x: x.exp(), "Relu": lambda a, x: x.relu(), "Sigmoid": lambda a, x: x.sigmoid(), "Softmax": softmax,
    "Conv": conv, "MaxPool": max_pool, "BatchNormalization": batch_norm, "Resize": resize,
    "MatMul": lambda a, x, y: x @ y, "Concat": lambda a, *xs: torch.cat(xs, a["axis"]), "Slice": slices, "Reshape": reshape,
    "Transpose": lambda a, x: x.permute(a["perm"]), "Constant": lambda a: a["value"], "Shape": lambda a, x: torch.tensor(x.shape),
    "Gather": gather,
    "Unsqueeze": unsqueeze, "Squeeze": squeeze, "Flatten": lambda a, x: x.flatten(a.get("axis", 1)), "LSTM": lstm,
    "Identity": lambda a, x: x, "Cast": lambda a, x: x.to(DTYPES[a["to"]]), "Equal": lambda a, x, y: x == y, "Not": lambda a, x: ~x,
    "Size": lambda a, x: torch.tensor(x.numel()), "ConstantOfShape": filled, "Pad": pad, "Split": split,
    "Pow": lambda a, x, y: x**y, "Sqrt": lambda a, x: x.sqrt(), "Log": lambda a, x: x.log(), "Neg": lambda a, x: -x,
    "ReduceMean": lambda a, x, axes=None: x.mean(a["axes"] if axes is None else axes.tolist(), bool(a.get("keepdims", 1))),
    "GlobalAveragePool": lambda a, x: x.mean(tuple(range(2, x.dim())), True),
}  # fmt: skip


def _with_ones(shape, axes):
    shape = list(shape)
    for axis in sorted(axis % (len(shape) + len(axes)) for axis in axes):
        shape.insert(axis, 1)
    return shape


class Body:
    """A graph of a file. Branches see the values around them."""

    def __init__(self, body):
        self.constants = dict(tensor(message) for message in body.get(5, []))
        self.inputs = [name for message in body.get(11, []) if (name := fields(message)[1][0].decode()) not in self.constants]
        self.outputs = [fields(message)[1][0].decode() for message in body[12]]
        self.nodes = []
        for message in body[1]:
            got = fields(message)
            names = [[name.decode() for name in got.get(field, [])] for field in (1, 2)]
            attributes = dict(attribute(each) for each in got.get(5, []))
            self.nodes.append((got[4][0].decode(), *names, {**attributes, "outputs": len(names[1])}))

    def run(self, values):
        values = {**values, **self.constants, "": None}
        for kind, sources, targets, attributes in self.nodes:
            given = [values[name] for name in sources]
            if kind == "If":
                results = attributes["then_branch" if given[0].item() else "else_branch"].run(values).values()
            else:
                results = OPERATORS[kind](attributes, *given)
            values.update(zip(targets, (results,) if isinstance(results, torch.Tensor) else results))
        return {name: values[name] for name in self.outputs}


class Graph(Body):
    """A file's graph: `graph(input)` gives the outputs by name."""

    def __init__(self, path):
        super().__init__(fields(fields(Path(path).read_bytes())[7][0]))

    def __call__(self, *inputs):
        return self.run(dict(zip(self.inputs, inputs)))
