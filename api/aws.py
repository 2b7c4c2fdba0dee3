"""What instance types of EC2 can do that documents may ask of them."""

import re

_CARDS = {
    "p4d.24xlarge": 4,
    "p4de.24xlarge": 4,
    "p5.48xlarge": 32,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
}
"""Network cards by instance type; every other has one."""
_SMALL_WITH_EFA = frozenset({"p5.4xlarge"})
_SMALLEST_WITH_EFA = 8
"""EFA is offered from eight times an xlarge on."""


def efa_cards(instance_type: str) -> int | None:
    """Network cards that carry EFA on an instance type; None where it has no EFA."""
    size = instance_type.partition(".")[2]
    if "metal" in size or instance_type in _SMALL_WITH_EFA:
        return 1
    number = re.fullmatch(r"([0-9]+)xlarge", size)
    if number is None or int(number[1]) < _SMALLEST_WITH_EFA:
        return None
    return _CARDS.get(instance_type, 1)
