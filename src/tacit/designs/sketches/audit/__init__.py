"""Audits of the sketches: reports of the shipped device, enumerated and sampled.

enumeration    the exact chance of every report about a catalogue of four items
planted_bugs   bugs in campaigns and devices that the audit must detect
audits         the claims of every method and unit, tested with samples
"""
