"""What a fleet's stacks hold, asked without touching anything: for `status`, `stacks` and the end of a local fleet."""

# ruff: noqa: PLC0415  where there is no state, no engine is needed and none is loaded

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from api.documents import FleetDocuments
from api.errors import MissingTool, ModelplaneError, UnreadableStack
from api.loader import load
from api.names import StackName
from stacks.environment import BACKEND, FILE, PROJECT, Environment, default_backend, environment_of

if TYPE_CHECKING:
    from pulumi.automation import PulumiCommand

    from programs.outputs import Outputs
    from stacks.status import FleetOutputs

PARALLEL = 4

Model = TypeVar("Model")


def is_embedded(environment: Environment) -> bool:
    """Whether the state lies beside the fleet, because no other backend is named."""
    return environment.variables[BACKEND] == default_backend(environment.directory)


def state_folder(environment: Environment) -> Path:
    """Where the state lies when no other backend is named."""
    return environment.folder / "state"


def has_state(environment: Environment) -> bool:
    """Whether there may be stacks: in a folder that is there it is looked up, any other backend may always have some.

    Nothing is written, which the engine would do to an empty backend that it is only asked about.
    """
    backend = environment.variables[BACKEND]
    if is_embedded(environment):
        return _holds_stacks(state_folder(environment))
    if not backend.startswith(FILE):
        return True
    folder = Path(unquote(backend.removeprefix(FILE).partition("?")[0])).expanduser()
    return not folder.is_dir() or _holds_stacks(folder)


def _holds_stacks(folder: Path) -> bool:
    return (folder / ".pulumi" / "stacks").is_dir()


def held(environment: Environment, fleet: str | None) -> dict[StackName, int]:
    """Resources of each stack of the fleet, of every fleet where none is named; what Pulumi adds does not count.

    Raises:
        UnreadableStack: the backend cannot be read.

    """
    pulumi = Pulumi(environment)
    counts = {stack: count for stack, count in pulumi.stacks().items() if fleet is None or stack.fleet == fleet}
    stacks = sorted(counts, key=str)
    with ThreadPoolExecutor(PARALLEL) as pool:
        found = pool.map(lambda stack: 0 if counts[stack] == 0 else pulumi.resources(str(stack)), stacks)
        return dict(zip(stacks, found, strict=True))


def held_resources(directory: Path) -> dict[str, int]:
    """Resources that the stacks of a directory's fleet hold, by stack; empty where there are none.

    Beside the fleet lies the state of this directory alone, so there every stack counts, under whatever fleet name;
    in a backend that was named, those of the fleet do. Nothing is written where there is no state.

    Raises:
        UnreadableStack: the backend cannot be read.
        MissingTool: there is state, and no Pulumi CLI to read it.
        InvalidFleet: a backend was named, and the documents do not tell the fleet's name.

    """
    environment = environment_of(directory)
    if not has_state(environment):
        return {}
    fleet = None if is_embedded(environment) else _fleet_name(directory)
    found = held(environment, fleet)
    return {str(stack): count for stack, count in found.items() if count}


def discard(directory: Path) -> None:
    """Forget the stacks of a directory's fleet, and leave what they hold as it is.

    Raises:
        ModelplaneError: a stack of a backend that was named could not be removed from it.

    """
    environment = environment_of(directory)
    if is_embedded(environment):
        for folder in (state_folder(environment), environment.work_dir):
            shutil.rmtree(folder, ignore_errors=True)
        return
    fleet = _fleet_name(directory)
    pulumi = Pulumi(environment)
    for stack in sorted((stack for stack in pulumi.stacks() if stack.fleet == fleet), key=str):
        if said := pulumi.error("stack", "rm", "--force", "--yes", "--stack", str(stack)):
            hint = f"pulumi stack rm --force --stack {stack}"
            raise ModelplaneError(said, where=f"stack {stack}", hint=hint, code="MP344")


def shown(
    environment: Environment, documents: "FleetDocuments", fleet: str
) -> "tuple[list[dict[str, Any]], list[ModelplaneError]]":
    """Every object of a fleet as its stacks last exported it, and why some stacks cannot be read."""
    if not has_state(environment):
        return [], []
    from stacks.status import objects

    outputs, problems = observe(environment, fleet)
    return objects(documents, outputs), problems


def inventory(
    environment: Environment, documents: "FleetDocuments", fleet: str
) -> "tuple[list[dict[str, Any]], list[ModelplaneError]]":
    """Every object of a fleet, those too that no stack knows yet, and why some stacks cannot be read."""
    from stacks.inventory import inventory as objects
    from stacks.status import FleetOutputs

    if not has_state(environment):
        return objects(documents, FleetOutputs()), []
    outputs, problems = observe(environment, fleet)
    return objects(documents, outputs), problems


