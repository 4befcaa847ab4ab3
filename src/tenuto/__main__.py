"""`python -m tenuto`."""

from __future__ import annotations

from tenuto.cli.main import main

if __name__ == "__main__":
    main()
