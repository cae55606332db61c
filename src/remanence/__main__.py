"""python -m remanence, which is how torchrun starts it."""

import sys

from remanence.cli.main import main

sys.exit(main())
