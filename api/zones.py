"""How clouds call their zones, and what is refused of a pool's list of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from api.base import Fault, Path
from api.grammar import is_match
from api.terms import Source


@dataclass(frozen=True, kw_only=True)
class Zones:
    """The zones of one cloud: what follows the region in a name, how many a pool may list, and how they are written."""

    suffix: str
    least: int
    most: int
    written: str

    def has(self, zone: str, region: str) -> bool:
        """Whether a region may have a zone of that name."""
        return is_match(re.escape(region) + self.suffix if self.least else self.suffix, zone)


_ZONES = {
    "EKS": Zones(suffix="[a-f]", least=1, most=8, written="zones of {region} are called {region}a to {region}f"),
    "GKE": Zones(suffix="-[a-z]", least=1, most=8, written="zones of {region} are called {region}-a, {region}-b, ..."),
    "AKS": Zones(suffix="[1-3]", least=0, most=3, written='AKS numbers its zones: "1", "2", "3"'),
}
"""Sources whose pools lie in zones. Those of AKS have the same names in every region."""


def zone_faults(zones: tuple[str, ...], source: Source, region: str, at: Path) -> Iterator[Fault]:
    """IC-N5: as many as the source takes, each once, each of the cluster's region."""
    kinds = _ZONES.get(source)
    if kinds is None:
        return
    if len(zones) < kinds.least:
        message = f"a GPU pool on {source} must say in which zones it may run"
        yield Fault("IC-N5", at, message, "list the zones that offer this GPU, one to eight")
    if len(zones) > kinds.most:
        yield Fault("IC-N5", at, f"at most {kinds.most} zones on {source}", "remove the others")
    for index, zone in enumerate(zones):
        if zone in zones[:index]:
            yield Fault("IC-N5", (*at, index), f"{zone!r} is there twice", "remove one")
        elif region and not kinds.has(zone, region):
            where = f"{source} in {region}" if kinds.least else source
            hint = kinds.written.format(region=region)
            yield Fault("IC-N5", (*at, index), f"{zone!r} is no zone of {where}", hint)
