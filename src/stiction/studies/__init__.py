"""Experiments that `stiction reproduce NAME` runs. One module an experiment."""
