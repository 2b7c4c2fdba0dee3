"""A provider that stands in for a cloud: the real engine talks to it, it checks arguments and keeps resources in files.

Started as `provider.py PACKAGE`. `DOUBLE_STORE` names its folder: `<package>.json` holds what is there, in the order in
which it was made, `faults.json` what goes wrong, `journal.jsonl` what was done. A fault with `until` is a slow cloud:
the operation waits for the file of that name, and goes on; one with `partial` makes the thing and then fails, as when
waiting for it took too long. A reference to what is not there is refused, and so is deleting what something else refers
to. With each thing it is noted which account it was made by: a digest of what the provider's process was given.
"""

import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import grpc
from google.protobuf import json_format, struct_pb2
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from doubles.outputs import REPLACED_BY, VERSIONS, account_of, functions_of, outputs_of
from doubles.schema import UNKNOWN, faults

Plain = dict[str, Any]
MARK = "-id-"
HELD_SECONDS = 1800.0
"""How long an operation may be held at most."""
POLL_SECONDS = 0.1


class Store:
    """What one cloud holds, by id."""

    def __init__(self, folder: Path, package: str) -> None:
        self._file, self._faults = folder / f"{package}.json", folder / "faults.json"
        self._journal = folder / "journal.jsonl"

    @contextmanager
    def open(self) -> Iterator[dict[str, Plain]]:
        with locked(self._file):
            held: dict[str, Plain] = json.loads(self._file.read_text()) if self._file.exists() else {}
            yield held
            made = self._file.with_suffix(".new")
            made.write_text(json.dumps(held, indent=1))
            made.replace(self._file)

    def note(self, operation: str, kind: str, name: str) -> None:
        with self._journal.open("a") as journal:
            journal.write(json.dumps([operation, kind, name]) + "\n")

    def fault(self, operation: str, kind: str, name: str) -> Plain | None:
        """The first fault that fits and still has turns left, which it loses one of."""
        if not self._faults.exists():
            return None
        with locked(self._faults):  # the doubles of all clouds read it
            listed: list[Plain] = json.loads(self._faults.read_text())
            for each in listed:
                fits = each["op"] == operation and each.get("type", kind) == kind and each.get("name", name) in name
                if fits and each.get("times", 1) > 0:
                    each["times"] = each.get("times", 1) - 1
                    self._faults.write_text(json.dumps(listed))
                    return each
        return None


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Alone with a file, among all doubles."""
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Double(provider_pb2_grpc.ResourceProviderServicer):
    """The engine's calls; the ones that are missing are not made for what is tested."""

    def __init__(self, package: str, store: Store) -> None:
        self._package, self._store = package, store

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.ProviderHandshakeResponse()

    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        return Empty()

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        return Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return plugin_pb2.PluginInfo(version=VERSIONS.get(self._package, "99.0.0"))

    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.GetSchemaResponse(schema=json.dumps({"name": self._package, "version": "99.0.0"}))

    def Parameterize(self, request: Any, context: Any) -> Any:  # noqa: N802
        value = request.value
        return provider_pb2.ParameterizeResponse(name=value.name, version=value.version)

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        same = plain(request.old_inputs or request.olds) == plain(request.news)
        changes = provider_pb2.DiffResponse.DIFF_NONE if same else provider_pb2.DiffResponse.DIFF_SOME
        return provider_pb2.DiffResponse(changes=changes)

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        kind, news = kind_of(request.urn), plain(request.news)
        found = faults(kind, news)
        failures = [provider_pb2.CheckFailure(property="", reason=reason) for reason in found]
        return provider_pb2.CheckResponse(inputs=struct(news), failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        kind = kind_of(request.urn)
        olds, news = plain(request.old_inputs), plain(request.news)
        changed = sorted(key for key in olds.keys() | news.keys() if olds.get(key) != news.get(key))
        replaces = [key for key in changed if key in REPLACED_BY.get(kind, ())]
        changes = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes, diffs=changed, replaces=replaces)

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        kind, name, inputs = kind_of(request.urn), name_of(request.urn), plain(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=struct(computed(kind, name, inputs, known=False)))
        fault = self._fail("create", kind, name, context)
        digest = hashlib.sha256(f"{request.urn}{os.urandom(8).hex()}".encode()).hexdigest()[:8]
        made = f"{name.rpartition('/')[2]}{MARK}{digest}"
        with self._store.open() as held:
            for reference in references(inputs) if self._package != "kubernetes" else ():
                if reference not in held:
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{kind} {name}: there is no {reference}")
            held[made] = {"type": kind, "name": name, "inputs": inputs, "account": account_of(self._package)}
        self._store.note("create", kind, name)
        properties = struct(computed(kind, name, inputs, known=True, made=made))
        if fault is not None:
            begun = provider_pb2.ErrorResourceInitFailed(
                id=made, properties=properties, inputs=request.properties, reasons=[fault["message"]]
            )
            abort_with(context, fault, begun)
        return provider_pb2.CreateResponse(id=made, properties=properties)

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        kind, name, inputs = kind_of(request.urn), name_of(request.urn), plain(request.news)
        if not request.preview:
            self._fail("update", kind, name, context)
            with self._store.open() as held:
                held[request.id]["inputs"] = inputs
            self._store.note("update", kind, name)
        properties = computed(kind, name, inputs, known=True, made=request.id)
        return provider_pb2.UpdateResponse(properties=struct(properties))

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        kind, name = kind_of(request.urn), name_of(request.urn)
        with self._store.open() as held:
            found = held.get(request.id)
        if found is None:
            return provider_pb2.ReadResponse()
        properties = computed(kind, name, found["inputs"], known=True, made=request.id)
        inputs = as_asked(plain(request.inputs), found["inputs"]) if request.HasField("inputs") else found["inputs"]
        return provider_pb2.ReadResponse(id=request.id, properties=struct(properties), inputs=struct(inputs))

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        kind, name = kind_of(request.urn), name_of(request.urn)
        self._fail("delete", kind, name, context)
        with self._store.open() as held:
            for other, entry in held.items():
                if other != request.id and request.id in set(references(entry["inputs"])):
                    text = f"DependencyViolation: {kind} {name} is in use by {entry['type']} {entry['name']}"
                    context.abort(grpc.StatusCode.FAILED_PRECONDITION, text)
            held.pop(request.id, None)
        self._store.note("delete", kind, name)
        return Empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.InvokeResponse(**{"return": struct(functions_of(self._package)[request.tok])})

    def _fail(self, operation: str, kind: str, name: str, context: Any) -> Plain | None:
        """Fail as told, at once; the fault that is to come when the thing is made, where there is one."""
        fault = self._store.fault(operation, kind, name)
        if fault is None or fault.get("partial"):
            return fault
        if "until" in fault:
            self._store.note("hold", kind, name)
            if waited_for(Path(fault["until"])):
                return None
            fault = {"message": f"nobody released {name}"}
        context.abort(code_of(fault), fault["message"])
        return None


