"""Coding exercises: stub, reference, inputs and planted wrong solutions, one file per lecture."""
