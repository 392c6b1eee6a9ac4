"""Audits of the sketches: what the device sends, enumerated and sampled.

enumeration    every report from four items, with its exact chance
planted_bugs   faults in campaigns and devices that must be caught
audits         the claims of every method and unit, with samples
"""
