"""`modelplane preview`: what `up` would change, on every level, before anything is applied."""

from pathlib import Path
from typing import Annotated

import typer

from cli.options import Allow, Debug, DeleteCluster, FleetPaths, Forget, IgnoreUnknown, Parallel, RebuildLedger
from cli.report.writing import ReportFiles, ReportFormat, ReportOutput


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("preview")(preview)


def preview(
    fleet: FleetPaths = None,
    ignore_unknown: IgnoreUnknown = False,  # noqa: FBT002 - a flag of the command line
    output: ReportFormat = ReportOutput.TABLE,
    report_files: ReportFiles = None,
    save_plan: Annotated[
        Path | None,
        typer.Option(
            "--save-plan",
            metavar="FILE",
            help="Keep what this was made of, for up --plan; asks clusters for their nodes.",
        ),
    ] = None,
    expect_no_changes: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--expect-no-changes", help="End with 7 when a resource or the ledger would change.")
    ] = False,
    refresh: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--refresh", help="Look at live objects first: shows drift, and calls API servers.")
    ] = False,
    parallel: Parallel = 3,
    allow: Allow = None,
    delete_cluster: DeleteCluster = None,
    forget: Forget = None,
    rebuild_ledger: RebuildLedger = False,  # noqa: FBT002 - a flag of the command line
    debug: Debug = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Show what `up` would change: resources, replicas, weights.

    Compared is with what was applied last: unless --refresh is given no cluster is called; nothing is written, and a
    fleet can be previewed before its clusters or credentials are there. What only `up` can tell is shown as unknown.

    Example: modelplane preview -f examples/local --expect-no-changes
    """
    from api.secrets import unresolved
    from cli import plan_file
    from cli.fleet import fleet_of, load_with_fleet, place_of, refuse_documented
    from cli.observed import refuse_among_documents
    from cli.preview_tables import preview_tables, sentence
    from cli.printing import counted, data, print_problems, say
    from cli.progress import Clock, Progress
    from cli.report.from_preview import preview_page
    from cli.report.writing import beside, formats_of, render, write_reports
    from cli.summary import print_failures
    from programs.context import Permissions
    from programs.preflight import refuse_unsupported
    from stacks.environment import environment_of
    from stacks.interrupt import interruptible
    from stacks.plan import fleet_stacks
    from stacks.preview import Preview, PreviewOptions
    from stacks.preview_engine import preview_engine

    took = Clock()
    files = formats_of(report_files or ())
    if save_plan is not None:
        refuse_among_documents(fleet, save_plan)
    place = place_of(fleet, ignore_unknown=ignore_unknown)
    documents = load_with_fleet(place)
    print_problems([*documents.warnings, *unresolved(documents)])
    refuse_unsupported(documents, fleet_of(documents))
    name = fleet_of(documents).name
    permissions = Permissions(
        deletions=frozenset(allow or ()),
        delete_clusters=frozenset(delete_cluster or ()),
        forget=frozenset(forget or ()),
        rebuild_ledger=rebuild_ledger,
    )
    refuse_documented(permissions.delete_clusters, documents)
    options = PreviewOptions(
        parallel=parallel, refresh=refresh, permissions=permissions, expect_no_changes=expect_no_changes
    )
    stacks = [str(stack) for stack in fleet_stacks(name, documents.clusters)]
    environment = environment_of(place.directory)
    before = plan_file.seen(environment, documents) if save_plan is not None else None
    with (
        preview_engine(environment, documents, say if debug else None) as engine,
        Progress(f"{name}: preview", stacks, engine.under_way) as progress,
        interruptible(engine, progress.on_note),
    ):
        report = Preview(documents, engine, options, progress.on_operation).run()
    if output is not ReportOutput.TABLE or files:
        page = preview_page(report, name, beside(documents, environment))
        write_reports(page, files)
    data(preview_tables(report) if output is ReportOutput.TABLE else render(page, output))
    print_failures(report.outcome)
    if save_plan is not None and before is not None:
        plan_file.save(save_plan, before, report, permissions)
    failures = f", {counted(len(report.errors), 'error')}" if report.errors else ""
    say(f"{name}: {sentence(report)} in {counted(len(report.operations), 'stack')}{failures}, {took}")
    raise typer.Exit(report.exit_code)
