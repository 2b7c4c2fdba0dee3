"""`modelplane stacks`: the stacks of a fleet, what they hold, and how plain Pulumi brings them up in order."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import FleetPaths

if TYPE_CHECKING:
    from api.documents import FleetDocuments


class StacksOutput(StrEnum):
    """How stacks are listed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    PKO = "pko"
    DEPLOYMENTS = "deployments"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stacks")(stacks)


def stacks(
    fleet: FleetPaths = None,
    output: Annotated[
        StacksOutput,
        typer.Option(
            "--output",
            "-o",
            help="How they are listed; pko are objects of Pulumi's Kubernetes Operator, deployments settings of "
            "Pulumi Deployments.",
        ),
    ] = StacksOutput.TABLE,
    order: Annotated[  # noqa: FBT002 - a flag of the command line
        bool,
        typer.Option(
            "--order", help="A shell script that brings them up with plain Pulumi; with -o json or yaml their names."
        ),
    ] = False,
    repository: Annotated[
        str | None, typer.Option("--repo", metavar="URL", help="Of pko and deployments: the checkout to run from.")
    ] = None,
    branch: Annotated[str, typer.Option("--branch", help="Its branch.")] = "main",
    path: Annotated[
        str | None,
        typer.Option("--path", metavar="DIR", help="The fleet in it.", show_default="the directory's name"),
    ] = None,
    organization: Annotated[
        str, typer.Option("--organization", help="Of Pulumi Cloud; other backends have this one.")
    ] = "organization",
) -> None:
    """List the fleet's stacks and what each holds.

    With -o json each says which stacks it needs, for jobs of a CI system. With -o pko or deployments, what Pulumi's
    Kubernetes Operator or Pulumi Deployments are given to run them. With --order, what `modelplane up` does, as a
    script for plain Pulumi: modelplane stacks --order | sh

    Example: modelplane stacks -f examples/local --order
    """
    from cli.env import refuse_files
    from cli.fleet import fleet_of, load_leniently, load_with_fleet, place_of
    from cli.options import Output
    from cli.printing import data, print_plain, table
    from stacks import state
    from stacks.environment import environment_of
    from stacks.operator import needs
    from stacks.order import script
    from stacks.plan import fleet_stacks

    place = place_of(fleet)
    if output in (StacksOutput.PKO, StacksOutput.DEPLOYMENTS):
        _elsewhere(place.directory, output, load_with_fleet(place), (repository, branch, path, organization))
        return
    plain = Output.YAML if output is StacksOutput.YAML else Output.JSON
    if order:
        documents = load_with_fleet(place)
        name = fleet_of(documents).name
        if output is StacksOutput.TABLE:
            refuse_files(place.given)
            data(script(name, documents.clusters, [*_this_command(), "env", "-f", str(place.directory.resolve())]))
        else:
            print_plain([str(stack) for stack in fleet_stacks(name, documents.clusters)], plain)
        return
    documents = load_leniently(place)
    name = fleet_of(documents).name
    environment = environment_of(place.directory)
    held = state.held(environment, name) if state.has_state(environment) else {}
    wanted = fleet_stacks(name, documents.clusters)
    known = [*wanted, *(stack for stack in held if stack not in wanted)]
    if output is StacksOutput.TABLE:
        data(table(("STACK", "RESOURCES"), ((str(stack), str(held.get(stack, "-"))) for stack in known)))
    else:
        rows = [
            {
                "name": str(stack),
                "kind": stack.kind,
                "cluster": stack.cluster,
                "needs": [str(each) for each in needs(stack)],
                "exists": stack in held,
                "resources": held.get(stack, 0),
            }
            for stack in known
        ]
        print_plain(rows, plain)


def _elsewhere(
    directory: Path,
    output: StacksOutput,
    documents: "FleetDocuments",
    given: tuple[str | None, str, str | None, str],
) -> None:
    """Print what runs the stacks elsewhere; each needs a checkout and a backend that can be reached from there."""
    from api.errors import InvocationError
    from cli.fleet import fleet_of
    from cli.options import Output
    from cli.printing import data, print_plain, say, write_yaml
    from stacks import operator, state
    from stacks.environment import BACKEND, environment_of

    repository, branch, path, organization = given
    environment = environment_of(directory)
    if repository is None:
        hint = "give --repo URL: the Git repository with Modelplane and this fleet in it"
        raise InvocationError(f"-o {output} is about a checkout that can be fetched, and none is named", hint=hint)
    if state.is_embedded(environment):
        hint = f"set {BACKEND} to a bucket or to Pulumi Cloud, see docs/backends.md"
        raise InvocationError("the state lies beside this fleet, where nobody else reaches it", hint=hint)
    source = operator.Source(
        repository=repository,
        branch=branch,
        fleet=path or directory.resolve().name,
        backend=environment.variables[BACKEND],
        organization=organization,
    )
    name = fleet_of(documents).name
    if files := operator.files_of(documents):
        say(f"warning: {', '.join(files)} are files of this machine; use fromEnv, fromConfig or fromStack there")
    if output is StacksOutput.DEPLOYMENTS:
        print_plain(operator.deployment_settings(name, documents.clusters, source), Output.JSON)
        return
    variables = operator.variables_of(documents)
    for number, manifest in enumerate(operator.operator_stacks(name, documents.clusters, source, variables)):
        data("---\n" if number else "")
        write_yaml(manifest, sys.stdout)
    say(f"Secret {source.namespace}/{source.secret} has to hold {', '.join(variables)}")


def _this_command() -> list[str]:
    """How a script starts this program, wherever it runs: as it was started, or by this interpreter."""
    started = Path(sys.argv[0])
    if started.name == "modelplane" and started.is_file():
        return [str(started.absolute())]
    return [sys.executable, "-m", "cli"]
