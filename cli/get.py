"""`modelplane get`: objects of the fleet, listed as kubectl lists them."""

from enum import StrEnum
from typing import Annotated

import typer

from cli.completing import complete_kinds, complete_names, complete_namespaces
from cli.options import FleetPaths


class GetOutput(StrEnum):
    """How objects are listed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Kinds = Annotated[
    str,
    typer.Argument(
        metavar="KIND[,KIND...][/NAME]",
        help="Kinds by name, plural or short name, as in modeldeployments, md or md,ms; or all, those with a status.",
        show_default=False,
        autocompletion=complete_kinds,
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[[NAMESPACE/]NAME...]",
        help="Those of these names.",
        show_default="all",
        autocompletion=complete_names,
    ),
]
InNamespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="Only objects of this namespace, and of kinds that have none.",
        show_default="all",
        autocompletion=complete_namespaces,
    ),
]
AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Of every namespace, as is the case without -n, too.")
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--selector", "-l", metavar="SELECTOR", help="Only objects with such labels: 'tier=prod,region in (eu,us)'."
    ),
]
SortBy = Annotated[
    str | None,
    typer.Option("--sort-by", metavar="FIELD", help="In the order of a field, as in .status.replicas.ready."),
]
Watch = Annotated[
    bool, typer.Option("--watch", "-w", help="Go on, and show it again whenever something changes; Ctrl-C ends it.")
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("get")(get)


def get(
    kinds: Kinds,
    names: Names = None,
    fleet: FleetPaths = None,
    namespace: InNamespace = None,
    all_namespaces: AllNamespaces = False,  # noqa: FBT002 - a flag of the command line
    selector: Labels = None,
    sort_by: SortBy = None,
    output: Annotated[GetOutput, typer.Option("--output", "-o", help="How they are listed.")] = GetOutput.TABLE,
    show_labels: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--show-labels", help="With a column of labels.")
    ] = False,
    no_headers: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--no-headers", help="Without the line of columns' names.")
    ] = False,
    watch: Watch = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """List objects: documents, and what the last `up` made of them.

    Kinds: fleet, inferencegateways (ig), inferenceclasses (icl), inferenceclusters (ic), modeldeployments (md),
    modelreplicas (mr), modelcaches (mc), modelservices (ms), modelendpoints (me), configmaps (cm), secrets. No cluster
    is asked; values of Secrets are shown nowhere.

    Example: modelplane get inferenceclusters -f examples/local -o wide
    """
    from cli import objects
    from cli.object_columns import Layout
    from cli.objects import Listing, refuse_both, show

    writers = {GetOutput.JSON: objects.as_json, GetOutput.YAML: objects.as_yaml, GetOutput.NAME: objects.as_names}
    refuse_both(namespace, all_namespaces=all_namespaces)
    listing = Listing(
        kinds=kinds,
        names=tuple(names or ()),
        namespace=namespace,
        selector=selector or "",
        sort_by=sort_by,
        layout=Layout(
            wide=output is GetOutput.WIDE, labels=show_labels, namespace=namespace is None, head=not no_headers
        ),
    )
    show(fleet, listing, writers.get(output, objects.as_table), watch=watch)
