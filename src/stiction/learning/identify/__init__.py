"""Identify a body and its contact law from recorded tosses."""
