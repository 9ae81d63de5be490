"""The command line as a module: `python -m fieldforge doctor`."""

from .workflows.commands.start import main

main()
