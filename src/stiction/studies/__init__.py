"""Experiments, each run by `stiction reproduce NAME` or `stiction bench`, and the page that tells what they found."""
