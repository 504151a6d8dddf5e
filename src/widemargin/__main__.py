"""``python -m widemargin`` is the command ``widemargin``."""

import sys

from widemargin.cli import main

if __name__ == "__main__":
    sys.exit(main())
