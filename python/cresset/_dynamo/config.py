"""Settings of a compiler: programs set them, and without one they mean nothing."""

accumulated_cache_size_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = capture_scalar_outputs = False
compiled_autograd = False
disable = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
suppress_errors = False
verbose = False
