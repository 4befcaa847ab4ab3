"""Started by its path with `python -I -S`, which looks at no site-packages; finds the rest of tenuto beside it."""

import os
import sys

sys.path.append(os.path.abspath(f"{__file__}/../../../../.."))

from tenuto.engines.supervisor.shim.life import main

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
