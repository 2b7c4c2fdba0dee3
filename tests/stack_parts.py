"""Parts of serving stacks for tests: small definitions under the real names, and stacks with nothing found."""

from typing import Any

from builders import a_fleet

from api.fleets import serving_stack_for
from api.routing import Traefik
from api.terms import Stack
from components.charts import Mirrors
from components.definitions import DEFINITIONS
from components.installation import Part
from components.serving_plan import Site, hub_parts, serving_parts

METALLB = Traefik.model_validate(
    {"version": "40.2.0", "loadBalancer": "MetalLB", "metallb": {"addressPool": "10.0.0.1-10.0.0.9"}}
)


def a_definition(name: str) -> dict[str, Any]:
    """A definition of a kind that takes anything."""
    plural, _, group = name.partition(".")
    kind = plural.capitalize()
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "names": {"plural": plural, "singular": plural.removesuffix("s"), "kind": kind, "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


ALL_DEFINITIONS = {source: {name: a_definition(name) for name in found} for source, found in DEFINITIONS.items()}


def a_site(**fields: Any) -> Site:
    return Site(**{"fleet": "prod", "definitions": ALL_DEFINITIONS, **fields})


def parts_of(
    stack: Stack, *, mirrors: Mirrors | None = None, site: Site | None = None, **settings: Any
) -> tuple[Part, ...]:
    fleet = a_fleet("prod", servingStack=settings)
    site = site or a_site(mirrors=mirrors or Mirrors())
    return serving_parts(stack, serving_stack_for(fleet, "us"), site)


def parts_of_hub(traefik: Traefik = METALLB, *, site: Site | None = None, **settings: Any) -> tuple[Part, ...]:
    return hub_parts(traefik, a_fleet("prod", gateway=settings).spec.gateway, site or a_site())
