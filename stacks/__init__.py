"""Which stacks a fleet has, the engine that runs them, and the pass that converges them."""
