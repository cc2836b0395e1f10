"""Simulation: many steps of bodies with their laws."""
