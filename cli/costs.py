"""What a fleet costs per hour, in words."""

from cli.printing import table
from stacks.costs import Costs

COST_HEAD = ("COST PER HOUR", "BEFORE", "AFTER")


def cost_table(costs: Costs) -> list[str]:
    """A table with a line for each cluster and one for all; none where no class has a price."""
    return [table(COST_HEAD, cost_rows(costs))] if costs.clusters else []


def cost_rows(costs: Costs) -> list[tuple[str, str, str]]:
    """Clusters, and the whole fleet where there are several."""
    rows = [(cost.cluster, _amount(cost.before), _amount(cost.after)) for cost in costs.clusters]
    return [*rows, ("fleet", _amount(costs.before), _amount(costs.after))] if len(rows) > 1 else rows


def _amount(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:,.2f}"
