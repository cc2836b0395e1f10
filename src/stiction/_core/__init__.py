"""The native core, in the form that suits this processor best.

On x86-64 it is built twice: `baseline` runs anywhere, and `v3` needs AVX2 and fused multiply-add, which processors have
had since about 2013. Elsewhere there is `baseline` alone. The environment variable STICTION_CORE names one of them, to
compare. Their results may differ in the last bits.
"""

import os

from stiction._core import baseline

LEVEL = os.environ.get("STICTION_CORE") or ("v3" if baseline.has_avx2() else "baseline")
if LEVEL == "v3":
    if not baseline.has_avx2():
        raise ImportError("STICTION_CORE=v3 needs a processor with AVX2; baseline runs on this one.")
    from stiction._core import v3 as _module
elif LEVEL == "baseline":
    _module = baseline
else:
    raise ImportError(f"STICTION_CORE must be baseline or v3, got {LEVEL!r}.")

globals().update({name: getattr(_module, name) for name in dir(_module) if not name.startswith("_")})
