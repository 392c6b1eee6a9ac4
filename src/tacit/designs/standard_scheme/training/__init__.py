"""Training of the standard scheme, at the recommender, from people who consented.

In the order in which data flows:

attributes      values of hidden attributes, and the bins of numeric ones
people          consenting people, their levels, and sums over them
estimates       shrunk estimates of offsets, of chances to rate an item, and of couplings
tables          the public numbers of each attribute, and the disclosure made of them
letter_lengths  how many items letters show, by attribute value
features        explicit features of items
profiles        item profiles, which predict stars
item_weights    item-item weights, which rank lists
item_embedding  a few public numbers for each item, which rank lists on the device; in experiments
                only
population      simulated releases of many people's devices
fitting         a whole fit by these steps, without the item embedding
"""
