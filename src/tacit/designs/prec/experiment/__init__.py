"""Simulations of p-REC with generated voters.

game.py         the setting of a run, and the names of worlds and methods
worlds.py       generators of votes and likes, among them those of the paper's proofs
methods.py      p-REC and the methods that it is compared with
simulation.py   runs, and means over seeds
leaks.py        exact leaks of the paper's algorithm in the worlds of its lower-bound proofs
report.py       tables, page and verdict of `tacit simulate prec`
commands.py     `tacit simulate prec`
tour.py         the screen of `tacit demo`
"""
