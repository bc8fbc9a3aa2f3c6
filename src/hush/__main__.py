"""`python -m hush` is the command line."""

import sys

from hush.cli import main

sys.exit(main())
