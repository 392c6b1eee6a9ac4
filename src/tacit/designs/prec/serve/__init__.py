"""p-REC's rounds as a service.

rounds.py   a served run: settings, budget, cards
steps.py    the stored state of a run, and the steps that change it
router.py   the HTTP routes
"""
