"""A fleet on this machine: real API servers and gateways, simulated GPU nodes, engines that answer without a model.

Per Existing cluster of a fleet, and for its hub, `fleet.up` starts etcd, kube-apiserver, kube-controller-manager,
kube-scheduler and KWOK on the host's loopback (`clusters`), makes the nodes and devices that the documents describe
(`objects`, `stages`), and runs the gateways and the engines in a private network namespace (`traffic`, `namespace`)
that a relay joins to the host (`relay`). Everything it starts is remembered with pid and start time (`state`).

It touches nothing of the host but its own folder, loopback ports and that namespace, and knows nothing of Pulumi.
"""
