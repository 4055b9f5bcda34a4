"""The version, as a plain string: where Spark ships the package as a zip, there is no metadata to ask."""

__all__ = ["__version__"]

__version__ = "0.1.0.dev0"
