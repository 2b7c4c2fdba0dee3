"""Which stacks a fleet has, and the order in which they come and go."""

from itertools import permutations

from api.names import StackName
from stacks.plan import fleet_stacks, teardown_order


def names(stacks: list[StackName]) -> list[str]:
    return [str(stack) for stack in stacks]


def test_the_order_of_coming_up() -> None:
    assert names(fleet_stacks("prod", ["us", "eu"])) == [
        "prod.gateway",
        "prod.cluster.eu",
        "prod.cluster.us",
        "prod.serving.eu",
        "prod.serving.us",
        "prod.placement",
        "prod.workloads.eu",
        "prod.workloads.us",
        "prod.routing",
    ]


def test_a_fleet_without_clusters() -> None:
    assert names(fleet_stacks("prod", [])) == ["prod.gateway", "prod.placement", "prod.routing"]


TEARDOWN = [
    ["prod.routing"],
    ["prod.workloads.eu", "prod.workloads.us"],
    ["prod.placement"],
    ["prod.gateway", "prod.serving.eu", "prod.serving.us"],
    ["prod.cluster.eu", "prod.cluster.us"],
]


def test_the_order_of_going_does_not_depend_on_how_they_are_listed() -> None:
    stacks = fleet_stacks("prod", ["us", "eu"])
    for few in list(permutations(range(len(stacks))))[:: 9 * 8 * 7 * 6]:
        assert [names(group) for group in teardown_order(stacks[position] for position in few)] == TEARDOWN


def test_every_stack_goes() -> None:
    stacks = fleet_stacks("prod", ["us", "eu"])
    assert sorted(names([stack for group in teardown_order(stacks) for stack in group])) == sorted(names(stacks))


def test_what_is_not_there_makes_no_group() -> None:
    stacks = [StackName("prod", "cluster", "us"), StackName("prod", "placement")]
    assert [names(group) for group in teardown_order(stacks)] == [["prod.placement"], ["prod.cluster.us"]]
    assert teardown_order([]) == []
