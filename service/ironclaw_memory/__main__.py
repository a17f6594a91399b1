"""`python -m ironclaw_memory`."""

from ironclaw_memory.cli import main

if __name__ == "__main__":
    main()
