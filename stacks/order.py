"""The sequence of the driver's pass, written down for plain Pulumi: a POSIX shell script. Pure.

It decides nothing itself: programs do, from documents and outputs, the same as under the driver. What the driver does
in parallel it does one after the other, and where the driver tells from outputs that a stack has nothing to do, it runs
it and finds no change.
"""

import re
import shlex
from collections.abc import Iterable, Sequence

MOST_ROUNDS = 30
WAIT_SECONDS = 600
POLL_SECONDS = 5

_SCRIPT = """\
#!/bin/sh
# Fleet <fleet>, one stack at a time with plain Pulumi, in the order of `modelplane up`.
set -eu

# Backend, passphrase, fleet directory, and the programs that are not on PATH.
environment=$(<environment>)
eval "$environment"

# The provider leaves kubeconfigs in its temporary folder: it gets one that goes with this script.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM

clusters=<clusters>
deadline=$(($(date +%s) + <wait>))
failed=0

# Bring one stack up. It is made when it is not there; what was changed outside Pulumi is seen, and set right.
up() {
  pulumi stack select --create "$1"
  pulumi up --yes --skip-preview --refresh --suppress-outputs --stack "$@" </dev/null
}

# A stack that fails keeps its state, and the others go on.
try() {
  "$@" || failed=1
}

# One output of a stack as JSON; nothing of a stack that is not there.
output() {
  pulumi stack output "$1" --json --stack "$2" 2>/dev/null || :
}

# Replicas of one cluster. One bad object does not keep the others from being applied.
workloads() {
  try up "<fleet>.workloads.$1" --continue-on-error
}

# A cluster that does not answer is left as it is.
reachable() {
  [ "$(output reachable "<fleet>.cluster.$1")" = true ]
}

# Wait until no replica of a cluster is starting any more, within the bounds of the whole run.
wait_for() {
  while output replicas "<fleet>.workloads.$1" | grep -q '"ready": false' && [ "$(date +%s)" -lt "$deadline" ]; do
    sleep <poll>
    workloads "$1"
  done
}

# What another round would start from: the ledger, the endpoints, and what is known of the replicas.
fleet_now() {
  output ledger <fleet>.placement
  output endpoints <fleet>.routing
  for cluster in $clusters; do
    output replicas "<fleet>.workloads.$cluster"
  done
}

# The front door on the hub.
try up <fleet>.gateway

# Every cluster: how it is reached and what it has, then what serving needs there. A pool that its cloud cannot give
# keeps nothing else from being made.
for cluster in $clusters; do
  try up "<fleet>.cluster.$cluster" --continue-on-error
  if reachable "$cluster"; then
    try up "<fleet>.serving.$cluster"
  fi
done
infrastructure=$failed

# Placement, endpoints, replicas and a wait, and again from placement until a round changes nothing.
round=0
before=
while [ "$round" -lt <rounds> ]; do
  round=$((round + 1))
  failed=$infrastructure
  up <fleet>.placement
  try up <fleet>.routing
  for cluster in $clusters; do
    if reachable "$cluster"; then
      workloads "$cluster"
    fi
  done
  for cluster in $clusters; do
    if reachable "$cluster"; then
      wait_for "$cluster"
    fi
  done
  now=$(fleet_now)
  if [ "$now" = "$before" ]; then
    break
  fi
  before=$now
done

if [ "$failed" -ne 0 ]; then
  echo "some stacks failed, their errors are above" >&2
fi
exit "$failed"
"""


def script(fleet: str, clusters: Iterable[str], environment: Sequence[str]) -> str:
    """The script for a fleet; `environment` is the command that prints what `modelplane env` does."""
    values = {
        "fleet": fleet,
        "clusters": shlex.quote(" ".join(sorted(clusters))),
        "environment": shlex.join(environment),
        "wait": str(WAIT_SECONDS),
        "poll": str(POLL_SECONDS),
        "rounds": str(MOST_ROUNDS),
    }
    return re.sub(r"<(\w+)>", lambda blank: values[blank[1]], _SCRIPT)
