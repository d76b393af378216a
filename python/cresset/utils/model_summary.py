"""Layers of a model: shapes, parameters, memory and multiplications of its modules, as a table.

>>> print(torch.utils.summary(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (2, 4)))
Module               Input   Output  Parameters  MACs
-----------------------------------------------------
Sequential           (2, 4)  (2, 3)          15    24
  0: Linear          (2, 4)  (2, 3)          15    24
  1: ReLU            (2, 3)  (2, 3)           -     -
-----------------------------------------------------
Parameters: 15, trained: 15
Multiply-accumulates: 24
Memory: input 32 B, outputs 48 B, parameters 60 B, buffers 0 B
"""

import cresset as torch
from cresset import nn

__all__ = ["LayerSummary", "ModelSummary", "summary"]


def _tensors(value):
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for part in value for tensor in _tensors(part)]


def _bytes(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def _shape(value):
    """The shape of one tensor, the shapes of several."""
    shapes = [tuple(t.shape) for t in _tensors(value)]
    return shapes[0] if len(shapes) == 1 else shapes or None


# ---- multiply-accumulates -------------------------------------------------------------------------------------------------


def _recurrent(module, arguments, result):
    x = arguments[0]
    steps = x.data.shape[0] if isinstance(x, nn.utils.rnn.PackedSequence) else x.numel() // x.shape[-1]
    return steps * sum(p.numel() for name, p in module.named_parameters(recurse=False) if name.startswith("weight"))


def _cell(module, arguments, result):
    return arguments[0].numel() // arguments[0].shape[-1] * (module.weight_ih.numel() + module.weight_hh.numel())


def _attention(module, arguments, result):
    """Three projections in, the products with keys and with values, one projection out."""
    query, key, value = arguments[:3]
    at = 1 if query.dim() == 3 and module.batch_first else 0
    batch = query.shape[1 - at] if query.dim() == 3 else 1
    width, targets, sources = module.embed_dim, query.shape[at], key.shape[at]
    projections = sum(x.numel() * width for x in (query, key, value)) + batch * targets * width * width
    return projections + 2 * batch * targets * sources * width


# Kinds of modules, and the multiply-accumulates of a call. All others of cresset.nn work element by element, or call these.
_MACS = (
    ((nn.Linear,), lambda m, x, y: y.numel() * m.in_features),
    ((nn.Conv1d, nn.Conv2d, nn.Conv3d), lambda m, x, y: y.numel() * m.weight[0].numel()),
    ((nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d), lambda m, x, y: x[0].numel() * m.weight[0].numel()),
    ((nn.Bilinear,), lambda m, x, y: y.numel() * m.in1_features * (m.in2_features + 1)),
    ((nn.RNN, nn.LSTM, nn.GRU), _recurrent),
    ((nn.RNNCell, nn.LSTMCell, nn.GRUCell), _cell),
    ((nn.MultiheadAttention,), _attention),
)


def _macs(module, arguments, result):
    return next((count(module, arguments, result) for kinds, count in _MACS if isinstance(module, kinds)), 0)


_HOLDERS = (nn.Module, nn.Sequential, nn.ModuleList, nn.ModuleDict)


def _is_unknown(module):
    """Whether it has parameters of its own and may multiply with them in ways that are not known here."""
    layers = (kind for kind in type(module).__mro__ if issubclass(kind, nn.Module) and kind not in _HOLDERS)
    known = any(kind.__module__.startswith("cresset.nn.") for kind in layers)
    return not known and any(True for _ in module.parameters(recurse=False))


# ---- the table ------------------------------------------------------------------------------------------------------------


class LayerSummary:
    """One call of a module: its name, kind and depth, the shapes of what went in and out, parameters, multiply-accumulates and bytes that came out.

    >>> layer = torch.utils.summary(torch.nn.Sequential(torch.nn.Linear(4, 3)), (2, 4)).layers[1]
    >>> layer.name, layer.kind, layer.depth, layer.input_size, layer.output_size, layer.params, layer.macs, layer.output_bytes
    ('0', 'Linear', 1, (2, 4), (2, 3), 15, 24, 24)
    """

    def __init__(self, module, name, depth, input_size=None):
        self.module, self.name, self.kind, self.depth = module, name, type(module).__name__, depth
        self.input_size, self.output_size = input_size, None
        self.params = self.macs = self.output_bytes = 0
        self.is_repeated = False

    @property
    def label(self):
        """How the table names it."""
        return "  " * self.depth + (f"{self.name.rpartition('.')[2]}: {self.kind}" if self.name else self.kind)

    def __repr__(self):
        return f"LayerSummary({self.label.strip()!r}, {self.input_size} -> {self.output_size}, params={self.params}, macs={self.macs})"


class ModelSummary:
    """Result of `summary`: `layers`, one a call in the order of calls, and totals. As text it is the table.

    Attributes: total_params, trainable_params, total_macs, input_bytes, output_bytes (of modules without modules inside), param_bytes,
    buffer_bytes; uncounted: kinds of modules with parameters of their own whose multiplications are not known.

    >>> found = torch.utils.summary(torch.nn.Conv2d(3, 8, 3), (1, 3, 5, 5))
    >>> found.total_params, found.total_macs, found.output_bytes, found.uncounted
    (224, 1944, 288, [])
    """

    def __init__(self, model, layers, depth, input_bytes, is_run):
        self.layers, self.depth, self.input_bytes, self._is_run = layers, depth, input_bytes, is_run
        parameters = list(model.parameters())
        self.total_params = sum(p.numel() for p in parameters)
        self.trainable_params = sum(p.numel() for p in parameters if p.requires_grad)
        self.total_macs = sum(layer.macs for layer in layers if layer.depth == 0)
        self.output_bytes = sum(layer.output_bytes for layer in layers if not any(True for _ in layer.module.children()))
        self.param_bytes, self.buffer_bytes = _bytes(parameters), _bytes(model.buffers())
        self.uncounted = sorted({layer.kind for layer in layers if _is_unknown(layer.module)})

    def __str__(self):
        head = ["Module", "Input", "Output", "Parameters", "MACs"] if self._is_run else ["Module", "Parameters"]
        rows = [self._row(layer) for layer in self.layers if layer.depth <= self.depth]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        widths[0] = max(widths[0], 19)
        left = len(head) - 2 if self._is_run else 1

        def line(row):
            return "  ".join(text.ljust(width) if i < left else text.rjust(width) for i, (text, width) in enumerate(zip(row, widths)))

        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([line(head), rule, *map(line, rows), rule, *self._totals()])

    __repr__ = __str__

    def _row(self, layer):
        params = "(again)" if layer.is_repeated else f"{layer.params:,}" if layer.params else "-"
        if not self._is_run:
            return [layer.label, params]
        return [layer.label, str(layer.input_size or "-"), str(layer.output_size or "-"), params, f"{layer.macs:,}" if layer.macs else "-"]

    def _totals(self):
        lines = [f"Parameters: {self.total_params:,}, trained: {self.trainable_params:,}"]
        if self._is_run:
            lines.append(f"Multiply-accumulates: {self.total_macs:,}" + (f", without those of {', '.join(self.uncounted)}" if self.uncounted else ""))
        of_calls = f"input {_readable(self.input_bytes)}, outputs {_readable(self.output_bytes)}, " if self._is_run else ""
        return [*lines, f"Memory: {of_calls}parameters {_readable(self.param_bytes)}, buffers {_readable(self.buffer_bytes)}"]


def _readable(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count} B" if unit == "B" else f"{count:.2f} {unit}"
        count /= 1024


# ---- finding it -----------------------------------------------------------------------------------------------------------


def _made(size, dtype, device):
    """Zeros, which are valid indices too."""
    return torch.zeros(tuple(size), dtype=dtype, device=device)


def _inputs(model, input_size, dtypes):
    several = len(input_size) > 0 and not isinstance(input_size[0], int)
    sizes = list(input_size) if several else [input_size]
    dtypes = dtypes or [torch.get_default_dtype()] * len(sizes)
    if len(dtypes) != len(sizes):
        raise ValueError(f"summary: one dtype for each input, got {len(dtypes)} dtypes for {len(sizes)} inputs")
    first = next(model.parameters(), None)
    return [_made(size, dtype, "cpu" if first is None else first.device) for size, dtype in zip(sizes, dtypes)]


def summary(model, input_size=None, input_data=None, *, depth=3, dtypes=None, mode="eval"):
    """A table of a model's modules: the shapes of what goes in and out, parameters, multiply-accumulates and memory.

    Args:
        model: a module, on any device; on "meta", or under a FakeTensorMode, nothing is computed.
        input_size: the shape of the input, or shapes of several; zeros of these shapes are made where the parameters are.
        input_data: the input instead: a tensor, a tuple or list of arguments, or a dict of keywords.
        depth: how deep the text of the table goes; `layers` has all.
        dtypes: of the inputs that are made, one for each.
        mode: "eval", "train", or None to leave the model as it is; it is as before in the end.

    Without an input the model is not called and there are parameters only. A module that is called several times has a row for each
    call; its parameters count once. One multiply-accumulate is a product and a sum; biases, normalisations and activations have none.

    >>> with torch.device("meta"):
    ...     model = torch.vision.models.resnet18()
    >>> found = torch.utils.summary(model, (1, 3, 224, 224))
    >>> found.total_params, found.total_macs, found.layers[-1].output_size
    (11689512, 1814073344, (1, 1000))
    """
    if input_size is not None and input_data is not None:
        raise ValueError("summary: either input_size or input_data is given, got both")
    if mode not in ("eval", "train", None):
        raise ValueError(f"summary: mode is 'eval', 'train' or None, got {mode!r}")
    names = {}
    for name, module in model.named_modules():
        names.setdefault(module, name)
    if input_size is None and input_data is None:
        layers = [LayerSummary(module, name, name.count(".") + 1 if name else 0) for name, module in model.named_modules()]
        return _counted(model, layers, depth, 0, False)
    arguments, keywords = [], {}
    if input_data is None:
        arguments = _inputs(model, input_size, dtypes)
    elif isinstance(input_data, dict):
        keywords = input_data
    else:
        arguments = list(input_data) if isinstance(input_data, (tuple, list)) else [input_data]
    layers = _called(model, names, arguments, keywords, mode)
    return _counted(model, layers, depth, _bytes(_tensors([arguments, keywords])), True)


def _called(model, names, arguments, keywords, mode):
    """A row for each call of a module while the model runs."""
    layers, open_calls = [], []

    def before(module, given, named):
        layers.append(LayerSummary(module, names[module], len(open_calls), _shape([given, named])))
        open_calls.append(layers[-1])

    def after(module, given, named, result):
        layer = open_calls.pop()
        layer.output_size, layer.output_bytes = _shape(result), _bytes(_tensors(result))
        layer.macs += _macs(module, _in_order(module, given, named), result)
        if open_calls:
            open_calls[-1].macs += layer.macs

    were = {module: module.training for module in names}
    handles = []
    try:
        for module in names:
            handles.append(module.register_forward_pre_hook(before, with_kwargs=True, prepend=True))
            handles.append(module.register_forward_hook(after, with_kwargs=True))
        if mode is not None:
            model.train(mode == "train")
        with torch.no_grad():
            model(*arguments, **keywords)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in were.items():
            module.training = training
    return layers


def _in_order(module, given, named):
    """The arguments of a call as forward names them, keywords in their places."""
    if not named:
        return given
    code = type(module).forward.__code__
    order = code.co_varnames[1 + len(given) : code.co_argcount]
    return [*given, *(named[name] for name in order if name in named)]


def _counted(model, layers, depth, input_bytes, is_run):
    """Parameters are counted when the model has run: those of lazy modules have their shapes then."""
    seen = set()
    for layer in layers:
        layer.is_repeated = layer.module in seen
        layer.params = 0 if layer.is_repeated else sum(p.numel() for p in layer.module.parameters())
        seen.add(layer.module)
    return ModelSummary(model, layers, depth, input_bytes, is_run)
