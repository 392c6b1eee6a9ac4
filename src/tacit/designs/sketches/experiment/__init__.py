"""Experiments with sketches: generated people, real ratings, comparison, tour.

simulation   how many labels a campaign finds, by population
one_bit      two schemes without privacy, one bit each or on average (Theorem 4.3)
ratings      lists on real ratings, by population and epsilon
comparison   the entries of `tacit compare`
tour         the screen of `tacit demo`
"""
