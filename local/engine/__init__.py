"""Engines without a model: one process that answers for every pod of the local fleet on the pod's own address.

It speaks the OpenAI and Anthropic APIs as far as clients, gateways and pickers use them, says in every answer which
cluster, pod and deployment gave it, and misbehaves where a pod's annotations ask for that (`local.controls`). It runs
in the private network namespace and imports the standard library alone.
"""
