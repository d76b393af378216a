"""Gradients of convolutions with respect to their inputs and weights, without a graph."""

from cresset import _operators


def _gradient(which, dims):
    def gradient(first, second, grad_output, stride=1, padding=0, dilation=1, groups=1):
        def each(value):
            return [value] * dims if isinstance(value, int) else list(value)

        size, other = (first, second) if which == "input" else (second, first)
        return _operators[f"convolution_grad_{which}"](grad_output, other, list(size), each(stride), each(padding), each(dilation), False, [0] * dims, groups)

    sizes = {"input": ("input_size", "weight"), "weight": ("input", "weight_size")}[which]
    shape, kernel = (1, 1, *[3] * dims), (1, 1, *[2] * dims)
    call = f"{shape}, torch.ones{kernel}" if which == "input" else f"torch.ones{shape}, {kernel}"
    gradient.__name__ = gradient.__qualname__ = f"conv{dims}d_{which}"
    gradient.__doc__ = f"""The gradient of `conv{dims}d` with respect to its {which}, of `{sizes[0]}` and `{sizes[1]}` and the gradient of its result.

    >>> nn.grad.conv{dims}d_{which}({call}, torch.ones{(1, 1, *[2] * dims)}).shape
    torch.Size({list(shape if which == "input" else kernel)})
    """
    return gradient


conv1d_input, conv2d_input, conv3d_input = (_gradient("input", dims) for dims in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_gradient("weight", dims) for dims in (1, 2, 3))
