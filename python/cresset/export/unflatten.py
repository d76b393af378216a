"""placeholder"""
class FlatArgsAdapter: pass
class UnflattenedModule: pass
def unflatten(module, flat_args_adapter=None): raise NotImplementedError
