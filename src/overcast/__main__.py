import sys

from overcast.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
