"""The command line in a process that tells at its end which clouds' SDKS it has loaded, and what it took."""

from sites import SDKS

MEASURED = f"""
import json, resource, sys, time
import cli
code = cli.main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
loaded = [name for name in {SDKS!r} if name in sys.modules]
took = {{"MiB": used.ru_maxrss // 1024, "seconds of processor": round(time.process_time(), 1)}}
print(json.dumps({{"loaded": loaded, **took}}), file=sys.stderr)
sys.exit(code)
"""
"""A program for `python -c` with the arguments of the command line; its last line on standard error is JSON."""
