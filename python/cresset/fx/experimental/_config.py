"""Settings of symbolic shapes, which libraries know by name."""

import os as _os

translation_validation = _os.environ.get("TORCHDYNAMO_TRANSLATION_VALIDATION", "0") == "1"  # guards are checked by a solver, which is not there: an error
translation_validation_timeout = int(_os.environ.get("TORCHDYNAMO_TRANSLATION_VALIDATION_TIMEOUT", "600000"))  # milliseconds
