"""The released sums, one file each: one person's contribution, its clip, the noise, and the result.

whole_steps.py    the resolution of a sum, and the clip as the kernels read it
counts.py         sum 1: how often items are used and liked, and how many people there are
heads.py          the choice of the most liked items, about which later sums ask
taste_maps.py     released linear maps of tastes, which sums 2b and 3 use
moment.py         sum 2a: the second moment of tastes
products.py       sum 2b: features of likes times tastes
item_tastes.py    sum 3: the tastes of each item's likers
like_pairs.py     beside sum 3, for very many people: which popular items are liked together
popular_counts.py in place of 2a, 2b and 3, for few people: likes of popular items, three times
top_items.py      in place of 2a, 2b and 3: products of the most popular items
star_means.py     stars of items above the person's mean
star_head.py      the Gram matrix of stars of the most rated items
star_factors.py   stars of items times the person's tastes
"""
