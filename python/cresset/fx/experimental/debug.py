"""A debugger that stops in the code of a graph."""

__all__ = ["set_trace"]


def set_trace(gm):
    """Let the code of a GraphModule stop in the debugger at its beginning; returns the module.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> print(torch.fx.experimental.debug.set_trace(traced).code.strip().splitlines()[1].strip())
    import pdb; pdb.set_trace()
    """

    def with_a_stop(before):
        def lines(body):
            return ["import pdb; pdb.set_trace()\n", *(before(body) if before else body)]

        return lines

    gm.graph.on_generate_code(with_a_stop)
    gm.recompile()
    return gm
