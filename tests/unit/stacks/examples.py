"""What the example serves at first, and with its canary, as kinds beside a fleet and its clusters."""

from builders import a_deployment, a_service

from api.base import Kind

AT_FIRST: tuple[Kind, ...] = (a_deployment("mock-demo", replicas=2), a_service("mock-demo"))
WITH_CANARY: tuple[Kind, ...] = (
    a_deployment("mock-demo", replicas=1),
    a_deployment("mock-demo-v2", replicas=1),
    a_service(
        "mock-demo",
        entries=[(90, {"modelplane.ai/deployment": "mock-demo"}), (10, {"modelplane.ai/deployment": "mock-demo-v2"})],
    ),
)
