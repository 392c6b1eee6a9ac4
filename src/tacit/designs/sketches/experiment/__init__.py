"""Experiments with sketches: generated people, real ratings, comparison, tour.

simulation   clusters that campaigns learn from generated people, by the number of people
one_bit      two schemes without privacy: one bit from each person, or one bit on average
             (Theorem 4.3)
ratings      lists on real ratings, by population and epsilon
comparison   the sketches in `tacit compare`
tour         the screen of `tacit demo`
"""
