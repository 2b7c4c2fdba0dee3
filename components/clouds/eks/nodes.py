"""Settings of EKS node groups, their launch templates and EFA, as plain functions of plain data.

Reference: clouds, sections 3.4 to 3.6. A launch template is made only where a node group cannot say it itself.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from api import names
from api.aws import efa_cards
from api.recipes import EKSNodes
from components.clouds.eks.plan import ZoneSubnets
from components.clouds.site import CloudPool

Plain = dict[str, Any]

SYSTEM_INSTANCE = "m6i.xlarge"
ROOT_DEVICE = "/dev/xvda"
LONGEST_PREFIX = 37
"""AWS adds 26 characters to a prefix, and takes node groups' names of 63."""

ALL_TRAFFIC = "-1"


def nodes_of(pool: CloudPool) -> EKSNodes:
    """The pool's recipe."""
    if not isinstance(pool.nodes, EKSNodes):
        raise TypeError("the loader refuses a pool whose class is another cloud's")
    return pool.nodes


def needs_template(pool: CloudPool) -> bool:
    """Whether a launch template is needed: for network interfaces, or for a purchased reservation."""
    return pool.has_efa or pool.reservation is not None


def system_group() -> Plain:
    """The node group of everything that is no engine."""
    return {
        "node_group_name_prefix": "system-",
        "ami_type": "AL2023_x86_64_STANDARD",
        "instance_types": [SYSTEM_INSTANCE],
        "labels": {names.LABEL_POOL: names.SYSTEM_POOL},
        "scaling_config": {"desired_size": 1, "min_size": 1, "max_size": 2},
    }


def gpu_group(pool: CloudPool) -> Plain:
    """The node group of one pool. With a launch template, machine and disk are in that: EKS refuses them twice."""
    nodes = nodes_of(pool)
    settings: Plain = {
        "node_group_name_prefix": f"{names.child(pool.name, limit=LONGEST_PREFIX - 1)}-",
        "ami_type": "AL2023_x86_64_NVIDIA",
        "labels": {names.LABEL_GPU: nodes.accelerator.type, names.LABEL_POOL: pool.name},
        "taints": [{"key": names.TAINT_GPU, "value": "true", "effect": "NO_SCHEDULE"}],
        "scaling_config": {
            "desired_size": pool.wanted,
            "min_size": pool.minimum,
            "max_size": max(pool.maximum, 1),
        },
    }
    if pool.reservation is not None:
        settings["capacity_type"] = "CAPACITY_BLOCK"
    if not needs_template(pool):
        settings |= {"instance_types": [nodes.instance_type], "disk_size": nodes.disk_size_gb}
    return settings


def group_zones(pool: CloudPool, found: Sequence[ZoneSubnets]) -> tuple[int, ...]:
    """Indexes of the zones whose private subnets the pool's nodes are in; all where the pool names none."""
    return tuple(each.index for each in found if not pool.zones or each.zone in pool.zones)


def launch_template(cluster: str, pool: CloudPool, security_groups: Iterable[Any]) -> Plain:
    """The launch template of one pool; with EFA its interfaces carry `security_groups`, and only those."""
    nodes = nodes_of(pool)
    settings: Plain = {
        "name": names.child(cluster, f"lt-{pool.name}"),
        "instance_type": nodes.instance_type,
        "block_device_mappings": [{"device_name": ROOT_DEVICE, "ebs": {"volume_size": nodes.disk_size_gb}}],
    }
    if pool.reservation is not None:
        settings |= {
            "instance_market_options": {"market_type": "capacity-block"},
            "capacity_reservation_specification": {
                "capacity_reservation_preference": "capacity-reservations-only",
                "capacity_reservation_target": {"capacity_reservation_id": pool.reservation},
            },
        }
    if pool.has_efa:
        settings["network_interfaces"] = efa_interfaces(nodes.instance_type, security_groups)
    return settings


def efa_interfaces(instance_type: str, security_groups: Iterable[Any]) -> list[Plain]:
    """One interface for each network card: the first carries IP too, the others would keep the node from joining."""
    groups = list(security_groups)
    return [
        {
            "network_card_index": card,
            "device_index": min(card, 1),
            "interface_type": "efa-only" if card else "efa",
            "security_groups": groups,
        }
        for card in range(efa_cards(instance_type) or 1)
    ]
