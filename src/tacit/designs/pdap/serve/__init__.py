"""A vendor over HTTP: settings, neighbours, state in the ledger, and demonstrations of it.

settings.py       the lines of [vendors.NAME] of tacit.toml
served_vendor.py  one such section: budgets, charges, cards, and its transactions
state_cache.py    the stored state, opened for one transaction and closed again
state.py          what is stored: the learner, and the visits that wait for an offer
visits.py         HTTP resources of visits
articles.py       HTTP resources of articles that come and go
routes.py         all of them
neighbours.py     the only addresses that a vendor ever sends to
signatures.py     how messages between vendors are signed
demo.py           a section on generated names, and two deployments that know one another
"""
