"""Images that Modelplane itself runs beside the engines; each line names where its releases are listed."""

# https://github.com/llm-d/llm-d-router/releases; picker and sidecar are released together
ENDPOINT_PICKER = "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.9.0"
# https://github.com/llm-d/llm-d-router/releases
ROUTING_SIDECAR = "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.9.0"
# https://hub.docker.com/_/python/tags; hydration needs the standard library and nothing else
HYDRATION = "docker.io/library/python:3.13.5-slim-bookworm"
