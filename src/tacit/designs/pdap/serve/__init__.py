"""A vendor over HTTP: settings, neighbours, state in the ledger, and demonstrations.

settings.py       the settings [vendors.NAME] of tacit.toml
served_vendor.py  one served vendor: budgets, charges, cards, and its transactions
state_cache.py    opens the stored state for one transaction, and closes it again
state.py          the stored state: the learner, and the visits that wait for an offer
visits.py         HTTP resources of visits
articles.py       HTTP resources of articles that come and go
routes.py         the router with all resources
neighbours.py     calls to neighbours; a vendor sends nothing to other addresses
signatures.py     how messages between vendors are signed
demo.py           a section with generated names, and two deployments whose vendors are neighbours
"""
