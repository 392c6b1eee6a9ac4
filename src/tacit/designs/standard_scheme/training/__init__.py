"""Training of the standard scheme, at the recommender, from people who consented.

In the order in which data flows:

attributes      values of hidden attributes, and the bins of numeric ones
people          consenting people, their levels, and sums over them
estimates       offsets, chances to show an item, and couplings, shrunk
tables          one attribute's public numbers
features        explicit features of items
profiles        item profiles, which predict stars
item_weights    item-item weights, which rank lists
item_embedding  a few public numbers an item, which rank lists on the device
population      the device's rule for many simulated people
fitting         all of it, from settings to what a model holds
"""
