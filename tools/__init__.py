"""The programs a machine may lack: which ones, where each is found, and how it is built.

Only the standard library is used, because this package runs before any virtual environment exists
(`python3 -m tools doctor|sync|build|list|path`). Other layers need no more of it than what is named here.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  an older interpreter should meet a sentence, not a traceback
    _MESSAGE = "Python %d.%d is too old: 3.11 or newer is needed\nhint: make PYTHON=/path/to/python3.11 ..."
    raise SystemExit(_MESSAGE % sys.version_info[:2])

from tools.locate import Found, Origin, ToolMissing, locate, look_up

__all__ = ["Found", "Origin", "ToolMissing", "locate", "look_up"]
