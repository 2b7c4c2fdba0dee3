"""Runs one Pulumi program in the interpreter of its project: `python - ENGINE`, the engine's request on descriptor 3.

Ends with 0 when the program did, with 32 when it failed and its reader has been told why: a RunError in one line, any
other exception with its traceback from the program on.
"""

import asyncio
import logging
import os
import runpy
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

try:
    import grpc  # type: ignore[import-untyped]  # it comes without stubs
    import pulumi
    from pulumi import runtime
    from pulumi.runtime.proto import language_pb2
except ImportError as missing:
    sys.exit(f"{sys.executable} has no Pulumi SDK: {missing}\nhint: install the project's packages into it")

REQUEST = 3
TOLD = 32
STOPPED = 130


def main() -> int:
    """Run the program of the request; the exit code."""
    signal.signal(signal.SIGINT, stop)
    with os.fdopen(REQUEST, "rb") as source:
        request = language_pb2.RunRequest.FromString(source.read())
    program = os.path.normpath(os.path.join(request.info.program_directory, request.info.entry_point))  # noqa: PTH118
    configure(request, sys.argv[1])
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    workers = ThreadPoolExecutor(max(request.parallel, 1) * 4)
    loop.set_default_executor(workers)
    # Futures that nobody awaits are how an aborted program ends, and asyncio would tell of each.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    try:
        loop.run_until_complete(runtime.run_in_stack(lambda: execute(program)))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.UNAVAILABLE:  # the engine is stopping, and says so itself
            pulumi.log.error(told_from(program, error))
    except Exception as error:  # noqa: BLE001 - whatever a program raises
        pulumi.log.error(told_from(program, error))
    else:
        return 0
    finally:
        workers.shutdown(cancel_futures=True)
        loop.close()
    return TOLD


def configure(request: "language_pb2.RunRequest", engine: str) -> None:
    """Connect the SDK to the engine and its monitor."""
    settings = runtime.Settings(
        project=request.project,
        stack=request.stack,
        monitor=request.monitor_address,
        engine=engine,
        parallel=request.parallel,
        dry_run=request.dryRun,
        organization=request.organization or "organization",
        root_directory=request.info.root_directory,
    )
    runtime.configure(settings)
    runtime.set_all_config(dict(request.config), list(request.configSecretKeys))


def execute(program: str) -> None:
    """Run a file, or the `__main__.py` of a folder, as Python itself would."""
    sys.argv = [program]
    sys.path[:] = [entry for entry in sys.path if entry]  # the folder this was started in
    if os.path.isfile(program):  # noqa: PTH113 - the project's interpreter may be of any age
        sys.path.insert(0, os.path.dirname(program))  # noqa: PTH120
    runpy.run_path(program, run_name="__main__")


def told_from(program: str, error: BaseException) -> str:
    """The traceback of an exception, without what ran before the program's own first line."""
    first = trace = error.__traceback__
    while trace is not None and not within(trace.tb_frame.f_code.co_filename, program):
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace or first)
    return "the program failed with an exception that is not handled:\n" + "".join(lines)


def within(file: str, program: str) -> bool:
    """Whether a source file is the program's own, or one of its folder."""
    return file == program or file.startswith(program + os.sep)


def stop(number: int, frame: "FrameType | None") -> None:  # noqa: ARG001 - a signal handler's shape
    """Leave at once: the engine has gone on, and threads may wait for it for ever."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(STOPPED)


if __name__ == "__main__":
    sys.exit(main())
