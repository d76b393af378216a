"""Settings of the tracer."""

disable_progress = True  # no progress bars of passes
verbose_progress = False  # errors of an Interpreter show the whole graph
do_not_emit_stack_traces = False  # print_readable leaves out the lines of the program
