"""Keeps from the reader what the Automation API says of itself when an engine ends early: the run tells that in words.

Its stream of events ends in the middle then, and coroutines of programs are left behind and found at exit.
"""

import sys
import warnings
from functools import cache
from pathlib import Path

import pulumi.runtime

_RUNTIME = Path(pulumi.runtime.__file__).parent


@cache
def hush() -> None:
    """Keep quiet from now on."""
    warnings.filterwarnings("ignore", message="Error in event stream", category=UserWarning)
    tell = sys.unraisablehook

    def hook(told: "sys.UnraisableHookArgs") -> None:
        code = getattr(told.object, "cr_code", None)
        if code is None or Path(code.co_filename).parent != _RUNTIME:
            tell(told)

    sys.unraisablehook = hook
