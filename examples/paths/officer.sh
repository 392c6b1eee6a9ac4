#!/bin/sh
# A data protection officer, from an empty folder: what a shop's model promises, and what is spent.
set -eu

# What the shop did: one fit of a year's plan.
tacit data generate shop.csv --seed 1 --users 2000 --items 300 --ratings 60000 --labels 6
tacit init shop shop.csv --catalogue shop-items.csv --items shop-items.csv --scale 1:5:1 --lifetime 3 --every week

# One page to read or print, with a verdict in a word.
tacit guarantee shop/lists.tacit --for-officer --out officer.html

# The record of what was spent, checked entry by entry.
tacit ledger verify shop/fits.db
