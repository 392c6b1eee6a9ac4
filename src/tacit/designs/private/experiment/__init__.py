"""Experiments of the design.

tour.py        `tacit compare`, with and without noise, and the design's screen of `tacit demo`
over_time.py   `tacit evaluate private --fits`: lists of a plan while people or rows arrive
"""
