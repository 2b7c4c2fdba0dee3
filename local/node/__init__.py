"""The one node that runs pods for real: those of images that a program of the tool cache stands for.

Everything else on a simulated cluster is said to run by KWOK and does nothing. Controllers and proxies are different:
without Envoy Gateway no Gateway is programmed, without the LeaderWorkerSet controller no gang has pods. So their pods,
made by the real charts and controllers, run here: each in a network namespace with the address KWOK gave it, with its
own ServiceAccount, its ConfigMaps and Secrets mounted, and its Services leading to it.
"""
