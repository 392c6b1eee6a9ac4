"""p-REC on the audit's bench.

audits.py          claims that are sampled with hostile clients, and the plan of the audit
exact_checks.py    transcripts, views and worst streams that are computed, not sampled
walk.py            a run of the shipped curator with its draws fixed, and what it asked for
planted_bugs.py    faulty curators that the checks have to see
"""
