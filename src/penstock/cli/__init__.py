"""The command line: `penstock run`, `list`, `status`, `top`, `metrics`, `stop`, `drain`, `doctor`."""
