"""The processor that the kernels were chosen for."""

import _cresset


def get_cpu_capability():
    """The instruction set of the kernels in use: "DEFAULT", "AVX2" or "AVX512".

    >>> torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    return {"avx2": "AVX2", "avx512": "AVX512"}.get(_cresset.build_info()["isa"], "DEFAULT")