def code_of(fault: Plain) -> grpc.StatusCode:
    """The code of what went wrong; one that a cloud would give no name is UNKNOWN."""
    return cast("grpc.StatusCode", getattr(grpc.StatusCode, fault.get("code", "UNKNOWN")))


def abort_with(context: Any, fault: Plain, begun: Any) -> None:
    """Fail with what is there all the same, as the engine takes it."""
    code = code_of(fault)
    status = status_pb2.Status(code=code.value[0], message=fault["message"])
    status.details.add().Pack(begun)
    context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
    context.abort(code, fault["message"])


def waited_for(file: Path) -> bool:
    """Whether the file was there before patience ended."""
    deadline = time.monotonic() + HELD_SECONDS
    while not file.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def computed(kind: str, name: str, inputs: Plain, *, known: bool, made: str = "") -> Plain:
    """The inputs with what a cloud adds; before it is made, what is added is unknown."""
    added = {"arn": f"arn:{made}", "name": made} | outputs_of(sys.argv[1]).get(kind, {})
    return laid_over(inputs, added if known else unknown(added))


def laid_over(inputs: Any, added: Any) -> Any:
    """The inputs, and at every depth what is added where they say nothing."""
    if not (isinstance(inputs, Mapping) and isinstance(added, Mapping)):
        return added if inputs is None else inputs
    return {**added, **{key: laid_over(value, added.get(key)) for key, value in inputs.items()}}


def as_asked(asked: Any, found: Any) -> Any:
    """What is found of what was asked for: what a cloud adds by itself is no input, as providers tell them apart."""
    if not (isinstance(asked, Mapping) and isinstance(found, Mapping)):
        return found
    return {key: as_asked(asked[key], value) for key, value in found.items() if key in asked}


def unknown(value: Any) -> Any:
    return {key: unknown(item) for key, item in value.items()} if isinstance(value, Mapping) else UNKNOWN


def references(value: Any) -> Iterator[str]:
    """Ids of other resources anywhere in the inputs."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, str) and MARK in value and " " not in value and "{" not in value:
        yield value.removeprefix("arn:")


def kind_of(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def name_of(urn: str) -> str:
    return urn.split("::", 3)[3]


def plain(found: Any) -> Plain:
    return whole(json_format.MessageToDict(found))


def whole(value: Any) -> Any:
    """Numbers as they were written: the wire has floats only."""
    if isinstance(value, Mapping):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def struct(found: Plain) -> struct_pb2.Struct:
    made = struct_pb2.Struct()
    json_format.ParseDict(found, made)
    return made


def main() -> None:
    package = sys.argv[1]
    server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", -1)])
    store = Store(Path(os.environ["DOUBLE_STORE"]), package)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Double(package, store), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
