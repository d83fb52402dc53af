"""`python -m corral.harbor check TASK... --environment NAME`."""

import sys

from .check import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
