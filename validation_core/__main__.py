"""`python -m validation_core`: the command line of `validation_core.cli`."""

import sys

from validation_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