def observe(environment: Environment, fleet: str) -> "tuple[FleetOutputs, list[ModelplaneError]]":
    """Last outputs of all stacks of a fleet, secrets left out, and why some of them cannot be read.

    Where the backend is a folder no CLI is started, and neither Pulumi nor an SDK is loaded.

    Raises:
        UnreadableStack: the backend cannot be read.

    """
    from programs.outputs import (
        ClusterOutputs,
        GatewayOutputs,
        Outputs,
        PlacementOutputs,
        RoutingOutputs,
        ServingOutputs,
        WorkloadsOutputs,
    )
    from programs.reading import read
    from stacks.exported import MODELS
    from stacks.status import FleetOutputs

    pulumi = Pulumi(environment)

    def look(stack: StackName) -> Outputs | ModelplaneError | None:
        try:
            model = MODELS[stack.kind]
            return read(lambda name: without_placeholders(pulumi.outputs(name), model), str(stack), model)
        except ModelplaneError as error:
            return error

    stacks = sorted((stack for stack in pulumi.stacks() if stack.fleet == fleet), key=str)
    with ThreadPoolExecutor(PARALLEL) as pool:
        found = list(zip(stacks, pool.map(look, stacks), strict=True))

    def by_cluster(model: type[Model]) -> dict[str, Model]:
        return {stack.cluster: seen for stack, seen in found if stack.cluster and isinstance(seen, model)}

    def single(model: type[Model]) -> Model | None:
        return next((seen for _, seen in found if isinstance(seen, model)), None)

    outputs = FleetOutputs(
        gateway=single(GatewayOutputs),
        clusters=by_cluster(ClusterOutputs),
        serving=by_cluster(ServingOutputs),
        placement=single(PlacementOutputs),
        workloads=by_cluster(WorkloadsOutputs),
        routing=single(RoutingOutputs),
    )
    return outputs, [seen for _, seen in found if isinstance(seen, ModelplaneError)]


def without_placeholders(outputs: Mapping[str, Any] | None, model: "type[Outputs]") -> Mapping[str, Any] | None:
    """Outputs without the placeholders of secrets, except where the model cannot do without a text."""
    if outputs is None:
        return None
    from stacks.exported import PLACEHOLDER

    needed = {field.alias or name for name, field in model.model_fields.items() if field.is_required()}
    return {key: value for key, value in outputs.items() if value != PLACEHOLDER or key in needed}


class Pulumi:
    """The Pulumi CLI, for what needs no engine: it shows no secret, and so has no key to derive.

    What a backend's files tell is read from them, so that looking at a fleet does not start the CLI for each stack.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def stacks(self) -> Mapping[StackName, int | None]:
        """Stacks of this project in the backend, with the number of entries of each where it tells that by itself.

        Raises:
            UnreadableStack: the backend cannot be read.
            MissingTool: it is no folder, and there is no Pulumi CLI.

        """
        from stacks.exported import stacks_listed, stacks_named
        from stacks.loop.backend import stamps

        files = stamps(self._environment)
        if files is not None:
            return dict.fromkeys(stacks_named(files))
        try:
            return stacks_listed(self._run("stack", "ls", "--json", "--project", PROJECT))
        except _RefusedError as error:
            raise unreadable_backend(self._environment, str(error)) from None

    def outputs(self, stack: str) -> Mapping[str, Any] | None:
        """Outputs of the last update, with a placeholder for each secret.

        Raises:
            UnreadableStack: they cannot be read.

        """
        from programs.reading import whole_numbers
        from stacks.exported import outputs_without_secrets
        from stacks.loop.backend import state_of

        state = state_of(self._environment, stack)
        exported = self.read(stack, "output", "--json") if state is None else outputs_without_secrets(state)
        found: Mapping[str, Any] = whole_numbers(exported)
        return found

    def resources(self, stack: str) -> int:
        """Resources and components in the state: neither the stack itself nor its providers.

        Raises:
            UnreadableStack: the state cannot be read.

        """
        from stacks.loop.backend import state_of

        state = state_of(self._environment, stack) or self.read(stack, "export")
        deployment = state.get("deployment") or {}
        return sum(not entry["type"].startswith("pulumi:") for entry in deployment.get("resources") or ())

    def read(self, stack: str, *arguments: str) -> Any:
        """What `pulumi stack ARGUMENTS` says of a stack, as JSON.

        Raises:
            UnreadableStack: it says nothing.

        """
        try:
            return json.loads(self._run("stack", *arguments, "--stack", stack))
        except _RefusedError as error:
            hint = f"check {BACKEND} and the passphrase"
            raise UnreadableStack(f"stack {stack} cannot be read: {error}", hint=hint) from None

    def error(self, *arguments: str) -> str:
        """Run a command; what it says when it fails, empty when it does not."""
        try:
            self._run(*arguments)
        except _RefusedError as error:
            return str(error)
        return ""

    @cached_property
    def _command(self) -> "PulumiCommand":
        from pulumi.automation import PulumiCommand

        from tools.locate import ToolMissing, locate

        try:
            root = locate("pulumi").parent.parent
        except ToolMissing as error:
            raise MissingTool(error.message, hint=error.hint) from None
        return PulumiCommand(root=str(root), skip_version_check=True)

    def _run(self, *arguments: str) -> str:
        from pulumi.automation.errors import CommandError

        from stacks.events import first_line

        command, variables = self._command, dict(self._environment.variables)
        self._environment.prepare()
        try:
            return str(command.run(list(arguments), str(self._environment.work_dir), variables).stdout)
        except CommandError as error:
            raise _RefusedError(first_line(str(error))) from None


class _RefusedError(Exception):
    """What the CLI said when a command failed, in one line."""


def unreadable_backend(environment: Environment, why: str) -> UnreadableStack:
    """The error of a backend that does not tell its stacks."""
    return UnreadableStack(
        f"the backend {environment.variables[BACKEND]} cannot be read: {why}",
        hint=f"check {BACKEND} and its credentials",
    )


def _fleet_name(directory: Path) -> str:
    fleet = load(directory, ignore_unknown=True).fleet
    if fleet is None:
        hint = "add the Fleet document again; its name tells which stacks of the backend are meant"
        raise ModelplaneError("no document is of kind Fleet", where=str(directory), hint=hint, code="MP345")
    return fleet.name
