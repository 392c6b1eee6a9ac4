"""p-REC on generated voters.

worlds.py       worlds of votes and likes, among them those of the paper's proofs
methods.py      p-REC and what it is compared with, all played by the same rules
simulation.py   runs, and means over seeds
leaks.py        what a client of the paper's algorithm can tell apart
report.py       tables, a page, a verdict
commands.py     `tacit simulate prec`
tour.py         the screen of `tacit demo`
"""
