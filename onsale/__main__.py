"""`python -m onsale`: the command line."""

from onsale.cli import main

if __name__ == "__main__":
    main()
