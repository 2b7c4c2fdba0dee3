"""Pod annotations that make a simulated engine slow, failing, late or dead.

They are written into the pod template of a document, or on a running pod with `kubectl annotate`.
"""

PREFIX = "local.modelplane.ai/"

HOLD = PREFIX + "hold"
"""`true`: running and not ready. `crash`: in CrashLoopBackOff. Removing the annotation makes the pod ready again."""

STARTED = PREFIX + "started"
"""Written by the node onto a pod that it runs for real, while its programs say that they are ready."""

START_AFTER = PREFIX + "start-after"
"""How long the pod stays Pending before it runs, as in `6s`."""

LATENCY = PREFIX + "latency"
"""How long the engine thinks before it answers, as in `250ms`."""

TOKEN_INTERVAL = PREFIX + "token-interval"
"""The pause between two pieces of a streamed answer, as in `20ms`."""

FAIL = PREFIX + "fail"
"""An HTTP status that every request but `/metrics` is answered with, or `close`: the connection ends unanswered."""
