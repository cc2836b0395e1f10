"""Motions of bodies with their laws."""
