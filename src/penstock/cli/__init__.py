"""The command line: `penstock run`, `list`, `status`, `top`, `stop`, `drain`, `doctor`."""
