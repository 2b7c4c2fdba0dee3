"""`python -m cli` is `modelplane`."""

import sys

from cli import main

sys.exit(main())
