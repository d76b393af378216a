"""Version of the library, and of the accelerator toolkits that it was built with (None: without)."""

import _cresset

__version__ = _cresset.__version__
debug = False
cuda = hip = rocm = xpu = None
git_version = "Unknown"
