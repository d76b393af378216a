"""The steps of einsum that programs see in PyTorch: operands with all dimensions in one order, then a product for each further operand."""

import re

import _cresset

_LABEL = re.compile(r"\.\.\.|[a-zA-Z]")


def _labels(text, dims):
    """Of an operand: its letters, and numbers for the dimensions of an ellipsis, counted from the last. None where a letter stands twice."""
    found = _LABEL.findall(text)
    hidden = dims - len(found) + 1 if "..." in found else 0
    each = [[label] if label != "..." else list(range(hidden, 0, -1)) for label in found]
    labels = [label for part in each for label in part]
    return labels if len(set(labels)) == len(labels) == dims else None


def _plan(equation, operands):
    """Labels of the operands, of the result, and those that are summed; None for equations with a diagonal, or that are wrong."""
    inside, arrow, outside = equation.replace(" ", "").partition("->")
    texts = inside.split(",")
    if len(texts) != len(operands):
        return None
    inputs = [_labels(text, t.dim()) for text, t in zip(texts, operands)]
    if None in inputs:
        return None
    known = {label for labels in inputs for label in labels}
    hidden = sorted((label for label in known if isinstance(label, int)), reverse=True)
    letters = sorted(label for label in known if isinstance(label, str))
    if arrow:
        result = [label for part in _LABEL.findall(outside) for label in (hidden if part == "..." else [part])]
        if len(set(result)) != len(result) or not set(result) <= known or (hidden and "..." not in outside):
            return None
    else:
        result = hidden + [label for label in letters if sum(labels.count(label) for labels in inputs) == 1]
    return inputs, result, [label for label in letters if label not in result]


def _in_order(t, labels, order):
    missing = len(order) - len(labels)
    for _ in range(missing):
        t = t.unsqueeze(t.dim())
    extra = iter(range(len(labels), len(order)))
    return t.permute([labels.index(label) if label in labels else next(extra) for label in order])


def _product(left, right, summed):
    """Of two operands with dimensions in one order, some of which are summed and stay with size 1."""
    if not summed:
        return left * right
    both, lefts, rights = [], [], []
    for d in range(left.dim()):
        if d not in summed:
            (both if left.shape[d] != 1 and right.shape[d] != 1 else lefts if left.shape[d] != 1 else rights).append(d)

    def count(t, dims):
        n = 1
        for d in dims:
            n *= t.shape[d]
        return n

    sizes = [left.shape[d] for d in both + lefts] + [1] * len(summed) + [right.shape[d] for d in rights]
    a = left.permute(both + lefts + summed + rights).reshape([count(left, both), count(left, lefts), count(left, summed)])
    b = right.permute(both + summed + rights + lefts).reshape([count(right, both), count(right, summed), count(right, rights)])
    order = both + lefts + summed + rights
    return a.bmm(b).view(sizes).permute([order.index(d) for d in range(left.dim())])


def einsum(equation, operands, *, path=None):
    """The result; equations that need other steps are computed by the operator's own body."""
    plan = None if path is not None else _plan(equation, operands)
    if plan is None or any(_summed_alone(label, plan[0], operands) for label in plan[2]):
        return _cresset.body("einsum")(equation, operands, path=path)
    inputs, result, gone = plan
    order = result + gone
    ready = [_in_order(t, labels, order) for t, labels in zip(operands, inputs)]
    last = {label: max(i for i, labels in enumerate(inputs) if label in labels) for label in gone}
    out = ready[0]
    if len(ready) == 1:
        return out.sum(list(range(len(result), len(order)))) if gone else out
    for i, other in enumerate(ready[1:], 1):
        out = _product(out, other, [order.index(label) for label in gone if last[label] == i])
    return out.view(out.shape[: len(result)]) if gone else out


def _summed_alone(label, inputs, operands):
    sizes = [t.shape[labels.index(label)] for labels, t in zip(inputs, operands) if label in labels]
    return len(operands) > 1 and (len(sizes) == 1 or any(size == 1 for size in sizes))
